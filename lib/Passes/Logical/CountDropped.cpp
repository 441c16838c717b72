// tpsp-count-dropped: returns the number of token choices that found no place.
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/FunctionWalk.h"

#include "tpsp/Dialect/Tpsp/Integers/Routing.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_COUNTDROPPED
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// The numbers of choices without a place, added over operations that assign
/// places in the same groups. Ranks divide groups, so there is no sum over
/// groups.
static SmallVector<Value> totalsDropped(Block &body) {
  SmallVector<Value> totals;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto routing = dyn_cast<RoutingOpInterface>(op);
    if (!routing)
      continue;
    OpBuilder b(op.getContext());
    b.setInsertionPointAfter(&op);
    Value dropped = routing.buildDropped(b);
    if (!dropped)
      continue;
    auto *alike = llvm::find_if(totals, [&](Value total) {
      return total.getType() == dropped.getType();
    });
    if (alike == totals.end())
      totals.push_back(dropped);
    else
      *alike = AddOp::create(b, op.getLoc(), dropped.getType(),
                             ValueRange{*alike, dropped});
  }
  return totals;
}

static bool hasResult(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto own = function.getResultAttrOfType<StringAttr>(i, nameAttrName))
      if (own.getValue() == name)
        return true;
  return false;
}

static void countDropped(FunctionOpInterface of) {
  auto function = cast<func::FuncOp>(*of);
  if (hasResult(function, droppedName))
    return;
  SmallVector<Value> totals = totalsDropped(function.getBody().front());
  if (totals.empty())
    return;
  FunctionResults results(function);
  for (auto [number, total] : llvm::enumerate(totals)) {
    std::string name = droppedName.str();
    if (number > 0)
      name += "#" + std::to_string(number + 1);
    results.addMarked(total, name, countAttrName);
  }
  results.setOf(function);
}

namespace {

struct CountDropped : public tpsp::impl::CountDroppedBase<CountDropped> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), countDropped)))
      signalPassFailure();
  }
};

} // namespace
