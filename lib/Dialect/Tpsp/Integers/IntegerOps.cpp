// Look-ups, routing, and composites of these.
#include "Dialect/Tpsp/Operations/PartBuilder.h"
#include "Dialect/Tpsp/Operations/ScalarOf.h"
#include "ExpertPlaces.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

/// Width of the integers that are positions: i32.
static constexpr unsigned positionWidth = 32;

SmallVector<StringRef> OneHotEinsumOp::selected() {
  return llvm::map_to_vector(getIndices().getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}

Value OneHotEinsumOp::carrier(StringRef index) {
  for (Value x : numbers())
    if (getIdx(x).dimOf(index))
      return x;
  return {};
}

unsigned OneHotEinsumOp::getIntegerWidth(unsigned i) {
  ArrayAttr indices = getIndicesAttr(); // null before it is verified
  return indices && i < indices.size() ? positionWidth : 0;
}

int64_t OneHotEinsumOp::getIntegerBound(unsigned i) {
  if (i >= getIndices().size())
    return 0;
  StringRef name = selected()[i];
  Value x = carrier(name);
  return extentOf(x ? x : Value(getResult()), name);
}

StringRef OneHotEinsumOp::innermost() {
  for (Value x : llvm::reverse(numbers())) {
    if (getIdx(x).getRank() == 0)
      continue;
    StringRef name = getIdx(x).getNames().back().getValue();
    if (getIdx(getResult()).dimOf(name).has_value() &&
        !llvm::is_contained(selected(), name) &&
        llvm::none_of(integers(), [&](Value ids) {
          return getIdx(ids).dimOf(name).has_value();
        }))
      return name;
  }
  return "";
}

StringRef OneHotEinsumOp::getChosenIndex() {
  if (getIndices().size() != 1 || numbers().size() != 2)
    return "";
  StringRef name = selected().front();
  unsigned carriers = getIdx(getResult()).dimOf(name).has_value();
  for (Value x : numbers())
    carriers += getIdx(x).dimOf(name).has_value();
  return carriers == 1 ? name : "";
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

unsigned CountEarlierOp::getIntegerWidth(unsigned) { return positionWidth; }

int64_t CountEarlierOp::getIntegerBound(unsigned i) {
  return i == 0 ? getValues() : 0;
}

static SmallVector<StringRef> namesIn(ArrayAttr names) {
  if (!names)
    return {};
  return llvm::map_to_vector(names.getAsRange<StringAttr>(),
                             [](StringAttr name) { return name.getValue(); });
}

SmallVector<StringRef> CountEarlierOp::countedIndices() {
  return namesIn(getOverAttr());
}

SmallVector<StringRef> CountEarlierOp::valueIndices() {
  return namesIn(getOfAttr());
}

SmallVector<StringRef> CountEarlierOp::getWholeIndices() {
  SmallVector<StringRef> names = countedIndices();
  llvm::append_range(names, valueIndices());
  return names;
}

unsigned CountValuesOp::getIntegerWidth(unsigned) { return positionWidth; }

int64_t CountValuesOp::getIntegerBound(unsigned i) {
  return i == 0 ? positionsAlong(getResult().getType(), valueIndices()) : 0;
}

SmallVector<StringRef> CountValuesOp::countedIndices() {
  return namesIn(getOverAttr());
}

SmallVector<StringRef> CountValuesOp::valueIndices() {
  return namesIn(getOfAttr());
}

/// A block of values may be a rank's; values of a block are together.
SmallVector<StringRef> CountValuesOp::getWholeIndices() {
  SmallVector<StringRef> names = countedIndices();
  llvm::append_range(names, ArrayRef(valueIndices()).drop_front());
  return names;
}

unsigned RunsOp::getIntegerWidth(unsigned) { return positionWidth; }
SmallVector<StringRef> RunsOp::getWholeIndices() {
  return {getOf(), getAlong()};
}

unsigned BlockOfOp::getIntegerWidth(unsigned) { return positionWidth; }

unsigned EmbeddingOp::getIntegerWidth(unsigned i) {
  return i == 0 ? positionWidth : 0;
}

int64_t EmbeddingOp::getIntegerBound(unsigned i) {
  return i == 0 ? extentOf(getOperand(1), getVocabulary()) : 0;
}

unsigned CrossEntropyOp::getIntegerWidth(unsigned i) {
  return i == 1 ? positionWidth : 0;
}

int64_t CrossEntropyOp::getIntegerBound(unsigned i) {
  return i == 1 ? extentOf(getOperand(0), getOver()) : 0;
}

unsigned DispatchOp::getIntegerWidth(unsigned i) {
  return i + 1 < getNumOperands() ? positionWidth : 0;
}

int64_t DispatchOp::getIntegerBound(unsigned i) {
  return i == 0 ? ExpertPlaces(*this).experts() : 0;
}

unsigned CombineOp::getIntegerWidth(unsigned i) {
  return i + 2 < getNumOperands() ? positionWidth : 0;
}

int64_t CombineOp::getIntegerBound(unsigned i) {
  return i == 0 ? ExpertPlaces(*this).experts() : 0;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult OneHotEinsumOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                           Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  for (unsigned i = getIndices().size(); i < getNumOperands(); ++i) {
    if (!needed[i])
      continue;
    SmallVector<Value> operands(getOperands());
    operands[i] = g;
    gradients[i] =
        adjoint.map<OneHotEinsumOp>(getOperand(i), operands, getIndicesAttr());
  }
  return success();
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
  RankedTensorType wide = unplaced(typeOf(x));
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
  // Looks x up, not x - m, which then need not be in memory.
  Value found = OneHotEinsumOp::create(b, getLoc(), row, ValueRange{targets, x},
                                       b.getStrArrayAttr({getOver()}));
  Value target = SubOp::create(b, getLoc(), row, ValueRange{found, level});
  Value normalizer = LogOp::create(b, getLoc(), row, ValueRange{total});
  Value loss = SubOp::create(b, getLoc(), row, ValueRange{normalizer, target});
  return LabelMaskOp::create(b, getLoc(), getResult().getType(),
                             ValueRange{loss, targets});
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value OneHotEinsumOp::emitScalar(OpBuilder &b, ValueRange operands,
                                 Position position) {
  Location loc = getLoc();
  unsigned count = getIndices().size();
  Value term = operands[count];
  for (Value other : operands.drop_front(count + 1))
    term = multiplyTerm(b, loc, term, other);
  Value all;
  for (auto [name, id] :
       llvm::zip_equal(selected(), operands.take_front(count))) {
    Value at =
        arith::IndexCastOp::create(b, loc, b.getI32Type(), position(name));
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at, id);
    all = all ? arith::AndIOp::create(b, loc, all, here) : here;
  }
  Scalar x = scalar(b, *this, term);
  return arith::SelectOp::create(b, loc, all, term, x.constant(0).get());
}

Value BlockOfOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Location loc = getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  };
  Value block = arith::DivUIOp::create(b, loc, operands[0], number(getSize()));
  Value isBelow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                        operands[0], number(0));
  return arith::SelectOp::create(b, loc, isBelow, number(-1), block);
}

SmallVector<StringRef> OneHotEinsumOp::getPositionIndices() {
  return selected();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.cpp.inc"
