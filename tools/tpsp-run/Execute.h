// Running a compiled program and comparing it with the reference.
#ifndef TPSP_TOOLS_TPSP_RUN_EXECUTE_H
#define TPSP_TOOLS_TPSP_RUN_EXECUTE_H

#include "Options.h"
#include "common/MakeWorld.h"
#include "common/Progress.h"

#include "tpsp/Runtime/Driver/Comparison/NotFiniteWatch.h"
#include "tpsp/Runtime/Driver/Pictures/Timeline.h"
#include "tpsp/Runtime/Driver/Report/Report.h"

namespace tpsp::run {

/// Creates the ranks and gives every argument its values. The ranks span the
/// processes of `transport`, if it is not null. `observer` may be null. `clock`
/// receives the times that GPUs measure and must outlive `world`.
rt::Status prepare(const Options &options, const Program &program,
                   const rt::TensorSource &source,
                   rt::CommandObserver *observer, StepClock &clock,
                   rt::Transport *transport, std::unique_ptr<rt::World> &world);

/// Fills everything but the arguments with NaN, so that a value which nothing
/// computes is noticed.
rt::Status poisonResults(const Plan &plan, rt::World &world);

/// Runs the steps and records the seconds of each in the report. Afterwards
/// `timeline` has the last step. `source` gives the number of the first step;
/// every further step adds one.
rt::Status runSteps(const Options &options, const Program &program,
                    const rt::TensorSource &source, rt::World &world,
                    rt::Timeline &timeline, StepClock &clock,
                    Progress &progress, rt::RunReport &report);

/// Returns the trace of the last step, from the recorded commands.
StepTrace recordedTrace(const Program &program, const rt::Timeline &timeline,
                        const Options &options);

/// Evaluates the unsharded program in f64 and compares every result of the
/// world. With several processes the one with rank 0 compares; the others send
/// their results. The world has run options.steps steps; with an update each
/// step begins with the parameters that the last one made. Sets the report's
/// errors, the sources of numbers that are not finite and, with
/// --verify=selftest, the planted mistakes.
rt::Status verify(const Options &options, const Program &program,
                  const rt::TensorSource &source, rt::World &world,
                  Progress &progress, rt::RunReport &report);

/// Runs the steps again, from the same arguments, and adds to `sources` the
/// commands that first write numbers which are not finite. `watch` passes its
/// notifications on to `timeline`. Does nothing on GPUs.
rt::Status findNotFinite(const Options &options, const Program &program,
                         const rt::TensorSource &source, rt::World &world,
                         rt::Timeline &timeline, rt::NotFiniteWatch &watch,
                         std::vector<std::string> &sources);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_EXECUTE_H
