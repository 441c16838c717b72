// tpsp-bound-integers: the range of integer arguments, from their uses.
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {
#define GEN_PASS_DEF_BOUNDINTEGERS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The least bound that a use of `value`, or of a view of it, puts on its
/// integers; 0 if there is none.
int64_t boundOf(Value value) {
  int64_t bound = 0;
  for (OpOperand &use : value.getUses()) {
    auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
    if (!user)
      continue;
    int64_t asked = user.isView()
                        ? boundOf(user->getResult(0))
                        : user.getIntegerBound(use.getOperandNumber());
    if (asked > 0)
      bound = bound == 0 ? asked : std::min(bound, asked);
  }
  return bound;
}

void boundArguments(FunctionOpInterface function) {
  Builder builder(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!integerWidth(argument) || function.getArgAttr(number, belowAttrName))
      continue;
    if (int64_t bound = boundOf(argument))
      function.setArgAttr(number, belowAttrName,
                          builder.getI64IntegerAttr(bound));
  }
}

struct BoundIntegers : public tpsp::impl::BoundIntegersBase<BoundIntegers> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), boundArguments)))
      signalPassFailure();
  }
};

} // namespace
