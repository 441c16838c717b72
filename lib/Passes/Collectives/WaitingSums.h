/// Sums of the backward pass that are taken later.
///
/// A gradient is wanted where its tensor is. So a gradient that comes out
/// partial is reduced at once. Sometimes that is one collective too many. Let
/// key/value heads be replicated over an axis rep that divides the query heads.
/// Then the gradient of the keys, g[k], is a sum over rep, and two values come
/// from it:
///
///   g[wk] = g[k] · xn         a parameter's gradient, only returned
///   g[xn] = g[k] · wk + ...   a sum with another part that is partial over rep
///
/// Left partial, g[k] costs nothing: g[xn] is reduced over rep anyway, and
/// g[wk] with the other parameters' gradients.
///
/// Follow a gradient through operations that are linear in it. Each path ends
/// in one of three ways:
///
/// - *Absorbed*: in a sum that is partial over the same axes without it.
/// - *Returned*: as a result of the function.
/// - *Stuck*: in anything else.
///
/// The gradient waits if no path is stuck and at least one is absorbed. If all
/// were returned, the reduction would only move.
///
/// The answer depends on subscripts alone. It is a matter of cost only: an
/// unplaced value comes out right wherever it is reduced.
#ifndef TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H
#define TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H

#include "Passes/Program/Placed.h"

#include <map>

namespace tpsp {

class WaitingSums {
public:
  explicit WaitingSums(const Mesh &mesh) : mesh(mesh) {}

  /// Whether a result of the operation `placed`, under the compute placement
  /// `choice`, should stay partial instead of being brought to its placement.
  bool mayWait(mlir::OpResult result, const Placed &placed,
               const ComputePlacement &choice);

private:
  /// How the paths of a sum end. Several paths are Stuck if one is, else
  /// Absorbed if one is, else Returned.
  enum End { Stuck, Returned, Absorbed };
  using Placements = llvm::DenseMap<mlir::Value, Placement>;

  End endOf(mlir::Value value, const AxisList &axes, Placements &assumed);
  End throughUse(mlir::OpOperand &use, const AxisList &axes,
                 Placements &assumed);
  /// The placement that a value has, or would come out with. `known` is a
  /// cache.
  Placement expected(mlir::Value value, Placements &known) const;
  bool isPartial(mlir::Value value, const AxisList &axes,
                 Placements &known) const;

  const Mesh &mesh;
  /// A cache, so that a chain of linear operations is followed once.
  std::map<std::pair<void *, std::vector<AxisId>>, End> ends;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_WAITINGSUMS_H
