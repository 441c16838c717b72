// What tpsp-run alone needs the compiler for. In a build without it
// (-DTPSP_COMPILER= OFF) each of these refuses with a sentence.
#ifndef TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H
#define TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H

#include "Options.h"
#include "common/Progress.h"

#include "tpsp/Runtime/Driver/Report/Report.h"

namespace tpsp::run {

/// Compiles options.model into the file options.emit.
rt::Status emit(const Options &options, bool speaks, Progress &progress);

/// Compiles options.model and fills in the report's prediction, its one step,
/// its trace and its backend. Fails if options.hardware is unknown, malformed,
/// or too small for the mesh.
rt::Status simulate(const Options &options, bool speaks, Progress &progress,
                    rt::RunReport &report);

/// Whether the model's layers are divided over stages (docs/Simulation.md).
/// False without a compiler.
bool dividesLayers(const Options &options);

/// What is said of a program with stages.
struct StagesOutput {
  std::string text, json;
  StepTrace trace;
  double seconds = 0;
  /// What the largest stage needs, or on a CPU all ranks, and what there is.
  int64_t bytes = 0, memoryBytes = 0;
};

/// As simulate(), for a model whose layers are divided.
rt::Status simulateStages(const Options &options, bool speaks,
                          Progress &progress, StagesOutput &output);

/// Measures this machine, or with --backend cuda its GPUs, and sets
/// `description` to a text for --hardware.
rt::Status calibrate(const Options &options, Progress &progress,
                     std::string &description);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H
