#include "GradientWays.h"

#include "Placed.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

GradientWays::GradientWays(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  findVarying(function, body);
  findWays(body);
  passOn(body);
}

ArrayRef<int64_t> GradientWays::of(Value value) const {
  auto found = ways.find(value);
  return found == ways.end() ? ArrayRef<int64_t>() : found->second;
}

void GradientWays::findVarying(FunctionOpInterface function, Block &body) {
  auto lasts = [&](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return isParameter(argument) ||
           function.getArgAttr(number, stateAttrName) ||
           function.getArgAttr(number, scalarAttrName);
  };
  for (BlockArgument argument : body.getArguments())
    if (!lasts(argument))
      varying.insert(argument);
  for (Operation &op : body)
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return varying.contains(operand); }))
      varying.insert(op.result_begin(), op.result_end());
}

/// Walks backwards, so that a value's users are known before the value.
void GradientWays::findWays(Block &body) {
  for (Operation &op : llvm::reverse(body))
    for (Value result : op.getResults())
      if (std::optional<Numbers> way = wayOf(result))
        ways[result] = std::move(*way);
}

/// Extends gradients through collectives and views, which stay gradients of the
/// same arguments, also within the update.
void GradientWays::passOn(Block &body) {
  for (Operation &op : body) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!isa<CollectiveOpInterface>(op) && !(indexed && indexed.isView()))
      continue;
    for (auto [operand, result] : llvm::zip(op.getOperands(), op.getResults()))
      if (has(operand) && of(result).empty() && (has(result) || isUpdate(&op)))
        ways[result] = Numbers(of(operand));
  }
}

static void addTo(SmallVectorImpl<int64_t> &numbers, ArrayRef<int64_t> more) {
  numbers.append(more.begin(), more.end());
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
}

std::optional<GradientWays::Numbers> GradientWays::wayOf(Value value) const {
  if (value.use_empty())
    return std::nullopt;
  Numbers numbers;
  if (auto marked = dyn_cast_or_null<DenseI64ArrayAttr>(
          getResultAttr(value, gradientsAttrName)))
    addTo(numbers, marked.asArrayRef());
  for (OpOperand &use : value.getUses()) {
    std::optional<Numbers> behind = wayBehind(use);
    if (!behind)
      return std::nullopt;
    addTo(numbers, *behind);
  }
  return numbers;
}

std::optional<GradientWays::Numbers>
GradientWays::wayBehind(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (user->hasTrait<OpTrait::IsTerminator>())
    return wayOfReturned(use);
  // An update reads gradients, and state.
  Operation *maker = use.get().getDefiningOp();
  if (isUpdate(user))
    return isBackward(maker) ? std::optional(Numbers()) : std::nullopt;
  unsigned number = 0;
  if (isa<CollectiveOpInterface>(user))
    number = use.getOperandNumber();
  else if (!isSameLinearMap(use))
    return std::nullopt;
  auto way = ways.find(user->getResult(number));
  return way == ways.end() ? std::nullopt : std::optional(way->second);
}

std::optional<GradientWays::Numbers>
GradientWays::wayOfReturned(OpOperand &use) {
  auto returning = cast<FunctionOpInterface>(use.getOwner()->getParentOp());
  // Further values are only kept (formSegments()).
  if (use.getOperandNumber() >= returning.getNumResults())
    return std::nullopt;
  auto of = returning.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(),
                                                       gradientAttrName);
  if (!of || !isParameter(returning.getArgument(of.getInt())))
    return std::nullopt;
  return Numbers{of.getInt()};
}

/// Whether the user is linear in this operand, and the same in every
/// micro-batch.
bool GradientWays::isSameLinearMap(OpOperand &use) const {
  auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
  if (!user || user->getNumResults() != 1)
    return false;
  switch (user.getLinearity()) {
  case Linearity::None:
    return false;
  case Linearity::Joint:
    return true;
  case Linearity::Multi:
    return llvm::all_of(user->getOpOperands(), [&](OpOperand &other) {
      return &other == &use || !varying.contains(other.get());
    });
  }
  return false;
}
