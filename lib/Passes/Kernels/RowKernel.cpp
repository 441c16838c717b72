// Emits the functions of operations that are algorithms on rows, or that sort
// into buckets.
#include "Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// Extents of a block of a row. A block has at most as many elements as a warp
/// of a GPU can process at once. It has enough of them that finding the row
/// does not take longer than processing it.
static constexpr int64_t mostOfBlock = 128;
static constexpr int64_t leastOfBlock = 32;

/// The largest block that divides `extent`, or all of it.
static int64_t blockOf(int64_t extent) {
  for (int64_t block = mostOfBlock; block >= leastOfBlock; --block)
    if (extent % block == 0)
      return block;
  return extent;
}

namespace {

/// Builds a function on tensors in memory, whose work items see parts of them.
class ItemFunction {
public:
  ItemFunction(Location loc, ValueRange inputs, StringRef name,
               Operation *before)
      : b(before), loc(loc), name(name) {
    kernel.inputs.assign(inputs.begin(), inputs.end());
    llvm::append_range(tensors, inputs.getTypes());
  }

protected:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  /// Sets the grid: the indices of `tensor` that are among `names`.
  void setGrid(Type tensor, ArrayRef<StringRef> names) {
    for (const LoopIndex &index : loopIndices(tensor))
      if (llvm::is_contained(names, index.name.getValue())) {
        grid.push_back(index);
        kernel.grid *= index.extent;
      }
  }

  /// Records sharded indices among `names`, whose start an item may ask for.
  void findPositions(ArrayRef<StringRef> names) {
    for (Type type : tensors)
      for (const LoopIndex &index : loopIndices(type))
        if (!index.axes.empty() &&
            llvm::is_contained(names, index.name.getValue()) &&
            !llvm::is_contained(kernel.positions, index))
          kernel.positions.push_back(index);
  }

  void createFunction() {
    SmallVector<Type> buffers(llvm::map_range(tensors, memrefOf));
    kernel.function =
        createKernelFunction(b, loc, name, buffers, kernel.positions.size());
    Block *body = kernel.function.addEntryBlock();
    b.setInsertionPointToStart(body);
    memory = body->getArguments().take_front(tensors.size());
    for (auto [index, argument] : llvm::zip(
             kernel.positions, body->getArguments().drop_front(tensors.size())))
      start[index.name.getValue()] = argument;
    begin = body->getArguments().drop_back().back();
    end = body->getArguments().back();
  }

  Value startOf(StringRef index) {
    auto it = start.find(index);
    return it != start.end() ? it->second : constant(0);
  }

  /// Computes the coordinates of `point` along the grid's indices, the last
  /// fastest.
  void decode(Value point) {
    for (const LoopIndex &index : llvm::reverse(grid)) {
      Value extent = constant(index.extent);
      coordinate[index.name] = arith::RemUIOp::create(b, loc, point, extent);
      point = arith::DivUIOp::create(b, loc, point, extent);
    }
  }

  /// The parts of the tensors at the current point.
  SmallVector<Value> rows() {
    SmallVector<Value> parts;
    for (auto [type, source] : llvm::zip_equal(tensors, memory))
      parts.push_back(rowOf(type, source));
    return parts;
  }

  OpBuilder b;
  Location loc;
  Kernel kernel;
  /// The function's buffers: operands, then results.
  SmallVector<Type> tensors;
  Value begin, end;
  /// The index that is cut into blocks, and the start of the item's block.
  LoopIndex blocked;
  int64_t block = 0;
  Value firstOfBlock;

private:
  Value rowOf(Type tensor, Value source) {
    SmallVector<OpFoldResult> offsets, sizes;
    SmallVector<int64_t> shape;
    for (const LoopIndex &index : loopIndices(tensor)) {
      if (Value at = coordinate.lookup(index.name)) {
        offsets.push_back(at);
        sizes.push_back(b.getIndexAttr(1));
        continue;
      }
      bool isBlocked = block && index == blocked;
      shape.push_back(isBlocked ? block : index.extent);
      offsets.push_back(isBlocked ? OpFoldResult(firstOfBlock)
                                  : OpFoldResult(b.getIndexAttr(0)));
      sizes.push_back(b.getIndexAttr(shape.back()));
    }
    return createSlice(b, loc, source, offsets, sizes, shape);
  }

  StringRef name;
  SmallVector<LoopIndex> grid;
  ValueRange memory;
  llvm::DenseMap<StringAttr, Value> coordinate;
  llvm::DenseMap<StringRef, Value> start;
};

class RowFunction : ItemFunction {
public:
  RowFunction(RowKernelOpInterface op, StringRef name, Operation *before)
      : ItemFunction(op.getLoc(), op->getOperands(), name, before), op(op) {}

