#include "FunctionResults.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tpsp;

static Operation *returnOf(func::FuncOp function) {
  return function.getBody().front().getTerminator();
}

void tpsp::updateType(func::FuncOp function) {
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(),
      returnOf(function)->getOperandTypes()));
}

FunctionResults::FunctionResults(func::FuncOp function)
    : values(returnOf(function)->getOperands()) {
  function.getAllResultAttrs(attributes);
}

void FunctionResults::addMarked(Value value, StringRef name, StringRef mark) {
  Builder b(value.getContext());
  add(value,
      b.getDictionaryAttr({b.getNamedAttr(nameAttrName, b.getStringAttr(name)),
                           b.getNamedAttr(mark, b.getUnitAttr())}));
}

void FunctionResults::setOf(func::FuncOp function) const {
  returnOf(function)->setOperands(values);
  updateType(function);
  function.setAllResultAttrs(attributes);
}
