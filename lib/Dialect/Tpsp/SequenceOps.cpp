// scan, cumsum and delay: what they say of themselves, but for their shards.
#include "PartBuilder.h"
#include "RowLoops.h"
#include "VerifierRules.h"

#include "tpsp/Dialect/Tpsp/SequenceOps.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// (K1)
static LogicalResult verifyAlong(Operation *op, StringRef index) {
  if (failed(verifySameNames(op)))
    return failure();
  return verifyHasIndex(op, 0, index, "index");
}

/// (K2)
static LogicalResult verifyDecay(ScanOp op) {
  if (failed(verifyHasIndex(op, 1, op.getIndex(), "index")))
    return failure();
  for (StringRef name : indexNames(op.getOperand(1).getType()))
    if (!getIdx(op.getOperand(0)).dimOf(name))
      return op.emitOpError("has a decay of indices [")
             << subscripts(op.getOperand(1).getType()) << "], of which '"
             << name << "' is none of operand #0, ["
             << subscripts(op.getOperand(0).getType())
             << "]; broadcast that one first (tpsp.broadcast)";
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCount(*this, 2, 2)) ||
      failed(verifyAlong(*this, getIndex())))
    return failure();
  return verifyDecay(*this);
}

LogicalResult CumsumOp::verify() { // (K3)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifyAlong(*this, getIndex());
}

LogicalResult DelayOp::verify() { // (K3)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifyAlong(*this, getIndex());
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

Linearity CumsumOp::getLinearity() { return Linearity::Joint; }
Linearity DelayOp::getLinearity() { return Linearity::Joint; }

/// The result's last index if it is another than `index`: neighbours along it
/// are neighbours in memory, and independent.
static StringRef innermostBeside(Operation *op, StringRef index) {
  StringRef last = indexNames(op->getResult(0).getType()).back();
  return last == index ? StringRef() : last;
}

static int64_t lengthOf(Value tensor, StringRef index) {
  return cast<RankedTensorType>(tensor.getType())
      .getDimSize(*getIdx(tensor).dimOf(index));
}

int64_t DelayOp::getPositions() {
  int64_t length = lengthOf(getResult(), getIndex());
  return std::clamp(int64_t(getBy()), -length, length);
}

static SmallVector<StringRef> rowOfSequence(Operation *op, StringRef index) {
  SmallVector<StringRef> row = {index};
  if (StringRef inner = innermostBeside(op, index); !inner.empty())
    row.push_back(inner);
  return row;
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                   Gradients gradients) {
  // y[s] = a[s] y[s - 1] + x[s]:
  // dx[s] = g[s] + a[s + 1] dx[s + 1], da[s] = sum(dx[s] y[s - 1]).
  AdjointBuilder adjoint(b, getLoc());
  Value x = getOperand(0), a = getOperand(1);
  IntegerAttr before = b.getI64IntegerAttr(getReverse() ? -1 : 1),
              behind = b.getI64IntegerAttr(getReverse() ? 1 : -1);
  Value next = adjoint.map<DelayOp>(a, a, getIndexAttr(), behind);
  UnitAttr reverse = getReverse() ? UnitAttr() : b.getUnitAttr();
  Value dx = adjoint.map<ScanOp>(x, {g, next}, getIndexAttr(), reverse);
  gradients[0] = dx;
  if (needed[1]) {
    Value state = adjoint.map<DelayOp>(x, getResult(), getIndexAttr(), before);
    gradients[1] = adjoint.contract({dx, state}, a);
  }
  return success();
}

LogicalResult CumsumOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  UnitAttr reverse = getReverse() ? UnitAttr() : b.getUnitAttr();
  gradients[0] = adjoint.map<CumsumOp>(g, g, getIndexAttr(), reverse);
  return success();
}

LogicalResult DelayOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  gradients[0] = adjoint.map<DelayOp>(g, g, getIndexAttr(),
                                      b.getI64IntegerAttr(-getPositions()));
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// A work item: all positions of the index, and a block of the innermost other
/// index at each.
class SequenceRow {
public:
  SequenceRow(OpBuilder &b, RowKernelOpInterface op, StringRef index,
              ValueRange operands, Value result)
      : op(op), row(b, op.getLoc(), gridIndices(op)), index(index),
        operands(operands), result(result) {}

