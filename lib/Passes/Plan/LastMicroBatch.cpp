#include "LastMicroBatch.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

class LastMicroBatch {
public:
  LastMicroBatch(ArrayRef<Operation *> ops, SumMemory &memory,
                 function_ref<bool(Operation *)> isOfEach)
      : ops(ops), memory(memory), isOfEach(isOfEach),
        end(ops.front()->getBlock()->getTerminator()), b(end),
        own(ops.begin(), ops.end()) {}

  SmallVector<Operation *> run() {
    SmallVector<Operation *> made;
    for (Operation *op : ops) {
      made.push_back(b.clone(*op, copies));
      if (Value zeros = memory.lookup(op->getResult(0)))
        goOn(op, made.back(), zeros);
    }
    keepParts();
    shareMemory();
    own.insert_range(made);
    for (Operation *op : ops)
      for (Value result : op->getResults())
        result.replaceUsesWithIf(copies.lookup(result), [&](OpOperand &use) {
          return !own.contains(use.getOwner()) && !isOfEach(use.getOwner()) &&
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

  /// Each micro-batch makes its own part of a result in the same memory.
  void keepParts() {
    SmallVector<Value> kept;
    for (Value result : end->getOperands())
      if (Value root = withoutViews(result); copies.contains(root)) {
        memory.try_emplace(copies.lookup(root), root);
        kept.push_back(root);
      }
    end->insertOperands(end->getNumOperands(), kept);
  }

  /// The copies make what others read for each micro-batch where these look for
  /// it. Nothing else may read the copies, so they are kept.
  void shareMemory() {
    llvm::SetVector<Value> shared;
    for (Operation *op : ops)
      for (OpResult result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !own.contains(user) && isOfEach(user);
            }))
          if (Value root = withoutViews(result); copies.contains(root))
            shared.insert(root);
    for (Value root : shared) {
      Value last = copies.lookup(root);
      if (memory.try_emplace(last, root).second)
        end->insertOperands(end->getNumOperands(), last);
    }
  }

  const ArrayRef<Operation *> ops;
  SumMemory &memory;
  const function_ref<bool(Operation *)> isOfEach;
  Operation *end;
  const unsigned numResults = end->getNumOperands();
  OpBuilder b;
  IRMapping copies;
  llvm::SmallDenseSet<Operation *> own;
};

} // namespace

SmallVector<Operation *>
tpsp::copyForLastMicroBatch(ArrayRef<Operation *> ops, SumMemory &memory,
                            function_ref<bool(Operation *)> isOfEach) {
  return LastMicroBatch(ops, memory, isOfEach).run();
}
