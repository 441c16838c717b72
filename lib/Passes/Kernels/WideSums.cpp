// Splits sums of more tensors than a kernel may have operands into trees.
#include "KeptRows.h"

#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The most operands of a sum. Several such sums fit in one kernel.
static constexpr size_t mostSummands = 64;

/// The type of the sum of `parts`: the indices that any of them has, in the
/// order of the result of `whole`.
static RankedTensorType typeOfSum(Operation *whole, ValueRange parts) {
  auto types =
      llvm::map_to_vector(parts, [](Value part) { return typeOf(part); });
  SmallVector<StringRef> names;
  for (const LoopIndex &index : loopIndices(whole->getResult(0).getType()))
    if (llvm::any_of(types, [&](RankedTensorType type) {
          return llvm::is_contained(loopIndices(type), index);
        }))
      names.push_back(index.name.getValue());
  return withElement(tensorOver(names, types),
                     computeType(typeOf(whole->getResult(0)).getElementType()));
}

static Value sumOf(OpBuilder &b, Operation *whole, ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  Operation *sum = b.clone(*whole);
  sum->setOperands(parts);
  sum->getResult(0).setType(typeOfSum(whole, parts));
  sum->setLoc(withoutSourceName(whole->getLoc()));
  return sum->getResult(0);
}

static void split(Operation *whole) {
  OpBuilder b(whole);
  SmallVector<Value> parts(whole->getOperands());
  while (parts.size() > mostSummands) {
    SmallVector<Value> sums;
    for (ArrayRef<Value> rest = parts; !rest.empty();) {
      size_t count = std::min(rest.size(), mostSummands);
      sums.push_back(sumOf(b, whole, rest.take_front(count)));
      rest = rest.drop_front(count);
    }
    parts = std::move(sums);
  }
  whole->setOperands(parts);
}

void tpsp::splitWideSums(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto indexed = dyn_cast<IndexedOpInterface>(op);
        indexed && indexed.isSumOfOperands() &&
        op.getNumOperands() > mostSummands)
      split(&op);
}
