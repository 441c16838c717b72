#include "WaitingSums.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// Where a result of the operation comes out if nobody wants any anywhere.
static std::optional<Placement> unwantedResult(Placed &placed,
                                               unsigned number) {
  placed.wanted.assign(placed.wanted.size(), std::nullopt);
  auto choice = chooseComputePlacement(placed.get());
  if (!choice)
    return std::nullopt;
  return choice->results[number];
}

bool WaitingSums::mayWait(OpResult result, const Placed &placed,
                          const ComputePlacement &choice) {
  unsigned number = result.getResultNumber();
  if (!result.getOwner()->hasAttr(backwardAttrName) || placed.isDelayed[number])
    return false;
  const std::optional<Placement> &wanted = placed.wanted[number];
  const Placement &comesOut = choice.results[number];
  // A reduce-scatter makes the tensor smaller; it does not wait.
  if (!wanted || comesOut.dims != wanted->dims ||
      comesOut.reduction != Reduction::Sum)
    return false;
  AxisList axes;
  for (AxisId axis : comesOut.pending)
    if (!wanted->isPending(axis))
      axes.push_back(axis);
  if (axes.empty())
    return false;
  llvm::sort(axes);
  Placements assumed = {{result, comesOut}};
  return endOf(result, axes, assumed) == Absorbed;
}

WaitingSums::End WaitingSums::endOf(Value value, const AxisList &axes,
                                    Placements &assumed) {
  auto key = std::make_pair(value.getAsOpaquePointer(),
                            std::vector<AxisId>(axes.begin(), axes.end()));
  auto known = ends.find(key);
  if (known != ends.end())
    return known->second;
  End end = Returned;
  for (OpOperand &use : value.getUses()) {
    End way = throughUse(use, axes, assumed);
    end = way == Stuck ? Stuck : std::max(end, way);
    if (end == Stuck)
      break;
  }
  ends[key] = end;
  return end;
}

WaitingSums::End WaitingSums::throughUse(OpOperand &use, const AxisList &axes,
                                         Placements &assumed) {
  auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
  if (!user || user->getNumResults() != 1)
    return Stuck;
  if (user.isSumOfOperands())
    for (OpOperand &other : user->getOpOperands()) {
      Placements none;
      if (&other != &use && isPartial(other.get(), axes, none))
        return Absorbed;
    }
  Placed placed(user, mesh);
  for (auto [operand, placement] :
       llvm::zip_equal(user->getOperands(), placed.operands))
    placement = expected(operand, assumed);
  std::optional<Placement> comesOut = unwantedResult(placed, 0);
  if (!comesOut || !llvm::all_of(axes, [&](AxisId axis) {
        return comesOut->isPending(axis);
      }))
    return Stuck;
  Value result = user->getResult(0);
  if (llvm::any_of(result.getUsers(), [](Operation *op) {
        return op->hasTrait<OpTrait::IsTerminator>();
      }))
    return Returned;
  assumed[result] = *comesOut;
  return endOf(result, axes, assumed);
}

Placement WaitingSums::expected(Value value, Placements &known) const {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  if (!isUnplaced(value.getType()))
    return placementOf(value.getType(), mesh);
  // Only operations have unplaced results, and only until they are visited.
  auto op = value.getDefiningOp<IndexedOpInterface>();
  Placed placed(op, mesh);
  for (auto [operand, placement] :
       llvm::zip_equal(op->getOperands(), placed.operands))
    placement = expected(operand, known);
  Placement result =
      unwantedResult(placed, cast<OpResult>(value).getResultNumber())
          .value_or(Placement(getIdx(value).getRank()));
  known[value] = result;
  return result;
}

bool WaitingSums::isPartial(Value value, const AxisList &axes,
                            Placements &known) const {
  Placement placement = expected(value, known);
  return llvm::all_of(axes,
                      [&](AxisId axis) { return placement.isPending(axis); });
}
