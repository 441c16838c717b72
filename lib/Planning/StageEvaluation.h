/// The planner's evaluation of a plan whose layers are divided over stages.
#ifndef TPSP_PLANNING_STAGEEVALUATION_H
#define TPSP_PLANNING_STAGEEVALUATION_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planning/StagePlans.h"
#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

/// Compiles the chunks of a program that is placed, simulates their pipeline,
/// and fills in what is found but `candidate`, whose settings count. The plan's
/// memory is that of its largest stage, and what its time goes to, that of the
/// busiest.
llvm::Error evaluateStages(mlir::OwningOpRef<mlir::ModuleOp> placed,
                           llvm::StringRef path, const StageRequest &request,
                           const Hardware &hardware, planner::Evaluation &out);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGEEVALUATION_H
