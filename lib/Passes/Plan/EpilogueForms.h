/// Kernels that a matmul's epilogue can do: what their operations compute,
/// element by element or as sums.
///
/// The kernel may do several such things side by side:
///
///     (x, bias, y, vector) -> (gelu(x + bias), x + bias, y + vector)
///
/// is "bias, keep, gelu" of x and "bias" of y. Tensors are values of the
/// function.
#ifndef TPSP_PASSES_PLAN_EPILOGUEFORMS_H
#define TPSP_PASSES_PLAN_EPILOGUEFORMS_H

#include "Passes/Kernels/Kernels.h"
#include "tpsp/Abi/Commands.h"

#include <optional>

namespace tpsp {

/// A step and its tensor, which is null of Gelu.
struct EpilogueUse {
  rt::EpilogueStep step;
  mlir::Value tensor = {};
};

/// result = the steps' value of `product`, element by element. Vectors have the
/// indices that the product has last.
struct PointwiseEpilogue {
  mlir::Value product, result;
  llvm::SmallVector<EpilogueUse, 3> steps;
};

/// result = the sum of `summed` over all but its last indices, which are the
/// result's.
struct SumEpilogue {
  mlir::Value summed, result;
};

struct EpilogueForm {
  llvm::SmallVector<PointwiseEpilogue, 2> pointwise;
  llvm::SmallVector<SumEpilogue, 2> sums;
};

/// What the kernel of `group` does, every result of it; nullopt if it does
/// anything else.
std::optional<EpilogueForm> matchEpilogue(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_EPILOGUEFORMS_H
