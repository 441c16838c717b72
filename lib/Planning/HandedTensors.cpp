#include "HandedTensors.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

class Handed {
public:
  explicit Handed(ModuleOp module) : symbols(module) {}

  void add(Value value) {
    if (numbers.try_emplace(value, numbers.size()).second)
      leaders.push_back(value);
    classes.insert(numbers[value]);
  }

  void addCall(func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() ||
        callee.getNumArguments() != call.getNumOperands())
      return;
    for (auto [operand, argument] :
         llvm::zip_equal(call.getOperands(), callee.getArguments()))
      unite(argument, operand);
    Operation *ret = callee.getBody().front().getTerminator();
    for (auto [result, returned] :
         llvm::zip(call.getResults(), ret->getOperands()))
      unite(returned, result);
  }

  SmallVector<HandedTensor> take() {
    llvm::MapVector<unsigned, HandedTensor> found;
    for (Value value : leaders) {
      HandedTensor &tensor = found[classes.getLeaderValue(numbers[value])];
      if (!tensor.first)
        tensor.first = value;
      tensor.values.push_back(value);
    }
    return llvm::map_to_vector(found, [](auto &entry) { return entry.second; });
  }

private:
  void unite(Value a, Value b) {
    add(a);
    add(b);
    classes.unionSets(numbers[a], numbers[b]);
  }

  SymbolTable symbols;
  DenseMap<Value, unsigned> numbers;
  SmallVector<Value> leaders;
  llvm::EquivalenceClasses<unsigned> classes;
};

} // namespace

SmallVector<HandedTensor> tpsp::handedTensors(ModuleOp module,
                                              func::FuncOp program) {
  Handed handed(module);
  for (Value argument : program.getArguments())
    handed.add(argument);
  module.walk([&](func::CallOp call) { handed.addCall(call); });
  return handed.take();
}

/// Whether functions hand the value to each other.
static bool isHanded(Value value) {
  return isa_and_present<func::CallOp>(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), [](Operation *user) {
           return isa<func::CallOp, func::ReturnOp>(user);
         });
}

SmallVector<Value> tpsp::attentionTensors(ModuleOp module) {
  llvm::SetVector<Value> found;
  module.walk([&](AttentionOpInterface op) {
    SmallVector<Value, 4> tensors(op->getOperands().take_front(3));
    tensors.push_back(op->getResult(0));
    for (Value value : tensors)
      if (isa<OpResult>(value) && !isHanded(value))
        found.insert(value);
  });
  return found.takeVector();
}
