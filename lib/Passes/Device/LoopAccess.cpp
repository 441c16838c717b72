#include "LoopAccess.h"

using namespace mlir;
using namespace tpsp;

SmallVector<unsigned> tpsp::allDims(const ItemLoop &loop) {
  linalg::LinalgOp nest = loop.nest;
  return llvm::to_vector(llvm::seq<unsigned>(0, nest.getNumLoops()));
}

bool tpsp::isSingle(const BlockShape &shape, const ItemLoop &loop) {
  SmallVector<int64_t> extents = loop.extents(shape.range);
  return !shape.range && pointsOf(extents, loop.kept) == 1 &&
         pointsOf(extents, loop.summed) == 1;
}

unsigned tpsp::innermostOf(const BlockShape &shape, const ItemLoop &loop,
                           ArrayRef<unsigned> dims) {
  SmallVector<int64_t> extents = loop.extents(shape.range);
  for (unsigned dim : llvm::reverse(dims))
    if (extents[dim] > 1)
      return dim;
  return 0;
}

/// Whether all threads of an item share the points of a loop.
static bool isDealtOut(const BlockShape &shape, const ItemLoop &loop) {
  return loop.sums.empty() ||
         pointsOf(loop.extents(shape.range), loop.kept) == 1;
}

int64_t tpsp::widthOf(const BlockShape &shape, const ItemLoop &loop,
                      ArrayRef<unsigned> dims) {
  if (dims.empty() || shape.range)
    return 1;
  SmallVector<int64_t> extents = loop.extents(shape.range);
  int64_t extent = extents[innermostOf(shape, loop, dims)];
  int64_t width = shape.width;
  // If there are few points, a thread takes fewer at a time, so that all have
  // work.
  int64_t busy = isDealtOut(shape, loop) ? shape.threadsPerItem / 2 : 0;
  while (width > 1 &&
         (extent % width != 0 || pointsOf(extents, dims) / width < busy))
    width /= 2;
  return width;
}

/// The key is equal for accesses to all points in the order of the loop's
/// dimensions that are distributed over threads in the same way.
static AccessKey keyOf(const BlockShape &shape, const ItemLoop &loop,
                       AffineMap access) {
  SmallVector<int64_t> extents = loop.extents(shape.range);
  SmallVector<unsigned> seen, wanted;
  for (AffineExpr result : access.getResults())
    if (unsigned dim = cast<AffineDimExpr>(result).getPosition();
        extents[dim] > 1)
      seen.push_back(dim);
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (extent > 1)
      wanted.push_back(dim);
  if (seen != wanted || !isDealtOut(shape, loop))
    return {};
  AccessKey key = std::to_string(widthOf(shape, loop, allDims(loop)));
  for (unsigned dim : wanted)
    key += "," + std::to_string(extents[dim]);
  return key;
}

SmallVector<Access> tpsp::accessesOf(const BlockShape &shape,
                                     const ItemLoop &loop,
                                     const llvm::DenseSet<Value> &known) {
  linalg::LinalgOp nest = loop.nest;
  SmallVector<Access> accesses;
  auto note = [&](OpOperand *operand, bool isWrite, bool hasKey) {
    AffineMap access = nest.getMatchingIndexingMap(operand);
    accesses.push_back({bufferBehind(operand->get()), isWrite,
                        hasKey ? keyOf(shape, loop, access) : AccessKey()});
  };
  for (OpOperand *input : nest.getDpsInputOperands())
    if (isa<MemRefType>(input->get().getType()) &&
        !known.contains(input->get()) &&
        nest.payloadUsesValueFromOperand(input))
      note(input, /*isWrite=*/false, /*hasKey=*/true);
  for (unsigned number : loop.stored)
    note(nest.getDpsInitOperand(number), /*isWrite=*/true, /*hasKey=*/true);
  for (unsigned number : loop.sums)
    note(nest.getDpsInitOperand(number), /*isWrite=*/true, /*hasKey=*/false);
  return accesses;
}
