// The kernel of an operation that copies blocks along an index.
#include "Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// The shape [outer, block, row, element] of the tensor that carries the block
/// index.
struct BlockShape {
  int64_t outer = 1, rows = 1, row = 1;

  BlockShape(RankedTensorType type, unsigned dim) {
    ArrayRef<int64_t> shape = type.getShape();
    for (int64_t extent : shape.take_front(dim))
      outer *= extent;
    // The first index after the block index is taken as rows, so that there are
    // enough of them if the block index is outermost.
    ArrayRef<int64_t> behind = shape.drop_front(dim + 1);
    if (behind.size() > 1) {
      rows = behind.front();
      behind = behind.drop_front();
    }
    for (int64_t extent : behind)
      row *= extent;
  }

  MemRefType memrefOf(Type element, int64_t blocks) const {
    return MemRefType::get({outer, blocks, rows, row}, element);
  }
};

class Emitter {
public:
  Emitter(BlockCopyOpInterface op, Operation *before)
      : op(op), b(before), loc(op->getLoc()) {}

  BlockCopyKernel emit(StringRef name) {
    chooseShape();
    Block *body = createFunction(name);
    b.setInsertionPointToStart(body);
    unsigned last = body->getNumArguments() - 1;
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    auto loop = scf::ForOp::create(b, loc, body->getArgument(last - 1),
                                   body->getArgument(last), one);
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(loop.getBody());
    copyItem(body->getArguments(), loop.getInductionVar());
    return std::move(kernel);
  }

private:
  int64_t blocksOf(Value tensor) {
    std::optional<unsigned> dim = getIdx(tensor).dimOf(op.getBlockIndex());
    auto type = cast<RankedTensorType>(tensor.getType());
    return dim ? type.getDimSize(*dim) : 1;
  }

  void chooseShape() {
    SmallVector<Value> tensors(op->getOperands());
    tensors.push_back(op->getResult(0));
    Value carrier = *llvm::find_if(tensors, [&](Value tensor) {
      return getIdx(tensor).dimOf(op.getBlockIndex()).has_value();
    });
    auto type = cast<RankedTensorType>(carrier.getType());
    BlockShape shape(type, *getIdx(carrier).dimOf(op.getBlockIndex()));
    for (Value operand : op->getOperands())
      kernel.inputs.push_back(
          shape.memrefOf(type.getElementType(), blocksOf(operand)));
    kernel.output =
        shape.memrefOf(type.getElementType(), blocksOf(op->getResult(0)));
    kernel.grid = shape.outer * shape.rows;
  }

  Block *createFunction(StringRef name) {
    SmallVector<Type> types(kernel.inputs.begin(), kernel.inputs.end());
    types.push_back(kernel.output);
    kernel.function =
        createKernelFunction(b, loc, name, types, /*positions=*/0);
    return kernel.function.addEntryBlock();
  }

  void copyItem(ValueRange buffers, Value item) {
    Value rows =
        arith::ConstantIndexOp::create(b, loc, kernel.output.getDimSize(2));
    Value outer = arith::DivUIOp::create(b, loc, item, rows);
    Value row = arith::RemUIOp::create(b, loc, item, rows);
    Value target = buffers[kernel.inputs.size()];
    for (const BlockCopy &copy : op.getBlockCopies()) {
      Value from = rowOf(buffers[copy.operand], outer, copy.from, row);
      Value to = rowOf(target, outer, copy.to, row);
      linalg::CopyOp::create(b, loc, from, to);
    }
  }

  Value rowOf(Value buffer, Value outer, int64_t block, Value row) {
    int64_t extent = kernel.output.getDimSize(3);
    OpFoldResult one = b.getIndexAttr(1);
    return createSlice(b, loc, buffer,
                       {outer, b.getIndexAttr(block), row, b.getIndexAttr(0)},
                       {one, one, one, b.getIndexAttr(extent)}, {extent});
  }

  BlockCopyOpInterface op;
  OpBuilder b;
  Location loc;
  BlockCopyKernel kernel;
};

} // namespace

BlockCopyKernel tpsp::emitBlockCopy(BlockCopyOpInterface op, StringRef name,
                                    Operation *insertBefore) {
  return Emitter(op, insertBefore).emit(name);
}
