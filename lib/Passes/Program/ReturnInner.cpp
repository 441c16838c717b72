#include "tpsp/Passes/Program/ReturnInner.h"

#include "FunctionResults.h"
#include "Placed.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Adds inner values to a function's results.
class InnerResults {
public:
  explicit InnerResults(func::FuncOp function)
      : function(function), results(function) {}

  void add(ArrayRef<std::string> names) {
    llvm::StringSet<> wanted;
    for (const std::string &name : names)
      wanted.insert(name);
    for (Operation &op : function.getBody().front().without_terminator())
      for (Value value : op.getResults())
        if (wanted.contains(tensorName(value)))
          add(value, /*withGradient=*/true);
    for (Value value : llvm::to_vector(results.values))
      addSummands(value);
    results.setOf(function);
  }

private:
  void addSummands(Value value) {
    if (auto sum = value.getDefiningOp<AddOp>())
      for (Value summand : sum->getOperands())
        if (summand.getDefiningOp())
          add(summand, /*withGradient=*/false);
  }

  /// Adds a value of floating-point numbers, once.
  void add(Value value, bool withGradient) {
    if (!getIdx(value) || !isa<FloatType>(getElementTypeOrSelf(value)) ||
        llvm::is_contained(results.values, value))
      return;
    Builder b(value.getContext());
    results.add(
        value,
        b.getDictionaryAttr(
            {b.getNamedAttr(nameAttrName, b.getStringAttr(tensorName(value))),
             b.getNamedAttr(innerAttrName, b.getBoolAttr(withGradient))}));
  }

  func::FuncOp function;
  FunctionResults results;
};

} // namespace

void tpsp::returnInner(func::FuncOp function, ArrayRef<std::string> names) {
  InnerResults(function).add(names);
}

SmallVector<size_t> tpsp::innerGradientsOf(func::FuncOp differentiated) {
  SmallVector<size_t> numbers;
  for (unsigned i = 0; i < differentiated.getNumResults(); ++i)
    if (auto of = differentiated.getResultAttrOfType<IntegerAttr>(
            i, innerGradientAttrName))
      numbers.push_back(of.getInt());
  return numbers;
}
