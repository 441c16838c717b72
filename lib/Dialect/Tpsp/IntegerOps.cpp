// Lookups, routing, and what is made of them.
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

Linearity OneHotEinsumOp::getLinearity() { return Linearity::Multi; }
bool OneHotEinsumOp::introducesIndices() { return true; }
Linearity EmbeddingOp::getLinearity() { return Linearity::Multi; }
Linearity DispatchOp::getLinearity() { return Linearity::Multi; }
Linearity CombineOp::getLinearity() { return Linearity::Multi; }
bool DispatchOp::introducesIndices() { return true; }
bool RouterOp::introducesIndices() { return true; }

/// Width of the integers that are positions: i32.
static constexpr unsigned positionWidth = 32;

/// The extent of index `name` on `tensor`, 0 if it has none.
static int64_t extentOn(Value tensor, StringRef name) {
  std::optional<unsigned> dim = getIdx(tensor).dimOf(name);
  return dim ? cast<RankedTensorType>(tensor.getType()).getDimSize(*dim) : 0;
}

SmallVector<StringRef> OneHotEinsumOp::selected() {
  return llvm::map_to_vector(getIndices().getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}

unsigned OneHotEinsumOp::getIntegerWidth(unsigned i) {
  ArrayAttr indices = getIndicesAttr(); // null before it is verified
  return indices && i < indices.size() ? positionWidth : 0;
}

int64_t OneHotEinsumOp::getIntegerBound(unsigned i) {
  if (i >= getIndices().size())
    return 0;
  StringRef name = selected()[i];
  return std::max(extentOn(data(), name), extentOn(getResult(), name));
}

StringRef OneHotEinsumOp::innermost() {
  if (getIdx(data()).getRank() == 0)
    return "";
  StringRef name = getIdx(data()).getNames().back().getValue();
  bool isFree = getIdx(getResult()).dimOf(name).has_value() &&
                !llvm::is_contained(selected(), name) &&
                llvm::none_of(getOperands().drop_back(), [&](Value ids) {
                  return getIdx(ids).dimOf(name).has_value();
                });
  return isFree ? name : "";
}

bool OneHotEinsumOp::runsByRow() {
  return llvm::any_of(getOperands(), [&](Value operand) {
    return llvm::any_of(indexNames(operand.getType()), [&](StringRef name) {
      return !getIdx(getResult()).dimOf(name);
    });
  });
}

StringRef OneHotEinsumOp::getBlockIndex() { return innermost(); }

SmallVector<StringRef> OneHotEinsumOp::getRowIndices() {
  SmallVector<StringRef> row, written = targets();
  for (StringRef name : selected())
    if (!llvm::is_contained(written, name))
      row.push_back(name);
  if (StringRef name = innermost(); !name.empty())
    row.push_back(name);
  return row;
}

SmallVector<StringRef> OneHotEinsumOp::targets() {
  SmallVector<StringRef> names = selected();
  llvm::erase_if(
      names, [&](StringRef name) { return !getIdx(getResult()).dimOf(name); });
  return names;
}

SmallVector<Value> OneHotEinsumOp::targetIds() {
  SmallVector<Value> ids;
  for (auto [name, operand] : llvm::zip(selected(), getOperands()))
    if (getIdx(getResult()).dimOf(name))
      ids.push_back(operand);
  return ids;
}

SmallVector<StringRef> OneHotEinsumOp::terms() {
  SmallVector<StringRef> known = selected(), names;
  llvm::append_range(known, indexNames(getResult().getType()));
  for (Value operand : getOperands())
    for (StringRef name : indexNames(operand.getType()))
      if (!llvm::is_contained(known, name) && !llvm::is_contained(names, name))
        names.push_back(name);
  return names;
}

unsigned RouterOp::getIntegerWidth(unsigned i) {
  return i == getNumOperands() ? positionWidth : 0;
}

SmallVector<StringRef> RouterOp::getWholeIndices() {
  return {getExpert(), getChoice()};
}

SmallVector<StringRef> RouterOp::getRowIndices() { return getWholeIndices(); }
unsigned CountEarlierOp::getIntegerWidth(unsigned) { return positionWidth; }

int64_t CountEarlierOp::getIntegerBound(unsigned i) {
  return i == 0 ? getValues() : 0;
}

SmallVector<StringRef> CountEarlierOp::getWholeIndices() {
  return llvm::map_to_vector(getOver().getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}

unsigned EmbeddingOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}

int64_t EmbeddingOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getOperand(1), getVocabulary()) : 0;
}

unsigned CrossEntropyOp::getIntegerWidth(unsigned i) {
  return i == 1 ? positionWidth : 0;
}

int64_t CrossEntropyOp::getIntegerBound(unsigned i) {
  return i == 1 ? extentOn(getOperand(0), getOver()) : 0;
}

unsigned DispatchOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}

int64_t DispatchOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getResult(), getExpert()) : 0;
}

unsigned CombineOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}

