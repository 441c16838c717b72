// tpsp-inline-calls: turns a program into one list of operations.
#include "Passes/Program/CallOrder.h"
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace tpsp {
#define GEN_PASS_DEF_INLINECALLS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Replaces the call by a copy of the callee's operations. The time is linear
/// in the callee, wherever the call stands in its function.
void inlineCall(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  Block &body = callee.getBody().front();
  IRMapping map;
  map.map(body.getArguments(), call.getOperands());
  std::optional<int64_t> chunk = originOf(call).chunk;
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    copy->setLoc(CallSiteLoc::get(op.getLoc(), call.getLoc()));
    if (chunk)
      changeOrigin(copy, [&](Origin &origin) { origin.chunk = chunk; });
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  call.erase();
}

struct InlineCalls : public tpsp::impl::InlineCallsBase<InlineCalls> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto order = functionsInCallOrder(getOperation(), symbols);
    if (failed(order) ||
        failed(forEachFunction(getOperation(), [](FunctionOpInterface) {})))
      return signalPassFailure();
    for (func::FuncOp function : *order)
      for (auto call : llvm::make_early_inc_range(
               function.getBody().front().getOps<func::CallOp>()))
        inlineCall(call, symbols.lookup<func::FuncOp>(call.getCallee()));
    for (func::FuncOp function : *order)
      if (function.isPrivate())
        function.erase();
  }
};

} // namespace
