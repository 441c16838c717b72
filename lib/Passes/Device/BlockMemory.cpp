#include "BlockMemory.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

static int64_t aligned(int64_t bytes) {
  return llvm::alignTo(bytes, BlockMemory::alignment);
}

BlockMemory::BlockMemory(BlockShape &chosen, const ItemLoops &loops)
    : shape(chosen), loops(loops) {
  count();
  while (sharedBytes() > unasked && chosen.items > 1 &&
         chosen.threads() > warp) {
    chosen.items /= 2;
    count();
  }
  if (sharedBytes() > most && rowBytes > 0)
    keepOwn();
  while (!fits() && rowBytes <= most && chosen.threadsPerItem > warp) {
    chosen.threadsPerItem /= 2;
    if (own.empty())
      count();
    else
      keepOwn();
  }
}

/// Lets threads keep the elements that only they access.
void BlockMemory::keepOwn() {
  own.clear();
  for (memref::AllocaOp row : loops.rows)
    if (int64_t width = isShared(row) ? possibleWidth(row) : 0)
      own[row] = width;
  count();
}

void BlockMemory::count() {
  rowBytes = 0;
  for (memref::AllocaOp row : loops.rows)
    rowBytes += isShared(row) ? bytesOf(row) : 0;
  partialBytes = bytesOfPartials();
}

SmallVector<int64_t> BlockMemory::extentsOf(memref::AllocaOp row) const {
  SmallVector<int64_t> extents(row.getType().getShape());
  for (int64_t &extent : extents)
    extent = ShapedType::isDynamic(extent) ? shape.range : extent;
  return extents;
}

bool BlockMemory::isShared(memref::AllocaOp row) const {
  return shape.threadsPerItem > 1 && !own.contains(row) &&
         ShapedType::getNumElements(extentsOf(row)) > 1;
}

int64_t BlockMemory::bytesOf(memref::AllocaOp row) const {
  int64_t elements = ShapedType::getNumElements(extentsOf(row));
  return aligned(elements * shape.items *
                 row.getType().getElementTypeBitWidth() / 8);
}

/// Bytes of the memory through which partial sums are combined.
int64_t BlockMemory::bytesOfPartials() const {
  int64_t bytes = 0;
  for (const ItemStep &step : loops.steps) {
    if (step.operation || step.loop.sums.empty() || isSingle(shape, step.loop))
      continue;
    SumLayout layout = chooseSumLayout(shape, step.loop);
    if (layout.partials() == 1 && layout.across == 1)
      continue;
    for (unsigned number : step.loop.sums) {
      auto type = cast<MemRefType>(step.loop.output(number).getType());
      bytes += aligned(shape.items * layout.partials() * layout.points *
                       layout.across * type.getElementTypeBitWidth() / 8);
    }
  }
  return bytes;
}

/// If every thread reads only the elements of a row that it wrote: how many
/// neighbours it has at a time. Else 0.
int64_t BlockMemory::possibleWidth(memref::AllocaOp row) const {
  const llvm::DenseSet<Value> nothing; // is known yet
  std::optional<AccessKey> common;
  int64_t width = 0;
  for (const ItemStep &step : loops.steps) {
    if (step.operation)
      continue;
    for (const Access &access : accessesOf(shape, step.loop, nothing)) {
      if (access.buffer != row.getResult())
        continue;
      if (access.key.empty() || (common && *common != access.key))
        return 0;
      common = access.key;
      width = widthOf(shape, step.loop, allDims(step.loop));
    }
  }
  return width;
}
