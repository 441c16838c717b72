#include "UnitAxes.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

using AxisNames = llvm::SmallDenseSet<StringAttr>;

/// Axes of one rank that belong to no collective. Collectives over a single
/// rank that are kept need their axes.
static AxisNames findUnitAxes(Block &body, const Mesh &mesh) {
  AxisNames units;
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
    if (mesh.size(axis) == 1)
      units.insert(StringAttr::get(body.getParentOp()->getContext(),
                                   mesh.axis(axis).name));
  for (Operation &op : body)
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      for (auto axis : collective.getAxes().getAsRange<StringAttr>())
        units.erase(axis);
  return units;
}

static Type withoutUnitAxes(Type type, const AxisNames &units) {
  IdxAttr idx = getIdx(type);
  if (!idx)
    return type;
  auto isKept = [&](StringAttr axis) { return !units.contains(axis); };
  SmallVector<ArrayAttr> axes;
  for (ArrayAttr of : idx.getAxes()) {
    auto kept = llvm::to_vector_of<Attribute>(
        llvm::make_filter_range(of.getAsRange<StringAttr>(), isKept));
    axes.push_back(ArrayAttr::get(type.getContext(), kept));
  }
  auto pending =
      llvm::to_vector(llvm::make_filter_range(idx.getPending(), isKept));
  bool pendingMax = idx.getPendingMax() && !pending.empty();
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               IdxAttr::get(type.getContext(), idx.getNames(),
                                            axes, pending, pendingMax,
                                            idx.getUnplaced(), idx.getLocal()));
}

/// Whether a view changes nothing. A returned value keeps its name, so its view
/// does not count.
static bool showsNothingNew(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && indexed.isView() && op->getNumOperands() == 1 &&
         op->getOperand(0).getType() == op->getResult(0).getType() &&
         llvm::none_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

void tpsp::dropUnitAxes(func::FuncOp function, const Mesh &mesh) {
  Block &body = function.getBody().front();
  AxisNames units = findUnitAxes(body, mesh);
  if (units.empty())
    return;
  for (BlockArgument argument : body.getArguments())
    argument.setType(withoutUnitAxes(argument.getType(), units));
  for (Operation &op : body)
    for (Value result : op.getResults())
      result.setType(withoutUnitAxes(result.getType(), units));
  for (Operation &op : llvm::make_early_inc_range(body))
    if (showsNothingNew(&op)) {
      op.replaceAllUsesWith(op.getOperands());
      op.erase();
    }
}
