/// The ledger of a plan as hypotheses: which of its collectives can be changed,
/// and how.
#ifndef TPSP_LIB_CHECK_LEDGER_H
#define TPSP_LIB_CHECK_LEDGER_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Change.h"

#include <string>
#include <vector>

namespace tpsp::check {

/// A changed step, and what it means.
struct StepHypothesis {
  Change change;
  /// "the all_reduce of h0 over tp is missing".
  std::string text;
  /// The first of the changed rows; -1 if an argument is changed.
  int64_t row = -1;
  /// How much is changed: the simplest of equally good ones is the verdict.
  int weight = 0;
};

/// Whether the ranks of a row can meet along an axis. On the axis of stages,
/// they run the same commands only if all stages have the row.
bool meetAlong(const Plan &plan, const LedgerRow &row, int64_t axis);

/// Positions of the axes of a row in the mesh.
std::vector<int64_t> axesOf(const Plan &plan, const LedgerRow &row);

/// "all_reduce of g[w1] over tp: @tp divides s, which is summed away".
std::string rowText(const LedgerRow &row);
/// The constraint that the row follows from, as docs/Spec.md numbers it.
std::string ruleOf(const LedgerRow &row);

/// The rows that add up a tensor last, in their order: those of a gradient, or
/// those that are named like the tensor.
std::vector<int64_t> rowsOf(const Plan &plan, const PlanBuffer &tensor);

/// A change in which every tensor's last rows together add up over `axes` and
/// no others.
Change reducedOver(const Plan &plan,
                   const std::vector<const PlanBuffer *> &tensors,
                   const std::vector<int64_t> &axes);

/// The hypotheses about a plan's step, in program order. Each changes all rows
/// that differ in their layer alone. With `ofSingleRows` each changes one of
/// several such rows.
std::vector<StepHypothesis>
hypothesesOf(const Plan &plan, const rt::RankMesh &mesh, bool ofSingleRows);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_LEDGER_H
