/// Evaluates a plan whose layers are divided over stages.
#ifndef TPSP_PLANNING_STAGEEVALUATION_H
#define TPSP_PLANNING_STAGEEVALUATION_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planning/StageSimulation.h"

namespace tpsp {

/// Compiles the chunks of a placed program with the schedule and chunks of the
/// candidate, and simulates their pipeline. `request` has its other settings.
llvm::Expected<SimulatedStages>
simulateCandidate(mlir::OwningOpRef<mlir::ModuleOp> placed,
                  llvm::StringRef path, const StageRequest &request,
                  const Hardware &hardware,
                  const planner::Candidate &candidate);

/// Does this for `out.candidate`, and fills in all other members of `out`. The
/// memory is that of the largest stage, and the parts of the time are those of
/// the busiest stage.
llvm::Error evaluateStages(mlir::OwningOpRef<mlir::ModuleOp> placed,
                           llvm::StringRef path, const StageRequest &request,
                           const Hardware &hardware, planner::Evaluation &out);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGEEVALUATION_H
