#include "StageLevels.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

void StageLevels::findLevels() {
  for (Operation &op : body.without_terminator()) {
    if (marks.chunkOf(&op) >= 0)
      continue;
    bool follows =
        isUpdate(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *maker = operand.getDefiningOp();
          return maker && (marks.chunkOf(maker) >= 0 || isAfter(maker));
        });
    (follows ? levels : earlyLevels)[&op] = levelAfter(&op, follows);
  }
}

int64_t StageLevels::levelAfter(Operation *op, bool isOfUpdate) const {
  int64_t level = 0;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || marks.chunkOf(maker) >= 0 || isAfter(maker) != isOfUpdate)
      continue;
    bool isAlike = marks.stagesOf(maker) == marks.stagesOf(op);
    level = std::max(level, of(maker) + (isAlike ? 0 : 1));
  }
  return level;
}

/// Moves operations to the level of their readers, so that a parameter's update
/// stays in one segment.
void StageLevels::raiseLevels() {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto level = levels.find(&op);
    if (level == levels.end())
      continue;
    std::optional<int64_t> most;
    for (Operation *user : op.getUsers()) {
      auto later = levels.find(user);
      if (later == levels.end())
        continue;
      bool isAlike = marks.stagesOf(user) == marks.stagesOf(&op);
      int64_t bound = later->second - (isAlike ? 0 : 1);
      most = std::min(most.value_or(bound), bound);
    }
    level->second = std::max(level->second, most.value_or(level->second));
  }
}

/// The chunks that have operations of a backward pass.
static llvm::SmallDenseSet<int64_t> backwardChunks(Block &body,
                                                   const StageMarks &marks) {
  llvm::SmallDenseSet<int64_t> chunks;
  for (Operation &op : body.without_terminator())
    if (int64_t chunk = marks.chunkOf(&op); chunk >= 0 && isBackward(&op))
      chunks.insert(chunk);
  return chunks;
}

namespace {

/// Finds the chunk under which an operation of the update may run.
class ReducingChunk {
public:
  ReducingChunk(const StageMarks &marks, const StageLevels &levels,
                ReducingChunks chunks)
      : marks(marks), levels(levels), chunks(chunks) {}

  /// Operations are visited in their order.
  void visit(Operation *op) {
    int64_t chunk = levels.isAfter(op) ? commonOf(op) : -1;
    if (chunk >= 0)
      known[op] = chunk;
  }
  /// -1 if there is none.
  int64_t of(Operation *op) const { return known.lookup_or(op, -1); }

private:
  /// The chunk of all operands that a micro-batch or the update makes.
  int64_t commonOf(Operation *op) const {
    int64_t chunk = -1;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || (marks.chunkOf(maker) < 0 && !levels.isAfter(maker)))
        continue; // an argument, or the prologue's
      int64_t own = marks.chunkOf(maker) < 0 ? of(maker) : chunkFor(maker);
      if (own < 0 || (chunk >= 0 && chunk != own))
        return -1;
      chunk = own;
    }
    return chunk;
  }

  int64_t chunkFor(Operation *op) const {
    int64_t chunk = marks.chunkOf(op);
    if (chunks == ReducingChunks::Each)
      return chunk;
    return marks.stageOf(chunk) == marks.stageOf(0) ? 0 : -1;
  }

  const StageMarks &marks;
  const StageLevels &levels;
  const ReducingChunks chunks;
  llvm::DenseMap<Operation *, int64_t> known;
};

} // namespace

llvm::DenseMap<Operation *, int64_t>
tpsp::chunkReductions(Block &body, const StageMarks &marks,
                      const StageLevels &levels, ReducingChunks chunks) {
  llvm::SmallDenseSet<int64_t> haveBackward = backwardChunks(body, marks);
  ReducingChunk reducing(marks, levels, chunks);
  for (Operation &op : body.without_terminator())
    reducing.visit(&op);
  llvm::DenseMap<Operation *, int64_t> needed;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool isNeeded = isa<CollectiveOpInterface>(op) ||
                    llvm::any_of(op.getUsers(), [&](Operation *user) {
                      return needed.contains(user);
                    });
    int64_t chunk = reducing.of(&op);
    if (isNeeded && haveBackward.contains(chunk))
      needed[&op] = chunk;
  }
  return needed;
}
