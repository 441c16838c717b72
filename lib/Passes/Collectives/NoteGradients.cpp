// tpsp-note-gradients: notes on collectives whose gradients they move.
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/GradientWays.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_NOTEGRADIENTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// Notes the arguments if all tensors are on the way to gradients.
static void note(CollectiveOpInterface op, const GradientWays &ways) {
  llvm::SmallSetVector<int64_t, 4> arguments;
  for (Value result : op->getResults()) {
    if (ways.of(result).empty())
      return;
    arguments.insert_range(ways.of(result));
  }
  SmallVector<int64_t> numbers = arguments.takeVector();
  llvm::sort(numbers);
  op->setAttr("gradients", DenseI64ArrayAttr::get(op.getContext(), numbers));
}

namespace {

struct NoteGradients : public tpsp::impl::NoteGradientsBase<NoteGradients> {
  using Base::Base;
  void runOnOperation() override {
    auto visit = [](FunctionOpInterface function) {
      GradientWays ways(function);
      function->walk([&](CollectiveOpInterface op) { note(op, ways); });
      // The marks are no longer needed.
      function->walk([](Operation *op) {
        for (Value result : op->getResults())
          if (getResultAttr(result, gradientsAttrName))
            setResultAttr(result, gradientsAttrName, {});
      });
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
