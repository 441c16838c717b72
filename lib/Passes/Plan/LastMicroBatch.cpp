#include "LastMicroBatch.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

class LastMicroBatch {
public:
  LastMicroBatch(ArrayRef<Operation *> ops, SumMemory &memory,
                 function_ref<bool(Operation *)> isForEach)
      : ops(ops), memory(memory), isForEach(isForEach),
        end(ops.front()->getBlock()->getTerminator()), b(end) {}

  SmallVector<Operation *> run() {
    SmallVector<Operation *> made;
    for (Operation *op : ops) {
      made.push_back(b.clone(*op, copies));
      if (Value zeros = memory.lookup(op->getResult(0)))
        goOn(op, made.back(), zeros);
    }
    own.insert_range(ops);
    own.insert_range(made);
    keepParts();
    for (Operation *op : ops)
      for (Value result : op->getResults())
        result.replaceUsesWithIf(copies.lookup(result), [&](OpOperand &use) {
          return isAfter(use.getOwner()) &&
                 (use.getOwner() != end || use.getOperandNumber() < numResults);
        });
    return made;
  }

private:
  /// The last micro-batch adds to the sum of the others.
  void goOn(Operation *sum, Operation *last, Value zeros) {
    for (OpOperand &operand : last->getOpOperands())
      if (operand.get() == zeros)
        operand.set(sum->getResult(0));
    memory[last->getResult(0)] = zeros;
  }

  bool isReadForEach(Operation *op) const {
    return isForEach && !own.contains(op) && op != end && isForEach(op);
  }
  bool isAfter(Operation *op) const {
    return !own.contains(op) && !isReadForEach(op);
  }

  /// Each micro-batch makes its own part of a result, and of what its other
  /// segments read, in the same memory.
  void keepParts() {
    SmallVector<Value> kept;
    for (Value result : end->getOperands())
      if (Value root = withoutViews(result); copies.contains(root)) {
        memory.try_emplace(copies.lookup(root), root);
        kept.push_back(root);
      }
    end->insertOperands(end->getNumOperands(), kept);
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return isReadForEach(user); }))
          keep(withoutViews(result));
  }

  /// Nothing reads the copy of `root`, but its memory.
  void keep(Value root) {
    if (!copies.contains(root))
      return;
    Value copy = copies.lookup(root);
    if (memory.try_emplace(copy, root).second)
      end->insertOperands(end->getNumOperands(), copy);
  }

  const ArrayRef<Operation *> ops;
  SumMemory &memory;
  const function_ref<bool(Operation *)> isForEach;
  Operation *end;
  const unsigned numResults = end->getNumOperands();
  OpBuilder b;
  IRMapping copies;
  llvm::SmallDenseSet<Operation *> own;
};

} // namespace

SmallVector<Operation *>
tpsp::copyForLast(ArrayRef<Operation *> ops, SumMemory &memory,
                  function_ref<bool(Operation *)> isForEach) {
  return LastMicroBatch(ops, memory, isForEach).run();
}
