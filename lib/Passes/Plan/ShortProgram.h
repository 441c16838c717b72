/// A program of fewer layers, in which good settings for all layers are found
/// cheaply.
///
/// The layers of a step are alike. A schedule treats all of them alike, except
/// near the step's beginning and end. So there is a steady period with a
/// prologue and an epilogue, as in modulo scheduling (Rau 1994). The short
/// program has a prologue, an epilogue and a few periods. Cuts that are found
/// for its commands are then applied to the same commands of all layers.
#ifndef TPSP_PASSES_PLAN_SHORTPROGRAM_H
#define TPSP_PASSES_PLAN_SHORTPROGRAM_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include <optional>

namespace tpsp {

struct ShortProgram {
  /// The copy. It is inserted after the original program.
  plan::ProgramOp program;
  Plan plan;
  /// For each command of the original program, the number of the command in the
  /// copy that does the same. It may belong to another layer. -1 if there is
  /// none.
  std::vector<int64_t> twins;
};

/// Returns a copy of `program`, whose plan is `plan`, without some of its
/// layers or micro-batches. These are runs of commands that repeat themselves.
/// The same layers, those with the same parameters, are omitted from each run.
/// If kept commands read a result of omitted ones, they read that of a kept
/// layer instead. So the copy looks like a program that was written with fewer
/// layers. This is not proved: a schedule of the whole program must be found
/// and proved for itself. Returns nullopt if there are too few layers, or if
/// they depend on each other too much. Takes linear time.
std::optional<ShortProgram> shortProgram(plan::ProgramOp program,
                                         const Plan &plan);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_SHORTPROGRAM_H
