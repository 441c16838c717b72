// The work items of operations that are algorithms on rows.
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tpsp;

using Start = llvm::function_ref<Value(StringRef)>;

SmallVector<StringRef> tpsp::gridIndices(RowKernelOpInterface op) {
  SmallVector<StringRef> row = op.getRowIndices(), grid;
  for (StringRef name : indexNames(op->getResult(0).getType()))
    if (!llvm::is_contained(row, name))
      grid.push_back(name);
  return grid;
}

namespace {

/// Loops and element accesses by index name, for one work item.
class Row {
public:
  Row(OpBuilder &b, RowKernelOpInterface op)
      : b(b), loc(op.getLoc()), grid(gridIndices(op)) {}

  /// Names of the dimensions of a row of `tensor`.
  SmallVector<StringRef> namesOf(Value tensor) const {
    SmallVector<StringRef> names;
    for (StringRef name : indexNames(tensor.getType()))
      if (!llvm::is_contained(grid, name))
        names.push_back(name);
    return names;
  }

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  }

  /// The extent of `name`, a dimension of `row`, which is a row of `tensor`.
  Value extent(Value tensor, Value row, StringRef name) {
    SmallVector<StringRef> names = namesOf(tensor);
    auto dim = llvm::find(names, name) - names.begin();
    return memref::DimOp::create(b, loc, row, dim);
  }

  /// Opens a loop over `name`; what follows is inside it.
  void loop(StringRef name, Value extent) {
    auto each = scf::ForOp::create(b, loc, constant(0), extent, constant(1));
    at[name] = each.getInductionVar();
    b.setInsertionPointToStart(each.getBody());
  }

  SmallVector<Value> coordinates(Value tensor) {
    SmallVector<Value> all;
    for (StringRef name : namesOf(tensor))
      all.push_back(at.lookup(name));
    return all;
  }
  Value load(Value tensor, Value row) {
    return memref::LoadOp::create(b, loc, row, coordinates(tensor));
  }
  void store(Value value, Value tensor, Value row) {
    memref::StoreOp::create(b, loc, value, row, coordinates(tensor));
  }

  OpBuilder &b;
  Location loc;
  llvm::MapVector<StringRef, Value> at;

private:
  SmallVector<StringRef> grid;
};

} // namespace

/// Types of 16 bits are added in f32.
static Value sumOf(Row &row, Value x, Value y) {
  Type type = x.getType();
  if (type.getIntOrFloatBitWidth() > 16)
    return arith::AddFOp::create(row.b, row.loc, x, y);
  Type wide = row.b.getF32Type();
  auto widened = [&](Value value) {
    return arith::ExtFOp::create(row.b, row.loc, wide, value);
  };
  Value sum = arith::AddFOp::create(row.b, row.loc, widened(x), widened(y));
  return arith::TruncFOp::create(row.b, row.loc, type, sum);
}

void OneHotEinsumOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                             Start start, Value) {
  OpBuilder::InsertionGuard guard(b);
  Row row(b, cast<RowKernelOpInterface>(getOperation()));
  Location loc = getLoc();
  auto element = cast<MemRefType>(result.getType()).getElementType();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  linalg::FillOp::create(b, loc, zero, result);

  SmallVector<StringRef> chosen = selected();
  StringRef inner = innermost();
  for (auto [tensor, memory] : llvm::zip_equal(getOperands(), operands))
    for (StringRef name : row.namesOf(tensor))
      if (!llvm::is_contained(chosen, name) && name != inner &&
          !row.at.contains(name))
        row.loop(name, row.extent(tensor, memory, name));

  // Where the integers point, and whether this rank has all of it.
  Value everywhere;
  for (auto [name, ids, memory] :
       llvm::zip(chosen, getOperands().drop_back(), operands.drop_back())) {
    Value id = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                          row.load(ids, memory));
    Value at = arith::SubIOp::create(b, loc, id, start(name));
    bool isOnData = getIdx(data()).dimOf(name).has_value();
    Value extent = isOnData ? row.extent(data(), operands.back(), name)
                            : row.extent(getResult(), result, name);
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, extent);
    everywhere =
        everywhere ? arith::AndIOp::create(b, loc, everywhere, here) : here;
    row.at[name] = at;
  }
  auto inside = scf::IfOp::create(b, loc, everywhere, /*withElse=*/false);
  b.setInsertionPointToStart(inside.thenBlock());
  if (!inner.empty())
    row.loop(inner, row.extent(data(), operands.back(), inner));
  Value sum = sumOf(row, row.load(getResult(), result),
                    row.load(data(), operands.back()));
  row.store(sum, getResult(), result);
}

