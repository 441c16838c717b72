// tpsp-lower-kernel-math: scalar mathematics that the vectoriser can see
// through.
#include "tpsp/Passes/DeviceMath.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tpsp {
#define GEN_PASS_DEF_LOWERKERNELMATH
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;

namespace {

/// Lets sums be reordered, which a vectorised reduction needs, and products
/// fused. Not nnan or ninf: a masked score is minus infinity.
void relax(Operation *root) {
  constexpr auto flags = arith::FastMathFlags::reassoc |
                         arith::FastMathFlags::contract |
                         arith::FastMathFlags::nsz;
  root->walk([&](arith::ArithFastMathInterface op) {
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(), flags));
  });
}

struct LowerKernelMath
    : public tpsp::impl::LowerKernelMathBase<LowerKernelMath> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    auto isF32 = [](StringRef) { return true; };
    populateMathPolynomialApproximationPatterns(set, isF32);
    RewritePatternSet conversions(context);
    arith::populateExpandBFloat16Patterns(conversions);
    mathematics = FrozenRewritePatternSet(std::move(set));
    bf16Conversions = FrozenRewritePatternSet(std::move(conversions));
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(kernel, bf16Conversions)) ||
          failed(lower(kernel)))
        return signalPassFailure();
    // GPUs have instructions for bf16.
    for (auto device : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto kernel : device.getOps<gpu::GPUFuncOp>()) {
        bool isHalf = tpsp::isInHalfPrecision(kernel);
        if (isHalf)
          tpsp::approximateExponentials(kernel);
        if (failed(lower(kernel)))
          return signalPassFailure();
        tpsp::expandDeviceMath(kernel);
        if (isHalf)
          tpsp::approximateQuotients(kernel);
      }
  }

private:
  LogicalResult lower(Operation *kernel) {
    if (failed(applyPatternsGreedily(kernel, mathematics)))
      return failure();
    relax(kernel);
    return success();
  }

  FrozenRewritePatternSet mathematics, bf16Conversions;
};

} // namespace
