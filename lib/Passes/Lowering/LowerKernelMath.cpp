// tpsp-lower-kernel-math: expands scalar mathematics so that loops vectorise.
#include "Passes/Device/DeviceMath.h"
#include "Passes/Lowering/FunctionExpansion.h"
#include "Passes/Lowering/RandomStrips.h"
#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tpsp {
#define GEN_PASS_DEF_LOWERKERNELMATH
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;

namespace {

/// Lets operations in bf16, such as a router's comparisons of scores, compute
/// in f32.
LogicalResult widenBF16(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  TypeConverter widened;
  arith::populateEmulateUnsupportedFloatsConversions(
      widened, BFloat16Type::get(context), Float32Type::get(context));
  RewritePatternSet patterns(context);
  arith::populateEmulateUnsupportedFloatsPatterns(patterns, widened);
  ConversionTarget target(*context);
  arith::populateEmulateUnsupportedFloatsLegality(target, widened);
  return applyPartialConversion(kernel, target, std::move(patterns));
}

/// Replaces bf16 by integers in loads and stores, once conversions are integer
/// arithmetic. Otherwise LLVM keeps a bf16 across a branch in f32, and narrows
/// it by a call that few libraries have.
void storeBF16AsIntegers(func::FuncOp kernel) {
  auto i16 = IntegerType::get(kernel.getContext(), 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](BFloat16Type) -> Type { return i16; });
  using Replaced = std::optional<std::pair<Attribute, WalkResult>>;
  replacer.addReplacement([=](FloatAttr number) -> Replaced {
    if (!number.getType().isBF16())
      return std::nullopt;
    APInt bits = number.getValue().bitcastToAPInt();
    return {{IntegerAttr::get(i16, bits), WalkResult::skip()}};
  });
  replacer.addReplacement([=](DenseElementsAttr numbers) -> Replaced {
    if (!numbers.getElementType().isBF16())
      return std::nullopt;
    return {{numbers.bitcast(i16), WalkResult::skip()}};
  });
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  kernel.walk([](arith::BitcastOp op) {
    if (op.getIn().getType() != op.getType())
      return;
    op.replaceAllUsesWith(op.getIn());
    op.erase();
  });
}

/// Elements of a row, such as logits of a vocabulary, for each of which there
/// are wider numbers.
constexpr int64_t shortestRow = 4096;

/// Whether all numbers that a kernel reads and writes have 16 bits, which are
/// far coarser than a GPU's approximate instructions. Wider numbers may be
/// there if they are of rows of such numbers: maxima, sums, losses.
bool hasShortNumbers(gpu::GPUFuncOp kernel) {
  int64_t rows = 0;
  for (Type type : kernel.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type);
        buffer && isa<FloatType>(buffer.getElementType()) &&
        buffer.getElementTypeBitWidth() == 16)
      rows = std::max(rows, buffer.getNumElements() / shortestRow);
  return llvm::all_of(kernel.getArgumentTypes(), [&](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    return !buffer || buffer.getElementType().isInteger() ||
           buffer.getElementTypeBitWidth() == 16 ||
           (buffer.getElementTypeBitWidth() == 32 &&
            buffer.getNumElements() <= rows);
  });
}

/// Lets quotients of f32 be off by two units in the last place.
void approximateQuotients(gpu::GPUFuncOp kernel) {
  kernel.walk([](arith::DivFOp op) {
    if (op.getType().isF32())
      op.setFastmath(arith::FastMathFlags::afn);
  });
}

struct LowerKernelMath
    : public tpsp::impl::LowerKernelMathBase<LowerKernelMath> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    auto functions = [&](tpsp::Exponential exponential) {
      RewritePatternSet set(context);
      tpsp::populateExpandF32Functions(set, exponential);
      tpsp::populateExpandRandomBits(set);
      return set;
    };
    auto forDevice = [&](tpsp::Exponential exponential) {
      RewritePatternSet set = functions(exponential);
      tpsp::populateExpandF64Functions(set);
      return FrozenRewritePatternSet(std::move(set));
    };
    hostFunctions =
        FrozenRewritePatternSet(functions(tpsp::Exponential::Polynomial));
    deviceFunctions = forDevice(tpsp::Exponential::Polynomial);
    shortFunctions = forDevice(tpsp::Exponential::Instruction);
    RewritePatternSet conversions(context);
    arith::populateExpandBFloat16Patterns(conversions);
    bf16Conversions = FrozenRewritePatternSet(std::move(conversions));
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      tpsp::drawInStrips(kernel);
      if (failed(widenBF16(kernel)) ||
          failed(applyPatternsGreedily(kernel, bf16Conversions)) ||
          failed(applyPatternsGreedily(kernel, hostFunctions)))
        return signalPassFailure();
      storeBF16AsIntegers(kernel);
    }
    // GPUs have instructions for bf16, so the conversions stay.
    for (auto device : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto kernel : device.getOps<gpu::GPUFuncOp>()) {
        bool isShort = hasShortNumbers(kernel);
        if (failed(applyPatternsGreedily(kernel, isShort ? shortFunctions
                                                         : deviceFunctions)))
          return signalPassFailure();
        tpsp::replaceByInstructions(kernel);
        if (isShort)
          approximateQuotients(kernel);
      }
  }

private:
  FrozenRewritePatternSet hostFunctions, deviceFunctions, shortFunctions,
      bf16Conversions;
};

} // namespace
