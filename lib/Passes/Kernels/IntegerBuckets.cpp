// External models of operations that sort integers into buckets.
#include "KernelModels.h"
#include "RowLoops.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"

using namespace mlir;
using namespace tpsp;

using Start = llvm::function_ref<Value(StringRef)>;

/// How many values of the block are smaller than `value`, by their counts.
static Value countSmaller(RowLoops &row, CountEarlierOp op, Value load,
                          Value value) {
  Type type = op.getOperand(1).getType();
  StringRef minor = op.valueIndices().back();
  Value values = row.extent(type, load, minor);
  if (op.valueIndices().size() > 1)
    row.at[op.valueIndices().front()] =
        arith::DivUIOp::create(row.b, row.loc, value, values);
  Value end = arith::RemUIOp::create(row.b, row.loc, value, values);
  auto addCount = [&](Value smaller, ValueRange sum) -> RowLoops::Values {
    row.at[minor] = smaller;
    return {row.add(sum[0], row.load(type, load))};
  };
  return row.carry(row.constant(0), end, row.i32(0), addCount).front();
}

namespace {

struct OneHotBuckets
    : BucketKernelOpInterface::ExternalModel<OneHotBuckets, OneHotEinsumOp> {
  /// For every place its first term, and for every term the next one of the
  /// same place; -1 if there is none. A term's number is its position along
  /// `terms`, the last index fastest.
  SmallVector<RankedTensorType> getBucketTypes(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    SmallVector<StringRef> heads, links;
    SmallVector<Value> ids = op.targetIds();
    for (StringRef name : indexNames(op.getResult().getType()))
      if (llvm::any_of(ids, [&](Value each) {
            return getIdx(each).dimOf(name).has_value();
          }))
        heads.push_back(name);
    links = heads;
    llvm::append_range(heads, op.targets());
    llvm::append_range(links, op.terms());
    SmallVector<RankedTensorType> sources = {typeOf(op.getResult())};
    for (Value operand : op.getOperands())
      sources.push_back(typeOf(operand));
    Type i32 = IntegerType::get(op.getContext(), 32);
    return {tensorOver(heads, sources).clone(i32),
            tensorOver(links, sources).clone(i32)};
  }

  SmallVector<StringRef> getBucketIndices(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    SmallVector<StringRef> names = op.targets();
    llvm::append_range(names, op.terms());
    return names;
  }

  bool hasBuckets(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    return !op.targets().empty();
  }

  int64_t getBuckets(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    return positionsAlong(getBucketTypes(self).front(), op.targets());
  }

  void emitBuckets(Operation *self, OpBuilder &b, ValueRange integers,
                   ValueRange made, Start start, Value first, Value last,
                   Value) const {
    auto op = cast<OneHotEinsumOp>(self);
    OpBuilder::InsertionGuard guard(b);
    RowLoops row(b, cast<BucketKernelOpInterface>(op.getOperation()));
    SmallVector<RankedTensorType> types = getBucketTypes(self);
    Value heads = made[0], links = made[1];
    SmallVector<StringRef> places = op.targets();
    ArrayRef<int64_t> extents = cast<MemRefType>(heads.getType()).getShape();
    {
      OpBuilder::InsertionGuard inLoop(b);
      row.locate(row.loop(first, last), places, extents);
      row.store(row.i32(-1), types[0], heads);
    }
    // Terms are visited from the last to the first: each is put before the
    // others.
    Value term = row.constant(0);
    for (StringRef name : op.terms()) {
      Value extent = row.extent(types[1], links, name);
      Value passed = row.loop(row.constant(0), extent);
      row.at[name] =
          row.subtract(row.subtract(extent, row.constant(1)), passed);
      term = row.add(row.multiply(term, extent), row.at[name]);
    }
    Value isPlace, bucket = row.constant(0);
    for (auto [name, extent, ids] :
         llvm::zip_equal(places, extents, op.targetIds())) {
      auto number =
          llvm::find(op.getOperands(), ids) - op.getOperands().begin();
      Value id = row.asIndex(row.load(ids.getType(), integers[number]));
      row.at[name] = row.subtract(id, start(name));
      Value size = row.constant(extent);
      isPlace = row.both(isPlace, row.isBelow(row.at[name], size));
      bucket = row.add(row.multiply(bucket, size), row.at[name]);
    }
    Value isOurs =
        row.isBelow(row.subtract(bucket, first), row.subtract(last, first));
    row.onlyIf(row.both(isPlace, isOurs));
    row.store(row.load(types[0], heads), types[1], links);
    row.store(row.asI32(term), types[0], heads);
  }
};

struct EarlierBuckets
    : BucketKernelOpInterface::ExternalModel<EarlierBuckets, CountEarlierOp> {
  int64_t getBuckets(Operation *self) const {
    auto op = cast<CountEarlierOp>(self);
    return op.getValues();
  }

  SmallVector<RankedTensorType> getBucketTypes(Operation *self) const {
    auto op = cast<CountEarlierOp>(self);
    return {typeOf(op.getResult())};
  }

  SmallVector<StringRef> getBucketIndices(Operation *self) const {
    auto op = cast<CountEarlierOp>(self);
    return op.getWholeIndices();
  }

  bool needsBucketScratch(Operation *) const { return true; }

  void emitBuckets(Operation *self, OpBuilder &b, ValueRange integers,
                   ValueRange made, Start, Value first, Value last,
                   Value counts) const {
    auto op = cast<CountEarlierOp>(self);
    OpBuilder::InsertionGuard guard(b);
    RowLoops row(b, cast<BucketKernelOpInterface>(op.getOperation()));
    Type ids = op.getOperand(0).getType();
    {
      OpBuilder::InsertionGuard inLoop(b);
      Value value = row.loop(first, last);
      Value count = op.getNumOperands() > 1
                        ? countSmaller(row, op, integers[1], value)
                        : row.i32(0);
      memref::StoreOp::create(b, op.getLoc(), count, counts,
                              row.subtract(value, first));
    }
    // An integer that is not a value belongs to the first bucket's range.
    Value isFirst = arith::CmpIOp::create(
        b, op.getLoc(), arith::CmpIPredicate::eq, first, row.constant(0));
    for (StringRef name : op.countedIndices())
      row.loop(name, row.extent(ids, integers[0], name));
    Value id = row.asIndex(row.load(ids, integers[0]));
    {
      OpBuilder::InsertionGuard inside(b);
      Value isOther =
          arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::uge, id,
                                row.constant(op.getValues()));
      row.onlyIf(row.both(isOther, isFirst));
      row.store(row.i32(-1), op.getResult().getType(), made[0]);
    }
    Value bucket = row.subtract(id, first);
    row.onlyIf(row.isBelow(bucket, row.subtract(last, first)));
    Value count = memref::LoadOp::create(b, op.getLoc(), counts, bucket);
    row.store(count, op.getResult().getType(), made[0]);
    memref::StoreOp::create(b, op.getLoc(), row.add(count, row.i32(1)), counts,
                            bucket);
  }
};

