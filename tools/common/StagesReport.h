// The report of a program whose layers are divided over pipeline stages.
#ifndef TPSP_TOOLS_COMMON_STAGESREPORT_H
#define TPSP_TOOLS_COMMON_STAGESREPORT_H

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Planning/StageSimulation.h"

namespace tpsp::tool {

/// The output of --simulate for a program with stages.
struct StagesReport {
  std::string program, hardware, schedule;
  /// The requested overlap, and the overlap that the step has.
  std::string askedOverlap, overlap;
  StagePlans plans;
  PipelineStep step;
  double compileSeconds = 0;
  /// Bytes of memory. A GPU has `memoryBytes`, and a rank of the largest stage
  /// needs `neededBytes`. On CPUs both are sums over the machine and all ranks.
  int64_t memoryBytes = 0, neededBytes = 0;
  /// The share of the ranks' matmul peak that the step uses; 0 if unknown.
  double matmulUtilisation = 0;
};

/// The parts of a report that the simulation does not know.
struct StagesContext {
  std::string program, schedule;
  /// The requested overlap.
  std::string overlap;
  double compileSeconds = 0;
};

StagesReport stagesReport(SimulatedStages &&stages, const Hardware &hardware,
                          const StagesContext &context);

/// The ranks of a stage, ascending.
std::vector<int64_t> ranksOf(const StagesReport &report, size_t stage);

/// Returns tables for a terminal.
std::string toText(const StagesReport &report);
/// Returns JSON with the keys of docs/Simulation.md.
std::string toJson(const StagesReport &report);
/// Returns a trace with a row for each stage.
StepTrace traceOf(const StagesReport &report);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_STAGESREPORT_H
