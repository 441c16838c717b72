/// Finds the index that micro-batches cut. The compiler is asked once for all
/// plans.
#ifndef TPSP_PLANNING_BATCHCUT_H
#define TPSP_PLANNING_BATCHCUT_H

#include "tpsp/Planning/Planning.h"

namespace tpsp {

/// The class of the options' index if the program on one device can be cut
/// along it, else nullopt. The trial cuts it into the given number of
/// micro-batches, or else into the smallest number that divides it. Fails with
/// a sentence if the index or the number is given and it cannot be cut.
llvm::Expected<std::optional<planner::ClassId>>
findBatch(mlir::MLIRContext &context, const CandidateEvaluatorOptions &options,
          const GivenSettings &given, const planner::ProgramFacts &facts);

} // namespace tpsp

#endif // TPSP_PLANNING_BATCHCUT_H
