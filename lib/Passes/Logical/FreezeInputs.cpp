// tpsp-freeze-inputs: marks inputs as constants to differentiation.
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {
#define GEN_PASS_DEF_FREEZEINPUTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

void freezeInputs(FunctionOpInterface function) {
  auto mark = UnitAttr::get(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && isa<FloatType>(type.getElementType()) &&
        !attributes.get(number, paramAttrName) &&
        !attributes.get(number, receivedAttrName))
      attributes.set(number, frozenAttrName, mark);
  }
  attributes.write();
}

struct FreezeInputs : public tpsp::impl::FreezeInputsBase<FreezeInputs> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), freezeInputs)))
      signalPassFailure();
  }
};

} // namespace
