// tpsp-count-dropped: return how many choices of tokens have found no place.
#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Routing.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_COUNTDROPPED
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// The number of choices without a place, over all that give them places; null
/// if every choice finds one.
static Value totalDropped(Block &body) {
  Value total;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto routing = dyn_cast<RoutingOpInterface>(op);
    if (!routing)
      continue;
    OpBuilder b(op.getContext());
    b.setInsertionPointAfter(&op);
    Value each = routing.buildDropped(b);
    if (!each)
      continue;
    RankedTensorType number =
        tensorOver({}, {cast<RankedTensorType>(each.getType())});
    Value sum = ReduceOp::create(b, op.getLoc(), number, ValueRange{each},
                                 b.getStringAttr("sum"));
    total = total
                ? AddOp::create(b, op.getLoc(), number, ValueRange{total, sum})
                : sum;
  }
  return total;
}

static bool hasResult(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto own = function.getResultAttrOfType<StringAttr>(i, nameAttrName))
      if (own.getValue() == name)
        return true;
  return false;
}

static void countDropped(func::FuncOp function) {
  Block &body = function.getBody().front();
  Value total = totalDropped(body);
  if (!total || hasResult(function, droppedName))
    return;
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  Builder b(function.getContext());
  SmallVector<Value> results(ret.getOperands());
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  results.push_back(total);
  attributes.push_back(b.getDictionaryAttr(
      {b.getNamedAttr(nameAttrName, b.getStringAttr(droppedName)),
       b.getNamedAttr(countAttrName, b.getUnitAttr())}));
  ret->setOperands(results);
  function.setFunctionType(b.getFunctionType(function.getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
}

namespace {

struct CountDropped : public tpsp::impl::CountDroppedBase<CountDropped> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock())
        countDropped(function);
  }
};

} // namespace
