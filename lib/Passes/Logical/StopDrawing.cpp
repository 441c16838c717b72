// tpsp-stop-drawing: makes every dropout keep every element, for evaluation.
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_STOPDRAWING
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace tpsp;

namespace {

struct StopDrawing : public tpsp::impl::StopDrawingBase<StopDrawing> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](RandomOpInterface op) { op.stopDrawing(); });
  }
};

} // namespace
