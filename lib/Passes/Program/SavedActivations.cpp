#include "SavedActivations.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// The value whose bytes a value is.
class Roots {
public:
  explicit Roots(Block &body) {
    for (Operation &op : body) {
      auto indexed = dyn_cast<IndexedOpInterface>(op);
      if (indexed && indexed.isView())
        roots[op.getResult(0)] = of(op.getOperand(0));
    }
  }
  Value of(Value value) const {
    auto root = roots.find(value);
    return root == roots.end() ? value : root->second;
  }

private:
  llvm::DenseMap<Value, Value> roots;
};

} // namespace

/// An input of the forward pass: no parameter, no cotangent.
static bool isInput(FunctionOpInterface function, BlockArgument argument) {
  return !function.getArgAttr(argument.getArgNumber(), paramAttrName) &&
         !function.getArgAttr(argument.getArgNumber(), cotangentAttrName);
}

SmallVector<SavedActivation>
tpsp::savedActivations(FunctionOpInterface function, const Mesh &mesh) {
  Block &body = function.getFunctionBody().front();
  Roots roots(body);
  llvm::DenseSet<Value> used;
  for (Operation &op : body)
    if (op.hasAttr(backwardAttrName))
      for (Value operand : op.getOperands())
        used.insert(roots.of(operand));

  SmallVector<SavedActivation> saved;
  auto add = [&](Value value) {
    if (used.contains(value) && getIdx(value))
      saved.push_back({value, localBytes(value.getType(), mesh)});
  };
  for (BlockArgument argument : body.getArguments())
    if (isInput(function, argument))
      add(argument);
  for (Operation &op : body)
    if (!op.hasAttr(backwardAttrName))
      llvm::for_each(op.getResults(), add);
  return saved;
}

int64_t tpsp::savedBytes(FunctionOpInterface function, const Mesh &mesh) {
  int64_t bytes = 0;
  for (const SavedActivation &tensor : savedActivations(function, mesh))
    bytes += tensor.bytes;
  return bytes;
}
