// tpsp-initialize-arguments: finds the distribution of random parameters.
//
//     looked up, or added        0.02 around 0
//     summed over in an einsum   1 / sqrt(fan-in) around 0
//     multiplied                 0.02 around 1
//
// docs/Inputs.md says why nothing is exactly 0 or 1.
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace tpsp {
#define GEN_PASS_DEF_INITIALIZEARGUMENTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

constexpr double smallDeviation = 0.02;

/// The uses of a parameter in a program.
struct ArgumentUses {
  bool isLookedUp = false, isAdded = false, isMultiplied = false;
  /// The most terms of a sum in which its elements are factors; 0 if there is
  /// none.
  int64_t fanIn = 0;
};

/// Records new operations, in order.
class Record : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    built.push_back(op);
  }
  SmallVector<Operation *> built;
};

/// Finds the uses of a value, and of values with the same elements.
class FindUses {
public:
  ArgumentUses of(Value value) {
    follow(value);
    visitFollowed();
    return uses;
  }

private:
  void follow(Value value) {
    if (visited.insert(value).second)
      followed.push_back(value);
  }

  /// Uses a list instead of recursion, because chains are as long as a program.
  void visitFollowed() {
    while (!followed.empty()) {
      // Visiting a composite temporarily adds uses.
      SmallVector<OpOperand *> operands;
      for (OpOperand &use : followed.pop_back_val().getUses())
        operands.push_back(&use);
      for (OpOperand *use : operands)
        visit(*use);
    }
  }

  void visit(OpOperand &use) {
    if (isa<CollectiveOpInterface>(use.getOwner()))
      return follow(use.getOwner()->getResult(use.getOperandNumber()));
    auto op = dyn_cast<IndexedOpInterface>(use.getOwner());
    if (!op)
      return;
    if (looksUp(op, use))
      uses.isLookedUp = true;
    else if (keepsElements(op))
      follow(op->getResult(0));
    else if (auto composite = dyn_cast<DecomposableOpInterface>(*op);
             composite && !composite.hasOwnKernel())
      visitParts(composite, use.get());
    else
      classify(op, use);
  }

  /// Indices of an operand that the result lacks.
  static SmallVector<StringRef> droppedIndices(Operation *op, Value operand) {
    SmallVector<StringRef> dropped;
    for (StringRef name : indexNames(operand.getType()))
      if (!getIdx(op->getResult(0)).dimOf(name))
        dropped.push_back(name);
    return dropped;
  }

  /// Whether the other operands are only positions along an index of this one,
  /// which need not be whole. If rows choose a matrix, the operand is a factor.
  static bool looksUp(IndexedOpInterface op, OpOperand &use) {
    SmallVector<StringRef> whole = op.getWholeIndices();
    auto mayBeLookedUp = [&](StringRef name) {
      return !llvm::is_contained(whole, name);
    };
    return llvm::any_of(droppedIndices(op, use.get()), mayBeLookedUp) &&
           !factorsOf(op) &&
           llvm::any_of(op->getOpOperands(), [&](OpOperand &other) {
             return &other != &use &&
                    op.getIntegerBound(other.getOperandNumber()) > 0;
           });
  }

  /// Whether the result's elements are the operands', or multiples of them.
  static bool keepsElements(IndexedOpInterface op) {
    if (op.isView() || isa<BlockCopyOpInterface>(*op))
      return true;
    return op->getNumOperands() == 1 && op.getLinearity() != Linearity::None &&
           droppedIndices(op, op->getOperand(0)).empty();
  }

  /// The uses of a composite's operand are those in its parts.
  void visitParts(DecomposableOpInterface composite, Value value) {
    Record record;
    OpBuilder builder(composite->getContext(), &record);
    builder.setInsertionPoint(composite);
    composite.decompose(builder);
    // Visit before the parts are erased.
    SmallVector<Value> others = std::move(followed);
    followed.clear();
    for (Operation *part : record.built)
      for (OpOperand &operand : part->getOpOperands())
        if (operand.get() == value)
          visit(operand);
    visitFollowed();
    followed = std::move(others);
    for (Operation *part : llvm::reverse(record.built)) {
      llvm::for_each(part->getResults(),
                     [&](Value result) { visited.erase(result); });
      part->erase();
    }
  }

  void classify(IndexedOpInterface op, OpOperand &use) {
    SmallVector<StringRef> summed = droppedIndices(op, use.get());
    if (auto grouped = dyn_cast<GroupedProductOpInterface>(*op))
      llvm::erase(summed, grouped.getChosenIndex());
    switch (op.getLinearity()) {
    case Linearity::Joint:
      uses.isAdded |= op->getNumOperands() > 1;
      return;
    case Linearity::Multi:
      if (summed.empty())
        uses.isMultiplied = true;
      else
        uses.fanIn =
            std::max(uses.fanIn, positionsAlong(use.get().getType(), summed));
      return;
    case Linearity::None:
      return;
    }
  }

  ArgumentUses uses;
  llvm::DenseSet<Value> visited;
  /// Values whose uses are still to be visited.
  SmallVector<Value> followed;
};

/// Whether a parameter begins exactly at its mean: gains as 1 and biases as 0,
/// unless the program gives a deviation.
bool beginsExactly(RankedTensorType type, Attribute deviation) {
  return type.getRank() <= 1 && !deviation;
}

struct Scatter {
  double mean, deviation;
};

/// A table that is also a head is initialised as a table.
Scatter scatterOf(const ArgumentUses &uses, int64_t rank) {
  if (uses.isLookedUp)
    return {0, smallDeviation};
  if (uses.fanIn > 0)
    return {0, 1 / std::sqrt(static_cast<double>(uses.fanIn))};
  if (uses.isMultiplied)
    return {1, smallDeviation};
  // Nothing is known of the use: a vector may be divided by, so it begins near
  // 1.
  return {!uses.isAdded && rank == 1 ? 1.0 : 0.0, smallDeviation};
}

void initializeArguments(FunctionOpInterface function) {
  Builder builder(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!attributes.get(number, paramAttrName) || !type ||
        !isa<FloatType>(type.getElementType()))
      continue;
    if (beginsExactly(type, attributes.get(number, deviationAttrName)) &&
        !attributes.get(number, initialDeviationAttrName))
      attributes.set(number, initialDeviationAttrName,
                     builder.getF64FloatAttr(0));
    Scatter scatter = scatterOf(FindUses().of(argument), type.getRank());
    for (auto [name, value] : {std::pair(meanAttrName, scatter.mean),
                               std::pair(deviationAttrName, scatter.deviation)})
      if (!attributes.get(number, name))
        attributes.set(number, name, builder.getF64FloatAttr(value));
  }
  attributes.write();
}

struct InitializeArguments
    : public tpsp::impl::InitializeArgumentsBase<InitializeArguments> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), initializeArguments)))
      signalPassFailure();
  }
};

} // namespace
