#include "WrittenAttention.h"

#include "tpsp/Passes/Program/CallPlace.h"

#include "Passes/Program/Placed.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tpsp;

/// Whether `op` is a product of two activations: weights are not queries, keys
/// or values.
static bool isOfActivations(Operation *op) {
  auto product = dyn_cast<IndexedOpInterface>(op);
  return product && product.isSumOfProducts() && op->getNumOperands() == 2 &&
         llvm::none_of(op->getOperands(), isWeight);
}

/// Whether `op` changes elements in place: a scale, a mask, a dropout, a
/// rename.
static bool isInPlace(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && !indexed.isSumOfProducts() && op->getNumOperands() > 0 &&
         (isa<LoopOpInterface>(op) || indexed.isView()) &&
         getIdx(op->getOperand(0)).getRank() ==
             getIdx(op->getResult(0)).getRank();
}

static bool isMadeOfProduct(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isInPlace(op))
    op = op->getOperand(0).getDefiningOp();
  return op && isOfActivations(op);
}

/// Whether a product sums over an index that `rows` has.
static bool isSummedInProduct(Value value, ArrayRef<StringRef> rows) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isInPlace(user) && user->getOperand(0) == value)
      return isSummedInProduct(user->getResult(0), rows);
    return isOfActivations(user) && llvm::any_of(rows, [&](StringRef index) {
             return getIdx(value).dimOf(index) &&
                    !getIdx(user->getResult(0)).dimOf(index);
           });
  });
}

/// Whether `op` transforms each row as a whole.
static bool isAttention(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      indexed.getLinearity() != Linearity::None)
    return false;
  SmallVector<StringRef> rows = indexed.getWholeIndices();
  return !rows.empty() && isMadeOfProduct(op->getOperand(0)) &&
         isSummedInProduct(op->getResult(0), rows);
}

void tpsp::warnOfWrittenAttention(Operation *root) {
  llvm::DenseSet<Attribute> warned;
  root->walk([&](Operation *op) {
    if (!isAttention(op) ||
        !warned.insert(LocationAttr(callPlaceOf(op->getLoc()).written)).second)
      return;
    op->emitWarning("this is attention written out, which is not done in one "
                    "call: only tpsp.attention is; way out: write the product "
                    "before, '")
        << op->getName() << "' and the product after as one tpsp.attention";
  });
}
