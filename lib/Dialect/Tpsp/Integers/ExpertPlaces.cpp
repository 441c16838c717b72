// The places of choices at experts, and the parts of dispatch and combine.
#include "ExpertPlaces.h"

#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

#include "tpsp/Dialect/Tpsp/Integers/Routing.cpp.inc"

ExpertPlaces::ExpertPlaces(DispatchOp op)
    : ExpertPlaces(op, op.getExpert(), op.getSlot(), op.getChoice(),
                   op.getNumOperands() > 2, op.getResult()) {}

ExpertPlaces::ExpertPlaces(CombineOp op)
    : ExpertPlaces(op, op.getExpert(), op.getSlot(), op.getChoice(),
                   op.getNumOperands() > 3, op.getOperands().back()) {}

ExpertPlaces::ExpertPlaces(Operation *op, StringRef expert, StringRef slot,
                           StringRef choice, bool hasLoad, Value slots)
    : op(op), expert(expert), slot(slot), choice(choice),
      ids(op->getOperand(0)), slots(slots) {
  if (!hasLoad)
    return;
  load = op->getOperand(1);
  for (StringRef name : indexNames(load.getType()))
    if (name != expert && !getIdx(ids).dimOf(name))
      block = name;
}

int64_t ExpertPlaces::experts() const {
  if (!load)
    return extentOf(slots, expert);
  int64_t each = extentOf(load, expert);
  return block.empty() ? each : each * extentOf(load, block);
}

SmallVector<StringRef> ExpertPlaces::indices() const {
  if (load && block.empty())
    return {slot};
  return {load ? block : expert, slot};
}

SmallVector<Value> ExpertPlaces::integers(OpBuilder &b) const {
  if (!load)
    return {ids, slotsOf(b)};
  if (block.empty())
    return {slotsOf(b)};
  Value blocks = BlockOfOp::create(b, op->getLoc(), typeOfIds(),
                                   ValueRange{ids}, extentOf(load, expert));
  return {blocks, slotsOf(b)};
}

RankedTensorType ExpertPlaces::typeOfIds() const {
  return withoutPlacement(typeOf(ids));
}

SmallVector<StringRef> ExpertPlaces::rivals() const {
  SmallVector<StringRef> names = {choice};
  for (StringRef name : indexNames(ids.getType()))
    if (name != choice && !getIdx(slots).dimOf(name))
      names.push_back(name);
  return names;
}

/// How many choices of the same expert come before, first choices of all tokens
/// first. In a block of experts the choices of earlier experts count, too.
Value ExpertPlaces::slotsOf(OpBuilder &b) const {
  SmallVector<StringRef> of;
  SmallVector<Value> operands = {ids};
  if (load)
    operands.push_back(load);
  if (!block.empty())
    of.push_back(block);
  of.push_back(expert);
  return CountEarlierOp::create(b, op->getLoc(), typeOfIds(), operands,
                                b.getStrArrayAttr(rivals()),
                                b.getI64IntegerAttr(experts()),
                                load ? b.getStrArrayAttr(of) : ArrayAttr());
}

/// Whether a token's choices are distinct experts.
static bool areDistinct(Value ids, StringRef choice) {
  auto router = ids.getDefiningOp<RouterOp>();
  return router && router.getChoice() == choice;
}

bool ExpertPlaces::areTooFew() const {
  int64_t choices = extentOf(ids, choice);
  int64_t all = positionsAlong(ids.getType(), rivals());
  int64_t sharing = load ? extentOf(load, expert) : 1;
  if (areDistinct(ids, choice) && choices > 0)
    all = all / choices * std::min(choices, sharing);
  return extentOf(slots, slot) < all;
}

Value ExpertPlaces::dropped(OpBuilder &b) const {
  Location loc = op->getLoc();
  auto one = [&](RankedTensorType type) -> Value {
    return ConstantOp::create(b, loc, type, ValueRange(), b.getF64FloatAttr(1));
  };
  RankedTensorType choices = typeOfIds().clone(b.getF32Type());
  RankedTensorType places =
      tensorOver(indices(), {withoutPlacement(typeOf(slots))})
          .clone(b.getF32Type());
  SmallVector<Value> operands = integers(b);
  operands.push_back(one(places));
  Value hasPlace = OneHotEinsumOp::create(b, loc, choices, operands,
                                          b.getStrArrayAttr(indices()));
  Value each =
      SubOp::create(b, loc, choices, ValueRange{one(choices), hasPlace});
  SmallVector<StringRef> groups = indexNames(choices), competing = rivals();
  llvm::erase_if(groups, [&](StringRef name) {
    return llvm::is_contained(competing, name);
  });
  return ReduceOp::create(b, loc, tensorOver(groups, {choices}),
                          ValueRange{each}, b.getStringAttr("sum"));
}

Value DispatchOp::buildDropped(OpBuilder &b) {
  ExpertPlaces places(*this);
  return places.areTooFew() ? places.dropped(b) : Value();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value DispatchOp::decompose(OpBuilder &b) {
  ExpertPlaces places(*this);
  SmallVector<Value> operands = places.integers(b);
  operands.push_back(getOperands().back());
  return OneHotEinsumOp::create(b, getLoc(), getResult().getType(), operands,
                                b.getStrArrayAttr(places.indices()));
}

Value CombineOp::decompose(OpBuilder &b) {
  ExpertPlaces places(*this);
  Value ids = getOperand(0), v = getOperands().back(),
        weights = getOperands().drop_back().back();
  SmallVector<Value> operands = places.integers(b);
  operands.push_back(v);
  SmallVector<StringRef> selected = places.indices(),
                         names = indexNames(ids.getType());
  for (StringRef name : indexNames(v.getType()))
    if (!llvm::is_contained(selected, name) && !llvm::is_contained(names, name))
      names.push_back(name);
  auto unplaced = [](Value value) { return withoutPlacement(typeOf(value)); };
  RankedTensorType picked = tensorOver(names, {unplaced(v), unplaced(ids)});
  Value each = OneHotEinsumOp::create(b, getLoc(), picked, operands,
                                      b.getStrArrayAttr(selected));
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, each});
}