void RouterOp::emitRow(OpBuilder &b, ValueRange operands, Value result, Start,
                       Value) {
  // For each choice: the largest value that no earlier choice has taken.
  OpBuilder::InsertionGuard guard(b);
  Row row(b, cast<RowKernelOpInterface>(getOperation()));
  Location loc = getLoc();
  Value scores = getOperand(0), memory = operands[0];
  row.loop(getChoice(), row.extent(getResult(), result, getChoice()));
  Value choice = row.at[getChoice()];
  Value none = row.i32(-1);
  Value experts = row.extent(scores, memory, getExpert());
  auto element = cast<MemRefType>(memory.getType()).getElementType();
  Value first = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  auto search = scf::ForOp::create(
      b, loc, row.constant(0), experts, row.constant(1),
      ValueRange{none, first},
      [&](OpBuilder &inner, Location, Value expert, ValueRange best) {
        Value id =
            arith::IndexCastOp::create(inner, loc, inner.getI32Type(), expert);
        Value isFree =
            arith::ConstantIntOp::create(inner, loc, inner.getI1Type(), 1);
        auto taken = scf::ForOp::create(
            inner, loc, row.constant(0), choice, row.constant(1),
            ValueRange{isFree},
            [&](OpBuilder &in, Location, Value earlier, ValueRange free) {
              Value other =
                  memref::LoadOp::create(in, loc, result, ValueRange{earlier});
              Value differs = arith::CmpIOp::create(
                  in, loc, arith::CmpIPredicate::ne, other, id);
              Value both = arith::AndIOp::create(in, loc, free[0], differs);
              scf::YieldOp::create(in, loc, both);
            });
        Value score =
            memref::LoadOp::create(inner, loc, memory, ValueRange{expert});
        Value isFirst = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::eq, best[0], none);
        Value isLarger = arith::CmpFOp::create(
            inner, loc, arith::CmpFPredicate::OGT, score, best[1]);
        Value better = arith::OrIOp::create(inner, loc, isFirst, isLarger);
        better = arith::AndIOp::create(inner, loc, better, taken.getResult(0));
        Value bestId = arith::SelectOp::create(inner, loc, better, id, best[0]);
        Value bestScore =
            arith::SelectOp::create(inner, loc, better, score, best[1]);
        scf::YieldOp::create(inner, loc, ValueRange{bestId, bestScore});
      });
  memref::StoreOp::create(b, loc, search.getResult(0), result,
                          ValueRange{choice});
}

void CountEarlierOp::emitRow(OpBuilder &b, ValueRange operands, Value result,
                             Start, Value counts) {
  OpBuilder::InsertionGuard guard(b);
  Row row(b, cast<RowKernelOpInterface>(getOperation()));
  Location loc = getLoc();
  Value ids = getOperand(0), memory = operands[0];
  linalg::FillOp::create(b, loc, row.i32(0), counts);
  for (StringRef name : getWholeIndices())
    row.loop(name, row.extent(ids, memory, name));
  Value id = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                        row.load(ids, memory));
  row.store(row.i32(-1), getResult(), result);
  Value isKnown = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, id,
                                        row.constant(getValues()));
  auto known = scf::IfOp::create(b, loc, isKnown, /*withElse=*/false);
  b.setInsertionPointToStart(known.thenBlock());
  Value count = memref::LoadOp::create(b, loc, counts, ValueRange{id});
  row.store(count, getResult(), result);
  Value next = arith::AddIOp::create(b, loc, count, row.i32(1));
  memref::StoreOp::create(b, loc, next, counts, ValueRange{id});
}
