#include "GradientNorm.h"

#include "Optimizers/Optimizer.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The type of a number in f64 that is pending over `axes`.
static RankedTensorType numberOver(MLIRContext *context, AxisList axes,
                                   const Mesh &mesh) {
  auto idx = IdxAttr::get(context, {}, {}, {}, false, false, false);
  Placement placement(0);
  placement.pending = std::move(axes);
  llvm::sort(placement.pending);
  return withPlacement(
      RankedTensorType::get({}, Float64Type::get(context), idx), placement,
      mesh);
}

/// The sum of squares, pending over the axes that divide the gradient. Rows are
/// summed first, because they are independent of each other.
static Value sumOfSquares(UpdateBuilder &ops, Value gradient,
                          RankedTensorType placed, const Mesh &mesh) {
  Value sum = ops.square(ops.convert(gradient, ops.b.getF64Type()));
  bool isCut =
      flatCut(placed.getShape(), placementOf(placed, mesh), mesh).has_value();
  if (placed.getRank() > 1 && !isCut) {
    auto names = indexNames(placed);
    names.pop_back();
    auto rows = tensorOver(names, {typeOf(sum)});
    sum = ReduceOp::create(ops.b, gradient.getLoc(), rows, ValueRange{sum},
                           "sum");
  }
  AxisList axes;
  for (const AxisList &each : placementOf(placed, mesh).dims)
    axes.append(each.begin(), each.end());
  return ReduceOp::create(ops.b, gradient.getLoc(),
                          numberOver(ops.b.getContext(), axes, mesh),
                          ValueRange{sum}, "sum");
}

static Value added(UpdateBuilder &ops, ArrayRef<Value> values, Type type) {
  if (values.size() == 1)
    return values.front();
  return AddOp::create(ops.b, ops.loc, type, values);
}

Value tpsp::buildNorm(OpBuilder &b, Location loc, ArrayRef<Value> gradients,
                      ArrayRef<RankedTensorType> placed, const Mesh &mesh) {
  UpdateBuilder ops(b, loc);
  llvm::MapVector<Type, SmallVector<Value>> byAxes;
  for (auto [gradient, type] : llvm::zip_equal(gradients, placed)) {
    Value sum = sumOfSquares(ops, gradient, type, mesh);
    byAxes[sum.getType()].push_back(sum);
  }
  RankedTensorType whole = numberOver(b.getContext(), {}, mesh);
  SmallVector<Value> sums;
  for (auto &[type, parts] : byAxes) {
    Value sum = ReshardOp::create(b, loc, whole, added(ops, parts, type));
    setName(sum, b.getStringAttr("norm"));
    sums.push_back(sum);
  }
  return ops.sqrt(added(ops, sums, whole));
}
