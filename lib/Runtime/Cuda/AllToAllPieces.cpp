#include "CudaCollectives.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {

AllToAllPieces::AllToAllPieces(const AllToAllCommand &c, int64_t ranks,
                               std::byte *from, std::byte *to)
    : gathersFirst(c.gatherFirst), blocks(c.a),
      blockRows((gathersFirst ? c.gather : c.scatter) * c.b),
      run((gathersFirst ? c.scatter : c.gather) * c.c * elementBytes(c.dtype)) {
  int64_t block = blockRows * run;
  auto inRuns = [&](std::byte *data) {
    return PeerPieces{data, run, blocks * blockRows, run, ranks * run};
  };
  auto inBlocks = [&](std::byte *data) {
    return PeerPieces{data, block, blocks, block, ranks * block};
  };
  source = gathersFirst ? inRuns(from) : inBlocks(from);
  target = gathersFirst ? inBlocks(to) : inRuns(to);
}

StridedCopy AllToAllPieces::copy(int64_t from, int64_t to) const {
  const PeerPieces &runs = gathersFirst ? source : target;
  const PeerPieces &whole = gathersFirst ? target : source;
  StridedCopy copy;
  copy.source = source.data + to * source.peer;
  copy.target = target.data + from * target.peer;
  copy.blocks = blocks;
  copy.rows = blockRows;
  copy.bytes = run;
  (gathersFirst ? copy.sourceRow : copy.targetRow) = runs.stride;
  (gathersFirst ? copy.sourceBlock : copy.targetBlock) =
      runs.stride * blockRows;
  (gathersFirst ? copy.targetRow : copy.sourceRow) = run;
  (gathersFirst ? copy.targetBlock : copy.sourceBlock) = whole.stride;
  return copy;
}

} // namespace tpsp::rt
