// The function of an operation that is an algorithm on rows.
#include "tpsp/Passes/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

class RowKernelEmitter {
public:
  RowKernelEmitter(RowKernelOpInterface op, StringRef name, Operation *before)
      : op(op), b(before), loc(op.getLoc()), name(name) {}

  Kernel emit() {
    kernel.inputs.assign(op->operand_begin(), op->operand_end());
    kernel.outputs.push_back(op->getResult(0));
    chooseGrid();
    findPositions();
    createFunction();
    if (inRanges) {
      emitItem(begin);
    } else {
      auto loop = scf::ForOp::create(b, loc, begin, end, constant(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      emitItem(loop.getInductionVar());
    }
    func::ReturnOp::create(b, loc);
    return std::move(kernel);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  void chooseGrid() {
    SmallVector<StringRef> names = gridIndices(op);
    StringRef range = op.getRangeIndex();
    for (const LoopIndex &index : loopIndices(op->getResult(0).getType())) {
      if (llvm::is_contained(names, index.name.getValue())) {
        grid.push_back(index);
        kernel.grid *= index.extent;
      }
      if (index.name.getValue() == range)
        rangeIndex = index;
    }
    inRanges = kernel.grid == 1 && !range.empty();
    if (inRanges)
      kernel.grid = rangeIndex.extent;
  }

  /// Sharded indices: the row may ask where any of them starts.
  void findPositions() {
    SmallVector<Type> types(op->getOperandTypes());
    types.push_back(op->getResult(0).getType());
    for (Type type : types)
      for (const LoopIndex &index : loopIndices(type))
        if (!index.axes.empty() &&
            llvm::is_contained(op.getRowIndices(), index.name.getValue()) &&
            !llvm::is_contained(kernel.positions, index))
          kernel.positions.push_back(index);
  }

  void createFunction() {
    SmallVector<Type> types;
    for (Value value : llvm::concat<Value>(kernel.inputs, kernel.outputs)) {
      auto tensor = cast<RankedTensorType>(value.getType());
      types.push_back(
          MemRefType::get(tensor.getShape(), tensor.getElementType()));
    }
    unsigned buffers = types.size();
    types.append(kernel.positions.size() + 2, b.getIndexType());
    kernel.function =
        func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    kernel.function.setPrivate();
    for (unsigned i = 0; i < buffers; ++i)
      kernel.function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                                 b.getUnitAttr());
    Block *body = kernel.function.addEntryBlock();
    b.setInsertionPointToStart(body);
    memory = body->getArguments().take_front(buffers);
    for (auto [index, argument] :
         llvm::zip(kernel.positions, body->getArguments().drop_front(buffers)))
      start[index.name.getValue()] = argument;
    begin = body->getArgument(types.size() - 2);
    end = body->getArgument(types.size() - 1);
    if (int64_t size = op.getScratch())
      scratch = memref::AllocaOp::create(
          b, loc, MemRefType::get({size}, b.getI32Type()));
  }

  void emitItem(Value item) {
    decode(item);
    SmallVector<Value> rows;
    for (auto [value, argument] : llvm::zip_equal(
             llvm::concat<Value>(kernel.inputs, kernel.outputs), memory))
      rows.push_back(rowOf(value.getType(), argument));
    Value result = rows.pop_back_val();
    auto startOf = [&](StringRef name) -> Value {
      auto it = start.find(name);
      return it != start.end() ? it->second : constant(0);
    };
    op.emitRow(b, rows, result, startOf, scratch);
  }

  void decode(Value item) {
    coordinate.clear();
    if (inRanges)
      item = constant(0);
    for (const LoopIndex &index : llvm::reverse(grid)) {
      Value extent = constant(index.extent);
      coordinate[index.name] = arith::RemUIOp::create(b, loc, item, extent);
      item = arith::DivUIOp::create(b, loc, item, extent);
    }
  }

  /// The part of a tensor in memory that belongs to the work item.
  Value rowOf(Type tensor, Value source) {
    auto type = cast<MemRefType>(source.getType());
    SmallVector<OpFoldResult> offsets, sizes;
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (const LoopIndex &index : loopIndices(tensor)) {
      if (Value at = coordinate.lookup(index.name)) {
        offsets.push_back(at);
        sizes.push_back(b.getIndexAttr(1));
        continue;
      }
      bool ranged = inRanges && index == rangeIndex;
      if (ranged) {
        offsets.push_back(begin);
        sizes.push_back(arith::SubIOp::create(b, loc, end, begin).getResult());
      } else {
        offsets.push_back(b.getIndexAttr(0));
        sizes.push_back(b.getIndexAttr(index.extent));
      }
      shape.push_back(ranged ? ShapedType::kDynamic : index.extent);
    }
    auto row = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        shape, type, offsets, sizes, strides));
    return memref::SubViewOp::create(b, loc, row, source, offsets, sizes,
                                     strides);
  }

  RowKernelOpInterface op;
  OpBuilder b;
  Location loc;
  StringRef name;
  Kernel kernel;

  SmallVector<LoopIndex> grid;
  bool inRanges = false;
  LoopIndex rangeIndex;

  ValueRange memory;
  Value begin, end, scratch;
  llvm::DenseMap<StringAttr, Value> coordinate;
  llvm::DenseMap<StringRef, Value> start;
};

} // namespace

Kernel tpsp::emitRowKernel(RowKernelOpInterface op, StringRef name,
                           Operation *insertBefore) {
  return RowKernelEmitter(op, name, insertBefore).emit();
}
