#include "PeerPieces.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {

StridedCopy copyOfPiece(const PeerPieces &source, int64_t from,
                        const PeerPieces &target, int64_t to) {
  StridedCopy copy;
  copy.target = target.piece(to);
  copy.source = source.piece(from);
  copy.bytes = std::min(source.bytes, target.bytes);
  copy.rows = std::max(source.rows, target.rows);
  copy.targetRow = target.stride;
  copy.sourceRow = source.stride;
  if (source.rows == target.rows || source.rows == 0 || target.rows == 0)
    return copy;
  // Each run of one side corresponds to several runs of the other.
  copy.blocks = std::min(source.rows, target.rows);
  copy.rows /= copy.blocks;
  auto place = [&](const PeerPieces &side, int64_t &block, int64_t &row) {
    bool hasLongRuns = side.rows == copy.blocks;
    block = hasLongRuns ? side.stride : side.stride * copy.rows;
    row = hasLongRuns ? copy.bytes : side.stride;
  };
  place(target, copy.targetBlock, copy.targetRow);
  place(source, copy.sourceBlock, copy.sourceRow);
  return copy;
}

PeerPieces partOf(const ShardCommand &c, size_t i, std::byte *data) {
  const ShardLayout &t = c.tensor(i);
  int64_t width = elementBytes(c.dtype);
  return {data, 0, t.outer, t.chunk * width, t.runPitch() * width};
}

PeerPieces wholeOf(const ShardCommand &c, size_t i, int64_t ranks,
                   std::byte *data) {
  const ShardLayout &t = c.tensor(i);
  int64_t run = t.chunk * elementBytes(c.dtype);
  return {data, run, t.outer, run, ranks * run};
}

AllToAllSides::AllToAllSides(const AllToAllCommand &c, int64_t ranks,
                             std::byte *from, std::byte *to) {
  int64_t run =
      (c.gatherFirst ? c.scatter : c.gather) * c.c * elementBytes(c.dtype);
  int64_t rows = (c.gatherFirst ? c.gather : c.scatter) * c.b;
  int64_t block = rows * run;
  auto inRuns = [&](std::byte *data) {
    return PeerPieces{data, run, c.a * rows, run, ranks * run};
  };
  auto inBlocks = [&](std::byte *data) {
    return PeerPieces{data, block, c.a, block, ranks * block};
  };
  source = c.gatherFirst ? inRuns(from) : inBlocks(from);
  target = c.gatherFirst ? inBlocks(to) : inRuns(to);
}

PeerPieces sourceOf(const PermuteCommand &c, std::byte *data) {
  int64_t width = elementBytes(c.dtype);
  return {data, 0, c.runs, c.count * width, c.sourcePitch * width};
}

PeerPieces targetOf(const PermuteCommand &c, std::byte *data) {
  int64_t width = elementBytes(c.dtype);
  return {data, 0, c.runs, c.count * width, c.targetPitch * width};
}

} // namespace tpsp::rt
