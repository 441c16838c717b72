// tpsp-return-choices: return choices, which were decided by comparing numbers.
#include "Passes/Program/Placed.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_RETURNCHOICES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Whether integers come of numbers that are rounded.
bool isChoice(Operation &op) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value));
  };
  return op.getNumResults() == 1 && integerWidth(op.getResult(0)) &&
         llvm::any_of(op.getOperands(), isFloat);
}

void returnChoices(func::FuncOp function) {
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  Builder b(function.getContext());
  SmallVector<Value> results(ret.getOperands());
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  for (Operation &op : function.getBody().front()) {
    if (!isChoice(op) || llvm::is_contained(results, op.getResult(0)))
      continue;
    results.push_back(op.getResult(0));
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr(nameAttrName,
                        b.getStringAttr(tensorName(op.getResult(0)))),
         b.getNamedAttr(choiceAttrName, b.getUnitAttr())}));
  }
  ret->setOperands(results);
  function.setFunctionType(b.getFunctionType(function.getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
}

struct ReturnChoices : public tpsp::impl::ReturnChoicesBase<ReturnChoices> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock())
        returnChoices(function);
  }
};

} // namespace
