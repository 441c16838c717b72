// tpsp-bound-integers: finds the range of integer arguments from their uses,
// and which are labels.
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Abi/DataRole.h"
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

/// Calls `visit` for all uses of `value` and of its views.
template <typename Visit> void forEachUse(Value value, Visit visit) {
  SmallVector<Value> shown = {value};
  while (!shown.empty())
    for (OpOperand &use : shown.pop_back_val().getUses()) {
      auto user = dyn_cast<IndexedOpInterface>(use.getOwner());
      if (!user)
        continue;
      if (user.isView())
        shown.push_back(user->getResult(0));
      else
        visit(user, use.getOperandNumber());
    }
}

/// The smallest bound that a use of `value` puts on its integers; 0 if there is
/// none.
int64_t boundOf(Value value) {
  int64_t bound = 0;
  forEachUse(value, [&](IndexedOpInterface user, unsigned i) {
    if (int64_t asked = user.getIntegerBound(i); asked > 0)
      bound = bound == 0 ? asked : std::min(bound, asked);
  });
  return bound;
}

/// Whether a use of `value` masks what its negative integers label.
bool isLabels(Value value) {
  bool result = false;
  forEachUse(value, [&](IndexedOpInterface user, unsigned i) {
    result |= user.takesLabels(i);
  });
  return result;
}

void boundArguments(FunctionOpInterface function) {
  Builder builder(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!integerWidth(argument))
      continue;
    auto setIfNew = [&](StringRef name, Attribute value) {
      if (!attributes.get(number, name))
        attributes.set(number, name, value);
    };
    if (int64_t bound = boundOf(argument))
      setIfNew(belowAttrName, builder.getI64IntegerAttr(bound));
    if (isLabels(argument))
      setIfNew(dataAttrName, builder.getStringAttr(nameOf(DataRole::Labels)));
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
