#include "ChunkReductions.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static bool reducesGradient(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getGradientsAttr();
}

ChunkReductions::ChunkReductions(Block &body, const StageMarks &marks) {
  // Operations that need the sums of one chunk alone.
  llvm::DenseMap<Operation *, int64_t> candidates;
  llvm::DenseSet<Operation *> others;
  for (Operation &op : body.without_terminator()) {
    if (marks.chunkOf(&op) >= 0)
      continue;
    bool isOfOne = true;
    int64_t chunk = -1;
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker)
        continue;
      int64_t own = std::max(marks.chunkOf(maker),
                             candidates.lookup_or(maker, int64_t(-1)));
      isOfOne &=
          !others.contains(maker) && (own < 0 || chunk < 0 || own == chunk);
      chunk = std::max(chunk, own);
    }
    if (!isOfOne)
      others.insert(&op);
    else if (chunk >= 0)
      candidates[&op] = chunk;
    else if (op.hasAttr(updateAttrName))
      others.insert(&op);
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto candidate = candidates.find(&op);
    if (candidate == candidates.end())
      continue;
    bool isWanted = reducesGradient(&op) ||
                    llvm::any_of(op.getUsers(), [&](Operation *user) {
                      return chunkOf(user) == candidate->second;
                    });
    if (!isWanted)
      continue;
    chunkOfOp[&op] = candidate->second;
    chunks.insert(candidate->second);
  }
}