int64_t CombineOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOn(getOperand(2), getExpert()) : 0;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult OneHotEinsumOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                           Gradients gradients) {
  if (!needed.back())
    return success();
  AdjointBuilder adjoint(b, getLoc());
  SmallVector<Value> operands(getOperands().drop_back());
  operands.push_back(g);
  gradients.back() =
      adjoint.map<OneHotEinsumOp>(data(), operands, getIndicesAttr());
  return success();
}

LogicalResult RouterOp::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {
  return success(); // integers
}

LogicalResult CountEarlierOp::buildAdjoint(OpBuilder &, Value, Needed,
                                           Gradients) {
  return success(); // integers
}

//===----------------------------------------------------------------------===//
// Parts of composites
//===----------------------------------------------------------------------===//

Value EmbeddingOp::decompose(OpBuilder &b) {
  return OneHotEinsumOp::create(b, getLoc(), getResult().getType(),
                                getOperands(),
                                b.getStrArrayAttr({getVocabulary()}));
}

Value CrossEntropyOp::decompose(OpBuilder &b) {
  // log sum exp(x) - x[t] = log sum exp(x - m) - (x[t] - m), for any m. As the
  // row's maximum, m keeps exp in range; it has no gradient.
  PartBuilder parts(b, getLoc());
  Value x = getOperand(0), targets = getOperand(1);
  auto unplaced = [](RankedTensorType type) { return withoutPlacement(type); };
  RankedTensorType wide = unplaced(parts.typeOf(x));
  RankedTensorType row = unplaced(getResult().getType());
  auto reduce = [&](Value value, StringRef kind) -> Value {
    return ReduceOp::create(b, getLoc(), row, ValueRange{value},
                            b.getStringAttr(kind));
  };
  Value highest = reduce(x, "max");
  Value level = StopGradientOp::create(b, getLoc(), row, highest);
  Value shifted = SubOp::create(b, getLoc(), wide, ValueRange{x, level});
  Value weight = ExpOp::create(b, getLoc(), wide, ValueRange{shifted});
  Value total = reduce(weight, "sum");
  // Of x, and not of x - m: that need not be in memory.
  Value found = OneHotEinsumOp::create(b, getLoc(), row, ValueRange{targets, x},
                                       b.getStrArrayAttr({getOver()}));
  Value target = SubOp::create(b, getLoc(), row, ValueRange{found, level});
  Value normalizer = LogOp::create(b, getLoc(), row, ValueRange{total});
  return SubOp::create(b, getLoc(), getResult().getType(),
                       ValueRange{normalizer, target});
}

/// The slot of every choice at its expert: how many equal ids come before it,
/// first choices of all tokens first.
static Value slotsOf(OpBuilder &b, Location loc, Value ids, Value result,
                     StringRef choice, int64_t experts) {
  SmallVector<StringRef> over = {choice};
  for (StringRef name : indexNames(ids.getType()))
    if (name != choice && !getIdx(result).dimOf(name))
      over.push_back(name);
  return CountEarlierOp::create(
      b, loc, withoutPlacement(cast<RankedTensorType>(ids.getType())),
      ValueRange{ids}, b.getStrArrayAttr(over), b.getI64IntegerAttr(experts));
}

Value DispatchOp::decompose(OpBuilder &b) {
  Value ids = getOperand(0);
  Value slots =
      slotsOf(b, getLoc(), ids, getResult(), getChoice(), getIntegerBound(0));
  return OneHotEinsumOp::create(b, getLoc(), getResult().getType(),
                                ValueRange{ids, slots, getOperand(1)},
                                b.getStrArrayAttr({getExpert(), getSlot()}));
}

Value CombineOp::decompose(OpBuilder &b) {
  Value ids = getOperand(0), weights = getOperand(1), v = getOperand(2);
  Value slots = slotsOf(b, getLoc(), ids, v, getChoice(), getIntegerBound(0));
  SmallVector<StringRef> names = indexNames(ids.getType());
  for (StringRef name : indexNames(v.getType()))
    if (name != getExpert() && name != getSlot() &&
        !llvm::is_contained(names, name))
      names.push_back(name);
  auto unplaced = [](Value value) {
    return withoutPlacement(cast<RankedTensorType>(value.getType()));
  };
  RankedTensorType picked = tensorOver(names, {unplaced(v), unplaced(ids)});
  Value each =
      OneHotEinsumOp::create(b, getLoc(), picked, ValueRange{ids, slots, v},
                             b.getStrArrayAttr({getExpert(), getSlot()}));
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, each});
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value OneHotEinsumOp::emitScalar(OpBuilder &b, ValueRange operands,
                                 Position position) {
  Location loc = getLoc();
  Scalar x = scalar(b, *this, operands.back());
  Value all;
  for (auto [name, id] : llvm::zip_equal(selected(), operands.drop_back())) {
    Value at =
        arith::IndexCastOp::create(b, loc, b.getI32Type(), position(name));
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at, id);
    all = all ? arith::AndIOp::create(b, loc, all, here) : here;
  }
  return arith::SelectOp::create(b, loc, all, x.get(), x.constant(0).get());
}

SmallVector<StringRef> OneHotEinsumOp::getPositionIndices() {
  return selected();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void TpspDialect::registerIntegerOps() {
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/IntegerOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/IntegerOps.cpp.inc"