  Kernel emit() {
    if (auto buckets = dyn_cast<BucketKernelOpInterface>(*op);
        buckets && buckets.hasBuckets())
      llvm::append_range(tensors, buckets.getBucketTypes());
    Type result = op->getResult(0).getType();
    tensors.push_back(result);
    kernel.outputs.push_back(op->getResult(0));
    setGrid(result, gridIndices(op));
    chooseBlock(result);
    findPositions(op.getRowIndices());
    createFunction();
    Value scratch;
    if (MemRefType type = op.getScratch(block ? block : 1))
      scratch = memref::AllocaOp::create(b, loc, type);
    auto loop = scf::ForOp::create(b, loc, begin, end, constant(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      emitItem(loop.getInductionVar(), scratch);
    }
    func::ReturnOp::create(b, loc);
    return std::move(kernel);
  }

private:
  void chooseBlock(Type result) {
    StringRef name = op.getBlockIndex();
    for (const LoopIndex &index : loopIndices(result))
      if (index.name.getValue() == name) {
        blocked = index;
        block = blockOf(index.extent);
        kernel.grid *= index.extent / block;
      }
  }

  void emitItem(Value item, Value scratch) {
    if (block) {
      Value blocks = constant(blocked.extent / block);
      Value number = arith::RemUIOp::create(b, loc, item, blocks);
      firstOfBlock = arith::MulIOp::create(b, loc, number, constant(block));
      item = arith::DivUIOp::create(b, loc, item, blocks);
    }
    decode(item);
    SmallVector<Value> parts = rows();
    Value result = parts.pop_back_val();
    op.emitRow(
        b, parts, result, [&](StringRef index) { return startOf(index); },
        scratch);
  }

  RowKernelOpInterface op;
};

class BucketFunction : ItemFunction {
public:
  BucketFunction(BucketKernelOpInterface op, StringRef name, Operation *before)
      : ItemFunction(op.getLoc(), integersOf(op), name, before), op(op),
        buckets(op.getBuckets()) {}

  Kernel emit() {
    SmallVector<RankedTensorType> made = op.getBucketTypes();
    llvm::append_range(tensors, made);
    setGrid(made.front(), gridIndices(op));
    int64_t points = kernel.grid;
    kernel.grid *= buckets;
    findPositions(op.getBucketIndices());
    createFunction();
    allocateScratch();
    // The points that contain some of the buckets.
    Value ofPoint = constant(buckets);
    Value first = arith::DivUIOp::create(b, loc, begin, ofPoint);
    Value last = arith::CeilDivUIOp::create(b, loc, end, ofPoint);
    auto loop = scf::ForOp::create(b, loc, first, last, constant(1));
    loop->setAttr(tripsAttrName, b.getF64FloatAttr(double(points)));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      emitPoint(loop.getInductionVar(), ofPoint);
    }
    func::ReturnOp::create(b, loc);
    return std::move(kernel);
  }

private:
  static SmallVector<Value> integersOf(Operation *op) {
    return llvm::filter_to_vector(op->getOperands(), [](Value operand) {
      return getElementTypeOrSelf(operand).isInteger();
    });
  }

  /// As long as the range, but at most the number of buckets at a point.
  void allocateScratch() {
    if (!op.needsBucketScratch())
      return;
    Value size = arith::SubIOp::create(b, loc, end, begin);
    size = arith::MinUIOp::create(b, loc, size, constant(buckets));
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
    scratch = memref::AllocaOp::create(b, loc, type, size);
  }

  void emitPoint(Value point, Value ofPoint) {
    decode(point);
    Value before = arith::MulIOp::create(b, loc, point, ofPoint);
    auto within = [&](Value bucket) -> Value {
      Value number = arith::SubIOp::create(b, loc, bucket, before);
      number = arith::MaxSIOp::create(b, loc, number, constant(0));
      return arith::MinSIOp::create(b, loc, number, ofPoint);
    };
    Value first = within(begin), last = within(end);
    SmallVector<Value> parts = rows();
    size_t operands = kernel.inputs.size();
    op.emitBuckets(
        b, ArrayRef(parts).take_front(operands),
        ArrayRef(parts).drop_front(operands),
        [&](StringRef index) { return startOf(index); }, first, last, scratch);
  }

  BucketKernelOpInterface op;
  /// The number of buckets at one point.
  int64_t buckets;
  Value scratch;
};

} // namespace

Kernel tpsp::emitRowKernel(RowKernelOpInterface op, StringRef name,
                           Operation *insertBefore) {
  return RowFunction(op, name, insertBefore).emit();
}

Kernel tpsp::emitBucketKernel(BucketKernelOpInterface op, StringRef name,
                              Operation *insertBefore) {
  return BucketFunction(op, name, insertBefore).emit();
}
