// concat, cut and pad: runs of positions of an index.
#include "VerifierRules.h"

#include "tpsp/Dialect/Tpsp/BlockOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// The index, by each tensor's name for it
//===----------------------------------------------------------------------===//

static int64_t extentOf(Value tensor, StringRef index) {
  return cast<RankedTensorType>(tensor.getType())
      .getDimSize(*getIdx(tensor).dimOf(index));
}

/// What `part` calls `index` of `whole`; empty if their other indices differ.
static StringRef ownName(Value part, Value whole, StringRef index) {
  SmallVector<StringRef> names = indexNames(part.getType()),
                         of = indexNames(whole.getType());
  std::optional<unsigned> dim = getIdx(whole).dimOf(index);
  if (!dim || names.size() != of.size())
    return "";
  StringRef own = names[*dim];
  names[*dim] = index;
  return names == of && own != index && !getIdx(whole).dimOf(own) ? own : "";
}

/// (B4), (B5), (B7): that `part` is `whole` but for `index`.
static LogicalResult verifyRun(Operation *op, Value part, Value whole,
                               StringRef index, StringRef role,
                               StringRef roleOfWhole) {
  if (!getIdx(whole).dimOf(index))
    return op->emitOpError("index = \"")
           << index << "\" is not an index of " << roleOfWhole << ", ["
           << subscripts(whole.getType()) << "]";
  if (!ownName(part, whole, index).empty())
    return success();
  return op->emitOpError() << role << " has indices ["
                           << subscripts(part.getType())
                           << "], which must be those of " << roleOfWhole
                           << ", [" << subscripts(whole.getType())
                           << "], but for another name in place of '" << index
                           << "' (tpsp.rename)";
}

/// (B6), (B8): that a run of `count` from `first` lies in `index`.
static LogicalResult verifyPositions(Operation *op, StringRef attribute,
                                     int64_t first, int64_t count, Value whole,
                                     StringRef index) {
  int64_t extent = extentOf(whole, index);
  if (first >= 0 && first <= extent - count)
    return success();
  return op->emitOpError() << attribute << " = " << first << " and " << count
                           << " positions do not lie in '" << index
                           << "', which has extent " << extent;
}

LogicalResult ConcatOp::verify() { // (B4)
  if (getNumOperands() == 0)
    return emitOpError("takes 1 or more operands, not 0");
  int64_t sum = 0;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    std::string role = "operand #" + std::to_string(i);
    if (failed(verifyRun(*this, operand, getResult(), getIndex(), role,
                         "the result")))
      return failure();
    sum += extentOf(operand, ownName(operand, getResult(), getIndex()));
  }
  int64_t extent = extentOf(getResult(), getIndex());
  if (sum == extent)
    return success();
  return emitOpError("has operands of ")
         << sum << " positions, but '" << getIndex() << "' has extent "
         << extent;
}

LogicalResult CutOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyRun(*this, getResult(), getOperand(0), getIndex(),
                       "the result", "the operand"))) // (B5)
    return failure();
  StringRef own = ownName(getResult(), getOperand(0), getIndex());
  return verifyPositions(*this, "from", int64_t(getFrom()),
                         extentOf(getResult(), own), getOperand(0),
                         getIndex()); // (B6)
}

LogicalResult PadOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyRun(*this, getOperand(0), getResult(), getIndex(),
                       "the operand", "the result"))) // (B7)
    return failure();
  StringRef own = ownName(getOperand(0), getResult(), getIndex());
  if (failed(verifyPositions(*this, "before", int64_t(getBefore()),
                             extentOf(getOperand(0), own), getResult(),
                             getIndex()))) // (B8)
    return failure();
  if (getValue().isZero() || !integerWidth(getOperand(0)))
    return success();
  return emitOpError("value = ")
         << getValue().convertToDouble() << " pads integers; only 0 does";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Every name of the index. Asked before operands are counted.
static SmallVector<StringRef> namesOfIndex(Operation *op, StringRef index) {
  SmallVector<StringRef> names = {index};
  Value result = op->getResult(0);
  bool isOfResult = getIdx(result).dimOf(index).has_value();
  for (Value operand : op->getOperands()) {
    StringRef own = isOfResult ? ownName(operand, result, index)
                               : ownName(result, operand, index);
    if (!own.empty() && !llvm::is_contained(names, own))
      names.push_back(own);
  }
  return names;
}

SmallVector<StringRef> ConcatOp::getWholeIndices() {
  return namesOfIndex(*this, getIndex());
}
SmallVector<StringRef> CutOp::getWholeIndices() {
  return namesOfIndex(*this, getIndex());
}
SmallVector<StringRef> PadOp::getWholeIndices() {
  return namesOfIndex(*this, getIndex());
}
SmallVector<StringRef> ConcatOp::getRowIndices() { return getWholeIndices(); }
SmallVector<StringRef> CutOp::getRowIndices() { return getWholeIndices(); }
SmallVector<StringRef> PadOp::getRowIndices() { return getWholeIndices(); }

