#include "MicroBatchTwins.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static std::optional<int64_t> partOf(Operation *op) {
  return originOf(op).part;
}

std::optional<unsigned> MicroBatchTwins::sumSoFar(Operation *op) {
  std::optional<int64_t> part = partOf(op);
  if (!part)
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands())
    if (Operation *maker = operand.get().getDefiningOp())
      if (std::optional<int64_t> other = partOf(maker); other && other != part)
        return operand.getOperandNumber();
  return std::nullopt;
}

/// Nothing of which part it is, is compared: neither positions nor names.
static bool areAlike(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes();
}

MicroBatchTwins::MicroBatchTwins(ArrayRef<IndexedOpInterface> ops) {
  struct Part {
    SmallVector<Operation *> own, sums;
  };
  llvm::MapVector<int64_t, Part> parts;
  for (IndexedOpInterface op : ops)
    if (std::optional<int64_t> part = partOf(op))
      (sumSoFar(op) ? parts[*part].sums : parts[*part].own).push_back(op);
  if (parts.size() < 2)
    return;
  const Part &end = parts.back().second;
  for (const auto &[number, part] : parts) {
    bool isFirst = &part == &parts.front().second;
    if (!llvm::equal(part.own, end.own, areAlike) ||
        part.sums.size() != (isFirst ? 0 : end.sums.size())) {
      last.clear();
      return;
    }
    for (auto [own, twin] : llvm::zip_equal(part.own, end.own))
      last[own] = twin;
    for (auto [sum, twin] : llvm::zip(part.sums, end.sums))
      last[sum] = twin;
  }
  numParts = parts.size();
}

Operation *MicroBatchTwins::lastOf(Operation *op) const {
  auto twin = last.find(op);
  return twin == last.end() ? op : twin->second;
}

Value MicroBatchTwins::lastOf(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  return result ? lastOf(result.getOwner())->getResult(result.getResultNumber())
                : value;
}

bool MicroBatchTwins::isOfEach(Operation *op) const {
  if (partOf(op))
    return !sumSoFar(op);
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return lastOf(operand) != operand;
  });
}
