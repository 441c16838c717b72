/// Matches kernels whose work a matmul's epilogue can do: elementwise
/// operations, or sums.
///
/// A kernel may contain several such epilogues:
///
///     (x, bias, y, vector) -> (gelu(x + bias), x + bias, y + vector)
///
/// is "bias, keep, gelu" on x and "bias" on y. Tensors are values of the
/// function.
#ifndef TPSP_PASSES_PLAN_EPILOGUEFORMS_H
#define TPSP_PASSES_PLAN_EPILOGUEFORMS_H

#include "Passes/Kernels/Kernels.h"
#include "tpsp/Abi/Commands.h"

#include <optional>

namespace tpsp {

/// A step and its tensor, which is null for Gelu.
struct EpilogueUse {
  rt::EpilogueStep step;
  mlir::Value tensor = {};
};

/// result = the steps applied to `product`, element by element. Vectors have
/// the last indices of the product.
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

/// The epilogues that compute every result of the kernel of `group`; nullopt if
/// it does anything else.
std::optional<EpilogueForm> matchEpilogue(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_EPILOGUEFORMS_H
