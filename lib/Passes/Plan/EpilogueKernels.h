/// Kernels that a matmul's epilogue can do: what they compute, read off their
/// loops and the arithmetic in them.
///
/// The kernel may do several such things side by side:
///
///     (x, bias, y, vector) -> (gelu(x + bias), x + bias, y + vector)
///
/// is "bias, keep, gelu" of x and "bias" of y.
#ifndef TPSP_PASSES_PLAN_EPILOGUEKERNELS_H
#define TPSP_PASSES_PLAN_EPILOGUEKERNELS_H

#include "tpsp/Abi/Commands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tpsp {

/// A step, and the number of the kernel's argument that is its buffer; of Gelu,
/// which has none, it says nothing.
struct KernelStep {
  rt::EpilogueStep step;
  unsigned argument = 0;
};

/// result = the steps' value of `product`, element by element. Vectors have the
/// shape of the product's last dimensions. Numbers of arguments.
struct PointwisePart {
  unsigned product = 0, result = 0;
  llvm::SmallVector<KernelStep, 3> steps;
};

/// result = the sum of `summed` over all but its last dimensions, which are the
/// result's shape.
struct SumPart {
  unsigned summed = 0, result = 0;
};

struct EpilogueKernel {
  llvm::SmallVector<PointwisePart, 2> pointwise;
  llvm::SmallVector<SumPart, 2> sums;
};

/// What the kernel's function does, every result of it; nullopt if it does
/// anything else. The first `inputs` arguments are read, the other buffers are
/// written.
std::optional<EpilogueKernel> matchEpilogueKernel(mlir::func::FuncOp function,
                                                  unsigned inputs);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_EPILOGUEKERNELS_H
