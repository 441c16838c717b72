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

/// Makes the ranks (of `transport`'s processes, if it is not null) and gives
/// every argument its values. `observer` may be null; `clock` is told what GPUs
/// measure, as long as there is the world.
rt::Status prepare(const Options &options, const Program &program,
                   const rt::TensorSource &source,
                   rt::CommandObserver *observer, StepClock &clock,
                   rt::Transport *transport, std::unique_ptr<rt::World> &world);

/// Fills everything but the arguments with NaN, so that a value nobody computes
/// shows.
rt::Status poisonResults(const Plan &plan, rt::World &world);

/// Runs the steps and records each one's seconds in the report; `timeline` is
/// left with the last. The number of the first step is `source`'s, and each is
/// one more than the one before.
rt::Status runSteps(const Options &options, const Program &program,
                    const rt::TensorSource &source, rt::World &world,
                    rt::Timeline &timeline, StepClock &clock,
                    Progress &progress, rt::RunReport &report);

/// What the last step was, from what was recorded of it.
StepTrace recordedTrace(const Program &program, const rt::Timeline &timeline,
                        const Options &options);

/// INVALID, with both figures, if the machine has less memory left than
/// evaluating the unsharded program takes at least.
rt::Status checkReferenceMemory(const Program &program);

/// Evaluates the unsharded program in f64 and compares every result of the
/// world. If there are several processes, that with rank 0 compares; the others
/// only show their results. `steps` have been run; with an update each goes on
/// from the one before. Sets the report's errors, where numbers that are not
/// finite come from and, with --verify=selftest, what was planted.
rt::Status verify(const Options &options, const Program &program,
                  const rt::TensorSource &source, rt::World &world,
                  Progress &progress, rt::RunReport &report);

/// Runs the steps again, from the same arguments, and adds to `sources` which
/// commands first write numbers that are not finite. `watch` hands on to
/// `timeline`. Nothing on GPUs.
rt::Status findNotFinite(const Options &options, const Program &program,
                         const rt::TensorSource &source, rt::World &world,
                         rt::Timeline &timeline, rt::NotFiniteWatch &watch,
                         std::vector<std::string> &sources);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_EXECUTE_H
