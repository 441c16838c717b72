#include "SavedActivations.h"

#include "tpsp/Abi/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

/// Finds the value that owns a value's bytes.
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

/// Whether an argument is an input of the forward pass: neither a parameter nor
/// a cotangent.
static bool isInput(FunctionOpInterface function, BlockArgument argument) {
  return !function.getArgAttr(argument.getArgNumber(), paramAttrName) &&
         !function.getArgAttr(argument.getArgNumber(), cotangentAttrName);
}

/// The micro-batch of an operation; 0 for one that belongs to none.
static int64_t partOf(Operation *op) {
  return std::max<int64_t>(originOf(op).part.value_or(0), 0);
}

SmallVector<SavedActivation>
tpsp::savedActivations(FunctionOpInterface function, const Mesh &mesh) {
  Block &body = function.getFunctionBody().front();
  Roots roots(body);
  // The last micro-batch whose backward pass uses a value.
  llvm::DenseMap<Value, int64_t> used;
  for (Operation &op : body)
    if (isBackward(&op))
      for (Value operand : op.getOperands()) {
        int64_t &last = used[roots.of(operand)];
        last = std::max(last, partOf(&op));
      }

  SmallVector<SavedActivation> saved;
  auto add = [&](Value value, int64_t part) {
    auto use = used.find(value);
    if (use != used.end() && getIdx(value))
      saved.push_back(
          {value, localBytes(value.getType(), mesh), part, use->second});
  };
  for (BlockArgument argument : body.getArguments())
    if (isInput(function, argument))
      add(argument, 0);
  for (Operation &op : body)
    if (!isBackward(&op))
      for (Value result : op.getResults())
        add(result, partOf(&op));
  return saved;
}

int64_t tpsp::savedBytes(FunctionOpInterface function, const Mesh &mesh) {
  // Live bytes by micro-batch.
  LiveBytes live;
  for (const SavedActivation &tensor : savedActivations(function, mesh))
    live.add(tensor.firstPart, tensor.lastPart, tensor.bytes);
  return live.most();
}
