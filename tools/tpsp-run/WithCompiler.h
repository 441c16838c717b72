// Functions of tpsp-run that need the compiler. In a build without it
// (-DTPSP_COMPILER=OFF) each of them returns an error that says so.
#ifndef TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H
#define TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H

#include "Options.h"
#include "common/Progress.h"

#include "tpsp/Runtime/Driver/Report/Report.h"

#include <optional>

namespace tpsp::run {

/// Compiles options.model into the file options.emit.
rt::Status emit(const Options &options, bool speaks, Progress &progress);

/// Compiles options.model and sets the report's prediction, step time, trace
/// and backend. Fails if options.hardware is unknown, malformed, or has fewer
/// devices than the mesh.
rt::Status simulate(const Options &options, bool speaks, Progress &progress,
                    rt::RunReport &report);

/// Whether the model's layers are divided over stages (docs/Simulation.md).
/// False without a compiler; nullopt if the model is not valid.
std::optional<bool> dividesLayers(const Options &options);

/// The results of simulating a program with stages.
struct StagesOutput {
  std::string text, json;
  StepTrace trace;
  double seconds = 0;
  /// Bytes that a rank of the largest stage needs, or on a CPU all ranks, and
  /// bytes that there are.
  int64_t bytes = 0, memoryBytes = 0;
  /// For --save-stage-actions.
  std::string actions;
};

/// As simulate(), for a model whose layers are divided.
rt::Status simulateStages(const Options &options, bool speaks,
                          Progress &progress, StagesOutput &output);

/// Measures this machine, or with --backend cuda its GPUs. With --nccl-tests
/// puts the files' times into --hardware instead. Sets `description` to the
/// text of a file for --hardware.
rt::Status calibrate(const Options &options, Progress &progress,
                     std::string &description);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_WITHCOMPILER_H
