// tpsp-bound-integers: finds the range of integer arguments from their uses.
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {
#define GEN_PASS_DEF_BOUNDINTEGERS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The smallest bound that a use of `value`, or of a view of it, puts on its
/// integers; 0 if there is none.
int64_t boundOf(Value value) {
  int64_t bound = 0;
  SmallVector<Value> shown = {value};
  while (!shown.empty())
    for (OpOperand &use : shown.pop_back_val().getUses()) {
      auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
      if (!user)
        continue;
      if (user.isView())
        shown.push_back(user->getResult(0));
      else if (int64_t asked = user.getIntegerBound(use.getOperandNumber());
               asked > 0)
        bound = bound == 0 ? asked : std::min(bound, asked);
    }
  return bound;
}

void boundArguments(FunctionOpInterface function) {
  Builder builder(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!integerWidth(argument) || attributes.get(number, belowAttrName))
      continue;
    if (int64_t bound = boundOf(argument))
      attributes.set(number, belowAttrName, builder.getI64IntegerAttr(bound));
  }
  attributes.write();
}

struct BoundIntegers : public tpsp::impl::BoundIntegersBase<BoundIntegers> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), boundArguments)))
      signalPassFailure();
  }
};

} // namespace
