#include "MicroBatchSums.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::microbatch;

SmallVector<Operation *> tpsp::microbatch::repeatedOps(Block &body,
                                                       const Shares &shares) {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return shares.of(result).kind != Share::Same;
        }))
      ops.push_back(&op);
  return ops;
}

void tpsp::microbatch::eraseCounted(const Shares &shares) {
  SmallVector<Operation *> makers;
  for (Value count : shares.counts())
    llvm::append_range(makers, shares.makersOf(count));
  llvm::sort(makers,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  makers.erase(llvm::unique(makers), makers.end());
  for (Operation *op : makers)
    if (op->use_empty())
      op->erase();
}

bool Sums::addsSummands(Operation *op) const {
  return cast<IndexedOpInterface>(op).isSumOfOperands() &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isSummand(operand); });
}

llvm::DenseSet<Value> Sums::withRest(ArrayRef<Operation *> ops) const {
  llvm::DenseSet<Value> rest;
  for (Operation *op : ops) {
    bool adds = addsSummands(op);
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return rest.contains(operand) || (adds && !isSummand(operand));
        }))
      rest.insert(op->getResult(0));
  }
  return rest;
}

bool Sums::isGradient(Value result) {
  return bool(getResultAttr(result, weightAttrName));
}

Type Sums::elementOfSum(Value result) const {
  Type element = typeOf(result).getElementType();
  return isGradient(result) && element.getIntOrFloatBitWidth() < 32
             ? Type(form.narrowSums)
             : element;
}

bool Sums::isReducedByPart(Value result) const {
  return form.reducesParts && isGradient(result) &&
         llvm::is_contained(result.getUsers(), body.getTerminator());
}

void Sums::propose(Value result) {
  if (!isUnplaced(result.getType()))
    setResultAttr(result, proposedAttrName, UnitAttr::get(result.getContext()));
}
