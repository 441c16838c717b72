//===- RunRows.cpp - work items along one index
//----------------------------===//
//
// concat, cut, pad and delay write runs of positions; scan and cumsum carry a
// state from one position to the next.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "RunWriter.h"

#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

using Start = llvm::function_ref<Value(StringRef)>;

/// The result's last index if it is not among `names`, else empty. Neighbours
/// along it are neighbours in memory, and independent.
static StringRef innermostBut(Operation *op, ArrayRef<StringRef> names) {
  StringRef last = indexNames(op->getResult(0).getType()).back();
  return llvm::is_contained(names, last) ? StringRef() : last;
}

namespace {

/// Model whose row is the whole index and a block of the innermost other index.
template <typename Model, typename Op>
struct RowAlongIndex : RowKernelOpInterface::ExternalModel<Model, Op> {
  SmallVector<StringRef> getRowIndices(Operation *op) const {
    SmallVector<StringRef> row = cast<Op>(op).getWholeIndices();
    if (StringRef inner = innermostBut(op, row); !inner.empty())
      row.push_back(inner);
    return row;
  }
  StringRef getBlockIndex(Operation *op) const {
    return innermostBut(op, cast<Op>(op).getWholeIndices());
  }
};

struct ConcatRows : RowAlongIndex<ConcatRows, ConcatOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<ConcatOp>(self);
    RunWriter row(b, cast<RowKernelOpInterface>(self), op.getIndex(), operands,
                  result);
    int64_t to = 0;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      StringRef own = ownName(operand, op.getResult(), op.getIndex());
      int64_t end = to + extentOf(operand, own);
      row.copy(i, own, 0, to, end);
      to = end;
    }
  }
};

struct CutRows : RowAlongIndex<CutRows, CutOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<CutOp>(self);
    StringRef own = ownName(op.getResult(), op.getOperand(0), op.getIndex());
    RunWriter(b, cast<RowKernelOpInterface>(self), own, operands, result)
        .copy(0, op.getIndex(), int64_t(op.getFrom()), 0,
              extentOf(op.getResult(), own));
  }
};

struct PadRows : RowAlongIndex<PadRows, PadOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<PadOp>(self);
    RunWriter row(b, cast<RowKernelOpInterface>(self), op.getIndex(), operands,
                  result);
    StringRef own = ownName(op.getOperand(0), op.getResult(), op.getIndex());
    int64_t first = int64_t(op.getBefore()),
            last = first + extentOf(op.getOperand(0), own);
    double number = op.getValue().convertToDouble();
    row.fill(0, first, number);
    row.copy(0, own, 0, first, last);
    row.fill(last, extentOf(op.getResult(), op.getIndex()), number);
  }
};

struct DelayRows : RowAlongIndex<DelayRows, DelayOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<DelayOp>(self);
    RunWriter row(b, cast<RowKernelOpInterface>(self), op.getIndex(), operands,
                  result);
    int64_t by = op.getPositions(),
            length = extentOf(op.getResult(), op.getIndex());
    int64_t first = std::max<int64_t>(by, 0),
            last = length + std::min<int64_t>(by, 0);
    row.fill(0, first, 0);
    row.copy(0, op.getIndex(), first - by, first, last);
    row.fill(last, length, 0);
  }
};

/// Model whose work item computes y = a y + x along the index, for a block of
/// the innermost other index at once. The optional second operand is a; without
/// it a is 1.
template <typename Model, typename Op>
struct Recurrence : RowAlongIndex<Model, Op> {
  /// A state for each element of a block.
  MemRefType getScratch(Operation *op, int64_t block) const {
    return MemRefType::get({block},
                           RowLoops::sumType(op->getResult(0).getType()));
  }

  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value states) const {
    auto op = cast<Op>(self);
    Location loc = op.getLoc();
    RowLoops row(b, cast<RowKernelOpInterface>(self));
    Type type = op.getResult().getType();
    auto forBlock = [&](llvm::function_ref<void(Value element)> body) {
      row.forEach(type, result, this->getBlockIndex(self), body);
    };
    auto load = [&](unsigned i) {
      return row.loadWide(op->getOperand(i).getType(), operands[i]);
    };
    forBlock([&](Value element) {
      TypedAttr zero = b.getZeroAttr(RowLoops::sumType(type));
      Value none = arith::ConstantOp::create(b, loc, zero);
      memref::StoreOp::create(b, loc, none, states, element);
    });
    OpBuilder::InsertionGuard guard(b);
    int64_t length = extentOf(op.getResult(), op.getIndex());
    Value step = row.loop(row.constant(0), row.constant(length));
    row.at[op.getIndex()] =
        op.getReverse() ? row.subtract(row.constant(length - 1), step) : step;
    forBlock([&](Value element) {
      Value state = memref::LoadOp::create(b, loc, states, element);
      if (operands.size() > 1)
        state = multiplyTerm(b, loc, state, load(1));
      state = addTerm(b, loc, state, load(0));
      memref::StoreOp::create(b, loc, state, states, element);
      row.storeNarrow(state, type, result);
    });
  }
};

struct ScanRows : Recurrence<ScanRows, ScanOp> {};
struct CumsumRows : Recurrence<CumsumRows, CumsumOp> {};

} // namespace

void tpsp::attachRunRows(MLIRContext &context) {
  ConcatOp::attachInterface<ConcatRows>(context);
  CutOp::attachInterface<CutRows>(context);
  PadOp::attachInterface<PadRows>(context);
  DelayOp::attachInterface<DelayRows>(context);
  ScanOp::attachInterface<ScanRows>(context);
  CumsumOp::attachInterface<CumsumRows>(context);
}