  /// y = a y + x, in `states`. A second operand is a; without one it is 1.
  void emitRecurrence(bool isReverse, Value states) {
    Type type = cast<MemRefType>(states.getType()).getElementType();
    forBlock([&](Value element) {
      Value zero =
          arith::ConstantOp::create(row.b, row.loc, row.b.getZeroAttr(type));
      memref::StoreOp::create(row.b, row.loc, zero, states, element);
    });
    OpBuilder::InsertionGuard guard(row.b);
    Value step = row.loop(row.constant(0), row.constant(length()));
    row.at[index] =
        isReverse ? row.subtract(row.constant(length() - 1), step) : step;
    forBlock([&](Value element) {
      Value state = memref::LoadOp::create(row.b, row.loc, states, element);
      if (operands.size() > 1)
        state = arith::MulFOp::create(row.b, row.loc, state, load(1));
      state = arith::AddFOp::create(row.b, row.loc, state, load(0));
      memref::StoreOp::create(row.b, row.loc, state, states, element);
      row.storeNarrow(state, op->getResult(0).getType(), result);
    });
  }

  void emitDelay(int64_t by) {
    Type type = cast<MemRefType>(result.getType()).getElementType();
    int64_t first = std::max<int64_t>(by, 0),
            last = length() + std::min<int64_t>(by, 0);
    auto fill = [&]() -> Value {
      return arith::ConstantOp::create(row.b, row.loc, row.b.getZeroAttr(type));
    };
    write(0, first, fill);
    write(first, last, [&]() -> Value {
      Value here = row.at[index];
      row.at[index] = row.add(here, row.constant(-by));
      Value value = row.load(op->getOperand(0).getType(), operands[0]);
      row.at[index] = here;
      return value;
    });
    write(last, length(), fill);
  }

private:
  /// Positions of the index.
  int64_t length() { return lengthOf(op->getResult(0), index); }
  Value load(unsigned operand) {
    return row.loadWide(op->getOperand(operand).getType(), operands[operand]);
  }
  void forBlock(llvm::function_ref<void(Value element)> body) {
    row.forEach(op->getResult(0).getType(), result, op.getBlockIndex(), body);
  }
  /// Stores `element()` at the positions from `first` to before `last`.
  void write(int64_t first, int64_t last, llvm::function_ref<Value()> element) {
    if (first == last)
      return;
    OpBuilder::InsertionGuard guard(row.b);
    row.at[index] = row.loop(row.constant(first), row.constant(last));
    forBlock([&](Value) {
      row.store(element(), op->getResult(0).getType(), result);
    });
  }

  RowKernelOpInterface op;
  RowLoops row;
  StringRef index;
  ValueRange operands;
  Value result;
};

} // namespace

/// A state for each element of a block.
static MemRefType statesOf(Value result, int64_t block) {
  return MemRefType::get({block}, RowLoops::sumType(result.getType()));
}

MemRefType ScanOp::getScratch(int64_t block) {
  return statesOf(getResult(), block);
}
MemRefType CumsumOp::getScratch(int64_t block) {
  return statesOf(getResult(), block);
}

void ScanOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                     llvm::function_ref<Value(StringRef)>, Value states) {
  SequenceRow(b, *this, getIndex(), operands, result)
      .emitRecurrence(getReverse(), states);
}

void CumsumOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                       llvm::function_ref<Value(StringRef)>, Value states) {
  SequenceRow(b, *this, getIndex(), operands, result)
      .emitRecurrence(getReverse(), states);
}

void DelayOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                      llvm::function_ref<Value(StringRef)>, Value) {
  SequenceRow(b, *this, getIndex(), operands, result).emitDelay(getPositions());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void TpspDialect::registerSequenceOps() {
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/SequenceOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/SequenceOps.cpp.inc"
