/// A candidate of the planner, compiled whole, to show its step.
#ifndef TPSP_PLANNING_PLANNEDSTEP_H
#define TPSP_PLANNING_PLANNEDSTEP_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Planning/CandidateEvaluator.h"
#include "tpsp/Planning/StageSimulation.h"

#include "llvm/Support/Error.h"

namespace tpsp {

struct PlannedStep {
  /// The plan; it is never null.
  std::shared_ptr<const Plan> plan;
  /// The step's equations and ledger (tpsp-opt --tpsp-explain).
  std::string explanation;
};

/// Reads the model again, and compiles it as the evaluator does, with all of
/// its layers. Fails with a sentence if the compiler refuses the candidate.
llvm::Expected<PlannedStep> planStep(mlir::MLIRContext &context,
                                     const CandidateEvaluatorOptions &options,
                                     const planner::Candidate &candidate);

/// The same for a candidate with stages.
llvm::Expected<SimulatedStages>
planStages(mlir::MLIRContext &context, const CandidateEvaluatorOptions &options,
           const planner::Candidate &candidate);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANNEDSTEP_H
