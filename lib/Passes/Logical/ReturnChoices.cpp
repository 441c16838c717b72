// tpsp-return-choices: returns choices, which comparisons of numbers decide.
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_RETURNCHOICES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Whether integers depend on numbers that are rounded.
bool isChoice(Operation &op) {
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value));
  };
  return op.getNumResults() == 1 && integerWidth(op.getResult(0)) &&
         llvm::any_of(op.getOperands(), isFloat);
}

void returnChoices(FunctionOpInterface of) {
  auto function = cast<func::FuncOp>(*of);
  FunctionResults results(function);
  for (Operation &op : function.getBody().front())
    if (isChoice(op) && !llvm::is_contained(results.values, op.getResult(0)))
      results.addMarked(op.getResult(0), tensorName(op.getResult(0)),
                        choiceAttrName);
  results.setOf(function);
}

struct ReturnChoices : public tpsp::impl::ReturnChoicesBase<ReturnChoices> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), returnChoices)))
      signalPassFailure();
  }
};

} // namespace
