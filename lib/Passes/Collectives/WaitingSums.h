/// Sums of the backward pass that are taken later.
///
/// A gradient is wanted where its tensor is, so one that comes out partial is
/// reduced at once. Sometimes that is one collective too many. With key/value
/// heads replicated over an axis rep that divides the query heads, the gradient
/// of the keys is a sum over rep, and from it come
///
///   g[wk] = g[k] · xn         a parameter's gradient, only returned
///   g[xn] = g[k] · wk + ...   a sum with another part that is partial over rep
///
/// Left partial, g[k] costs nothing: g[xn] is reduced over rep anyway, and
/// g[wk] with the other parameters' gradients. So a gradient waits if, through
/// operations that are linear in it, every way ends in a sum that is partial
/// over the same axes without it, or is only returned; and one at least ends in
/// such a sum, else the reduction would only move.
///
/// The answer depends on subscripts alone, and is a matter of cost only: what
/// is left unplaced comes out right whatever it is.
#ifndef TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H
#define TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H

#include "Passes/Program/Placed.h"

#include <map>

namespace tpsp {

class WaitingSums {
public:
  explicit WaitingSums(const Mesh &mesh) : mesh(mesh) {}

  /// Whether the result of `op`, made as `choice` has it, had better stay
  /// partial than be brought to where it is wanted.
  bool mayWait(IndexedOpInterface op, const Placed &placed,
               const ComputePlacement &choice);

private:
  /// Where the ways of a sum end. The least of several ways counts, but that
  /// `Returned` and `Absorbed` are `Absorbed`.
  enum End { Stuck, Returned, Absorbed };
  using Placements = llvm::DenseMap<mlir::Value, Placement>;

  End endOf(mlir::Value value, const AxisList &axes, Placements &assumed);
  End throughUse(mlir::OpOperand &use, const AxisList &axes,
                 Placements &assumed);
  /// Where a value is, or would come out; `known` is asked first and added to.
  Placement expected(mlir::Value value, Placements &known) const;
  bool isPartial(mlir::Value value, const AxisList &axes,
                 Placements &known) const;

  const Mesh &mesh;
  /// So that a chain of linear operations is followed once.
  std::map<std::pair<void *, std::vector<AxisId>>, End> ends;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H
