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

/// The chunk on whose values alone an operation of the update depends; -1 if
/// there is none. `known`: the chunks of operations before it.
static int64_t onlyChunk(Operation *op, const StageMarks &marks,
                         const StageLevels &levels,
                         const llvm::DenseMap<Operation *, int64_t> &known) {
  if (!levels.isAfter(op))
    return -1;
  int64_t chunk = -1;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker)
      continue;
    int64_t own = marks.chunkOf(maker);
    if (own < 0 && !levels.isAfter(maker))
      continue; // the prologue's
    own = own < 0 ? known.lookup_or(maker, -1) : own;
    if (own < 0 || (chunk >= 0 && chunk != own))
      return -1;
    chunk = own;
  }
  return chunk;
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

llvm::DenseMap<Operation *, int64_t>
tpsp::chunkReductions(Block &body, const StageMarks &marks,
                      const StageLevels &levels, ReducingChunks chunks) {
  llvm::SmallDenseSet<int64_t> haveBackward = backwardChunks(body, marks);
  auto runsIn = [&](Operation *op, int64_t chunk) -> int64_t {
    bool isOfFirst = marks.stagesOf(op).test(marks.stageOf(0));
    return chunks == ReducingChunks::Each ? chunk : isOfFirst ? 0 : -1;
  };
  llvm::DenseMap<Operation *, int64_t> ofChunk;
  for (Operation &op : body.without_terminator())
    if (int64_t chunk = onlyChunk(&op, marks, levels, ofChunk); chunk >= 0)
      ofChunk[&op] = chunk;
  llvm::DenseMap<Operation *, int64_t> needed;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto known = ofChunk.find(&op);
    if (known == ofChunk.end())
      continue;
    bool isNeeded = isa<CollectiveOpInterface>(op) ||
                    llvm::any_of(op.getUsers(), [&](Operation *user) {
                      return needed.contains(user);
                    });
    int64_t in = runsIn(&op, known->second);
    if (isNeeded && haveBackward.contains(in))
      needed[&op] = in;
  }
  return needed;
}