Linearity ConcatOp::getLinearity() { return Linearity::Joint; }
Linearity CutOp::getLinearity() { return Linearity::Joint; }
Linearity PadOp::getLinearity() {
  return getValue().isZero() ? Linearity::Joint : Linearity::None;
}
bool ConcatOp::introducesIndices() { return true; }
bool CutOp::introducesIndices() { return true; }
bool PadOp::introducesIndices() { return true; }
bool ConcatOp::selects() { return true; }
bool CutOp::selects() { return true; }
bool PadOp::selects() { return false; }

static unsigned widthOfRuns(Operation *op) {
  return op->getNumOperands() ? integerWidth(op->getOperand(0)) : 0;
}
unsigned ConcatOp::getIntegerWidth(unsigned) { return widthOfRuns(*this); }
unsigned CutOp::getIntegerWidth(unsigned) { return widthOfRuns(*this); }
unsigned PadOp::getIntegerWidth(unsigned) { return widthOfRuns(*this); }

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

static RankedTensorType unplacedLike(Value value) {
  return withoutPlacement(cast<RankedTensorType>(value.getType()));
}

LogicalResult ConcatOp::buildAdjoint(OpBuilder &b, Value g,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> gradients) {
  int64_t from = 0;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (needed[i])
      gradients[i] =
          CutOp::create(b, getLoc(), unplacedLike(operand), ValueRange{g},
                        getIndexAttr(), b.getI64IntegerAttr(from));
    from += extentOf(operand, ownName(operand, getResult(), getIndex()));
  }
  return success();
}

LogicalResult CutOp::buildAdjoint(OpBuilder &b, Value g, ArrayRef<bool>,
                                  MutableArrayRef<Value> gradients) {
  gradients[0] =
      PadOp::create(b, getLoc(), unplacedLike(getOperand(0)), ValueRange{g},
                    getIndexAttr(), getFromAttr(), b.getF64FloatAttr(0));
  return success();
}

LogicalResult PadOp::buildAdjoint(OpBuilder &b, Value g, ArrayRef<bool>,
                                  MutableArrayRef<Value> gradients) {
  gradients[0] = CutOp::create(b, getLoc(), unplacedLike(getOperand(0)),
                               ValueRange{g}, getIndexAttr(), getBeforeAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// A row of the result, which is the index alone.
struct RunWriter {
  OpBuilder &b;
  Location loc;
  Value result;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  /// Sets `count` positions from `to` on to what `element(i)` gives.
  void write(int64_t to, int64_t count,
             llvm::function_ref<Value(Value position)> element) {
    if (count == 0)
      return;
    auto loop =
        scf::ForOp::create(b, loc, constant(0), constant(count), constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    Value at = arith::AddIOp::create(b, loc, i, constant(to));
    memref::StoreOp::create(b, loc, element(i), result, at);
  }
  void copy(Value source, int64_t from, int64_t to, int64_t count) {
    write(to, count, [&](Value i) -> Value {
      Value at = arith::AddIOp::create(b, loc, i, constant(from));
      return memref::LoadOp::create(b, loc, source, at);
    });
  }
};

int64_t lengthOf(Value row) {
  return cast<MemRefType>(row.getType()).getShape().front();
}

} // namespace

void ConcatOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                       llvm::function_ref<Value(StringRef)>, Value) {
  RunWriter row{b, getLoc(), result};
  int64_t to = 0;
  for (Value operand : operands) {
    row.copy(operand, 0, to, lengthOf(operand));
    to += lengthOf(operand);
  }
}

void CutOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                    llvm::function_ref<Value(StringRef)>, Value) {
  RunWriter{b, getLoc(), result}.copy(operands[0], int64_t(getFrom()), 0,
                                      lengthOf(result));
}

void PadOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                    llvm::function_ref<Value(StringRef)>, Value) {
  RunWriter row{b, getLoc(), result};
  Type type = cast<MemRefType>(result.getType()).getElementType();
  TypedAttr number =
      isa<FloatType>(type)
          ? TypedAttr(b.getFloatAttr(type, getValue().convertToDouble()))
          : TypedAttr(b.getIntegerAttr(type, 0));
  Value filling = arith::ConstantOp::create(b, getLoc(), number);
  int64_t before = int64_t(getBefore()), own = lengthOf(operands[0]);
  auto fill = [&](Value) { return filling; };
  row.write(0, before, fill);
  row.copy(operands[0], 0, before, own);
  row.write(before + own, lengthOf(result) - before - own, fill);
}