struct ValueBuckets
    : BucketKernelOpInterface::ExternalModel<ValueBuckets, CountValuesOp> {
  int64_t getBuckets(Operation *self) const {
    auto op = cast<CountValuesOp>(self);
    return positionsAlong(op.getResult().getType(), op.valueIndices());
  }

  SmallVector<RankedTensorType> getBucketTypes(Operation *self) const {
    auto op = cast<CountValuesOp>(self);
    return {typeOf(op.getResult())};
  }

  SmallVector<StringRef> getBucketIndices(Operation *self) const {
    auto op = cast<CountValuesOp>(self);
    SmallVector<StringRef> names = op.countedIndices();
    llvm::append_range(names, op.valueIndices());
    return names;
  }

  void emitBuckets(Operation *self, OpBuilder &b, ValueRange integers,
                   ValueRange made, Start start, Value first, Value last,
                   Value) const {
    auto op = cast<CountValuesOp>(self);
    OpBuilder::InsertionGuard guard(b);
    RowLoops row(b, cast<BucketKernelOpInterface>(op.getOperation()));
    Type ids = op.getOperand(0).getType(), result = op.getResult().getType();
    SmallVector<StringRef> names = op.valueIndices();
    SmallVector<int64_t> extents;
    for (StringRef name : names)
      extents.push_back(extentOf(result, name));
    {
      OpBuilder::InsertionGuard inLoop(b);
      row.locate(row.loop(first, last), names, extents);
      row.store(row.i32(0), result, made[0]);
    }
    for (StringRef name : op.countedIndices())
      row.loop(name, row.extent(ids, integers[0], name));
    // Positions are counted from this rank's first block.
    Value before = start(names.front());
    for (int64_t extent : ArrayRef(extents).drop_front())
      before = row.multiply(before, row.constant(extent));
    Value id = row.asIndex(row.load(ids, integers[0]));
    Value value = row.subtract(id, before);
    row.onlyIf(
        row.isBelow(row.subtract(value, first), row.subtract(last, first)));
    row.locate(value, names, extents);
    Value count = row.load(result, made[0]);
    row.store(row.add(count, row.i32(1)), result, made[0]);
  }
};

} // namespace

void tpsp::attachIntegerBuckets(MLIRContext &context) {
  OneHotEinsumOp::attachInterface<OneHotBuckets>(context);
  CountEarlierOp::attachInterface<EarlierBuckets>(context);
  CountValuesOp::attachInterface<ValueBuckets>(context);
}
