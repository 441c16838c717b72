#include "StageMarks.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

bool tpsp::hasChunks(FunctionOpInterface function) {
  return llvm::any_of(function.getFunctionBody().front(), [](Operation &op) {
    return originOf(&op).chunk.has_value();
  });
}

StageMarks::StageMarks(Block &body, ChunkPlacement placement)
    : body(body), placement(placement), stages(placement.stages),
      segments(body) {
  findChunks();
  findStages();
}

//===----------------------------------------------------------------------===//
// Chunks of a micro-batch's operations
//===----------------------------------------------------------------------===//

/// Gives an operation without a mark the chunk of its operands: the last in the
/// forward pass, and the first in the backward pass.
bool StageMarks::takeChunk(Operation *op) {
  bool isOfBackward = isBackward(op);
  int64_t found = -1;
  for (Value operand : op->getOperands()) {
    int64_t chunk = chunkOf(operand.getDefiningOp());
    if (chunk >= 0 && (found < 0 || (chunk < found) == isOfBackward))
      found = chunk;
  }
  if (found >= 0)
    chunkOfOp[op] = found;
  return found >= 0;
}

void StageMarks::findChunks() {
  for (Operation &op : body) {
    if (!isRepeated(&op))
      continue;
    std::optional<int64_t> chunk = originOf(&op).chunk;
    if (!chunk) {
      takeChunk(&op);
      continue;
    }
    chunkOfOp[&op] = *chunk;
    chunks = std::max(chunks, *chunk + 1);
  }
  // An operation that reads arguments alone belongs to its first reader.
  for (Operation &op : llvm::reverse(body)) {
    if (!isRepeated(&op) || chunkOf(&op) >= 0)
      continue;
    int64_t first = chunks > 0 ? chunks - 1 : 0;
    for (Operation *user : op.getUsers())
      if (int64_t chunk = chunkOf(user); chunk >= 0)
        first = std::min(first, chunk);
    chunkOfOp[&op] = first;
  }
}

//===----------------------------------------------------------------------===//
// Stages of all others
//===----------------------------------------------------------------------===//

StageSet StageMarks::stagesOf(Operation *op) const {
  if (int64_t chunk = chunkOf(op); chunk >= 0) {
    StageSet own(stages);
    own.set(stageOf(chunk));
    return own;
  }
  auto known = stagesOfOp.find(op);
  return known != stagesOfOp.end() ? known->second : StageSet(stages, true);
}

StageSet StageMarks::stagesOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? stagesOf(op) : StageSet(stages, true);
}

/// The stages that have all operands, or that have any if none has all.
/// `isDecided`: whether an operand says anything.
StageSet StageMarks::commonStages(Operation *op, bool &isDecided) const {
  StageSet all(stages, true), any(stages);
  isDecided = false;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || (chunkOf(maker) < 0 && !stagesOfOp.contains(maker)))
      continue;
    isDecided = true;
    all &= stagesOf(maker);
    any |= stagesOf(maker);
  }
  return all.any() ? all : any;
}

/// The stages whose operations read a result; all if none does.
StageSet StageMarks::wantedStages(Operation *op) const {
  StageSet wanted(stages);
  for (Operation *user : op->getUsers())
    if (!user->hasTrait<OpTrait::IsTerminator>())
      wanted |= stagesOf(user);
  return wanted.any() ? wanted : StageSet(stages, true);
}

void StageMarks::findStages() {
  for (Operation &op : body.without_terminator()) {
    if (isRepeated(&op))
      continue;
    if (Origin origin = originOf(&op); !origin.stages.empty()) {
      StageSet set(stages);
      for (int64_t stage : origin.stages)
        if (stage >= 0 && stage < stages)
          set.set(stage);
      stagesOfOp[&op] = set;
      continue;
    }
    bool isDecided = false;
    StageSet common = commonStages(&op, isDecided);
    if (isDecided)
      stagesOfOp[&op] = common;
  }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (!isRepeated(&op) && !stagesOfOp.contains(&op))
      stagesOfOp[&op] = wantedStages(&op);
}

std::vector<int64_t> tpsp::listOf(const StageSet &stages) {
  return {stages.set_bits_begin(), stages.set_bits_end()};
}

void StageMarks::write() const {
  for (Operation &op : body.without_terminator())
    changeOrigin(&op, [&](Origin &origin) {
      origin.chunk.reset();
      if (isRepeated(&op))
        origin.chunk = chunkOf(&op);
      else
        origin.stages = listOf(stagesOf(&op));
    });
}
