// Predicting a program whose layers are divided over pipeline stages.
#ifndef TPSP_TOOLS_TPSP_RUN_STAGES_H
#define TPSP_TOOLS_TPSP_RUN_STAGES_H

#include "tpsp/Planning/StagePlans.h"
#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Schedule/PipelineStep.h"

#include "llvm/Support/Error.h"

namespace tpsp::run {

/// What --simulate says of such a program.
struct StagesReport {
  std::string program, hardware, schedule;
  /// What was asked for, and what the step has.
  std::string askedOverlap, overlap;
  StagePlans plans;
  PipelineStep step;
  double compileSeconds = 0;
  /// What a device, or the machine, has for all ranks on it, and what the
  /// largest stage, or all ranks, need there.
  int64_t memoryBytes = 0, neededBytes = 0;
  /// Of the ranks' matmul peak, what the step uses; 0 if it is not known.
  double matmulUtilisation = 0;
};

/// Tables for a terminal.
std::string toText(const StagesReport &report);
/// Keys as in docs/Simulation.md.
std::string toJson(const StagesReport &report);
/// A row for each stage.
StepTrace traceOf(const StagesReport &report);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_STAGES_H
