#include "BlockShape.h"
#include "Passes/Kernels/DeviceLimits.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

/// Threads of a block in a kernel with many items. With a few such blocks on a
/// multiprocessor they hide latencies, and they are few enough not to wait long
/// at barriers.
static constexpr int64_t usualThreads = 256;
static constexpr int64_t mostThreads = 1024;
/// Points of a row that a thread processes, if there are many rows.
static constexpr int64_t pointsPerThread = 8;

int64_t tpsp::pointsOf(ArrayRef<int64_t> extents, ArrayRef<unsigned> dims) {
  int64_t points = 1;
  for (unsigned dim : dims)
    points *= extents[dim];
  return points;
}

static int64_t powerOfTwo(int64_t value) {
  return int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(value, 1)));
}

/// The most points of any loop, over all dimensions and over the summed ones.
static std::pair<int64_t, int64_t> mostPoints(const ItemLoops &loops,
                                              int64_t range) {
  int64_t all = 1, summed = 1;
  for (const ItemStep &step : loops.steps) {
    if (step.operation)
      continue;
    SmallVector<int64_t> extents = step.loop.extents(range);
    int64_t over = pointsOf(extents, step.loop.summed);
    all = std::max(all, over * pointsOf(extents, step.loop.kept));
    summed = std::max(summed, over);
  }
  return {all, summed};
}

/// Elements that one access of a thread can have, given the widest type.
static int64_t accessWidth(KernelSource source) {
  if (!source.isAligned)
    return 1;
  int64_t bits = 8;
  for (Type type : source.function.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type))
      bits = std::max<int64_t>(bits, buffer.getElementTypeBitWidth());
  return std::max<int64_t>(1, widestAccess * 8 / bits);
}

/// The same, limited by the neighbours that all loops have: an odd row is read
/// element by element.
static int64_t accessWidth(KernelSource source, const ItemLoops &loops) {
  int64_t width = accessWidth(source);
  for (const ItemStep &step : loops.steps) {
    if (step.operation)
      continue;
    SmallVector<int64_t> extents = step.loop.extents(/*range=*/1);
    for (int64_t extent : llvm::reverse(extents)) {
      if (extent == 1)
        continue;
      while (extent % width)
        width /= 2;
      break;
    }
  }
  return width;
}

/// The shape for a sum over all rows, which a block computes for a slice of the
/// innermost index. The slice is narrow, so that there are many blocks, but at
/// least as wide as a sector of memory.
static BlockShape shapeOfRange(KernelSource source, const ItemLoops &loops) {
  BlockShape shape;
  auto [all, summed] = mostPoints(loops, /*range=*/1);
  if (all == 1) {
    shape.range = shape.threadsPerItem = usualThreads;
    return shape;
  }
  shape.range = source.grid / warp < enoughBlocks / 2 ? warp / 2 : warp;
  shape.width = std::min(accessWidth(source), shape.range);
  while (source.grid % shape.width)
    shape.width /= 2;
  int64_t wanted = shape.range * powerOfTwo(llvm::divideCeil(summed, 8));
  shape.threadsPerItem = std::clamp(wanted, usualThreads / 2, mostThreads);
  return shape;
}

static BlockShape shapeOfItems(KernelSource source, const ItemLoops &loops) {
  BlockShape shape;
  int64_t most = mostPoints(loops, 1).first;
  int64_t threads = powerOfTwo(llvm::divideCeil(most, pointsPerThread));
  threads = std::min(threads, usualThreads);
  // Few items: more threads for each, as long as they can use the widest
  // accesses.
  int64_t wide = accessWidth(source, loops);
  int64_t limit = std::min(powerOfTwo(most / wide), mostThreads);
  while (threads < limit && source.grid * threads < enoughBlocks * usualThreads)
    threads *= 2;
  shape.threadsPerItem = threads;
  shape.items = std::max<int64_t>(1, usualThreads / threads);
  while (shape.items > 1 && shape.threads() > warp &&
         source.grid / shape.items < enoughBlocks)
    shape.items /= 2;
  shape.width = std::min(
      accessWidth(source),
      int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(most / threads, 1)))));
  return shape;
}

BlockShape tpsp::chooseBlockShape(KernelSource source, const ItemLoops &loops) {
  return source.itemLoop() ? shapeOfItems(source, loops)
                           : shapeOfRange(source, loops);
}

/// Whether the innermost dimension of more than one point is summed.
static bool sumsInnermost(const ItemLoop &loop, ArrayRef<int64_t> extents) {
  for (int64_t dim = int64_t(extents.size()) - 1; dim >= 0; --dim)
    if (extents[dim] > 1)
      return llvm::is_contained(loop.summed, unsigned(dim));
  return true;
}

/// Whether threads can combine the sums by shuffles, which move 32 bits.
static bool canShuffle(const ItemLoop &loop) {
  return llvm::all_of(loop.sums, [&](unsigned number) {
    auto type = cast<MemRefType>(loop.output(number).getType());
    return type.getElementTypeBitWidth() == 32;
  });
}

SumLayout tpsp::chooseSumLayout(const BlockShape &shape, const ItemLoop &loop) {
  SmallVector<int64_t> extents = loop.extents(shape.range);
  int64_t kept = pointsOf(extents, loop.kept);
  int64_t summed = pointsOf(extents, loop.summed);
  int64_t threads = shape.threadsPerItem;
  bool shuffles = canShuffle(loop);
  SumLayout layout;
  layout.threadsInnermost = sumsInnermost(loop, extents);
  if (shape.range && !layout.threadsInnermost && shuffles)
    layout.across = shape.width;
  layout.points =
      std::min(powerOfTwo(llvm::divideCeil(kept, layout.across)), threads);
  // Many points, and neighbours in memory belong to one point: a warp for each.
  if (layout.points == threads && layout.threadsInnermost && shuffles)
    layout.points = threads / std::min({warp, threads, powerOfTwo(summed)});
  layout.threads = threads / layout.points;
  if (!shuffles)
    return layout;
  layout.shuffled = layout.threadsInnermost
                        ? std::min(layout.threads, warp)
                        : std::min(layout.threads,
                                   std::max<int64_t>(1, warp / layout.points));
  return layout;
}
