/// A program of fewer layers, to find out cheaply what is good for all.
///
/// The layers of a step are alike, and so is what a schedule does with those
/// that are neither near the step's beginning nor near its end: as in modulo
/// scheduling (Rau 1994) there is a steady period with a prologue and an
/// epilogue. The short program has both and a few periods. What was found for
/// its commands is then applied to the same commands of all layers.
#ifndef TPSP_PASSES_PLAN_SHORTPROGRAM_H
#define TPSP_PASSES_PLAN_SHORTPROGRAM_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include <optional>

namespace tpsp {

struct ShortProgram {
  /// Stands behind the program that it was made of.
  plan::ProgramOp program;
  Plan plan;
  /// For each command of the program that it was made of the number of the one
  /// here that does the same: itself, or that of another layer; -1 if there is
  /// none.
  std::vector<int64_t> twins;
};

/// A copy of `program`, which has this plan, without some of its layers, or of
/// its micro-batches. Those are runs of commands that repeat themselves; the
/// same layers are left out of each (those with the same parameters). What the
/// others read of them they read of their own neighbours. So the copy is a
/// program as if it had been written with fewer layers; nothing is proved of
/// that, and a schedule of the whole program has to be found and proved for
/// itself. nullopt if there are not so many layers, or if they are not
/// independent enough. In linear time.
std::optional<ShortProgram> shortProgram(plan::ProgramOp program,
                                         const Plan &plan);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_SHORTPROGRAM_H
