/// Matches kernels whose work a matmul's epilogue can do: elementwise
/// operations, or sums.
///
/// A kernel may contain several such epilogues:
///
///     (x, bias, y, vector) -> (gelu(x + bias), x + bias, y + vector)
///
/// is "bias, keep, gelu" on x and "bias" on y. (x, sum) -> sum + x is "add" on
/// x if the result is in the memory of `sum`. Tensors are values of the
/// function.
#ifndef TPSP_PASSES_PLAN_EPILOGUEFORMS_H
#define TPSP_PASSES_PLAN_EPILOGUEFORMS_H

#include "StepSegments.h"
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

/// Whether the operation sums its only operand over some of its indices.
bool isSumOfOne(mlir::Operation *op);

/// The epilogues that compute every result of the kernel of `group`; nullopt if
/// it does anything else.
std::optional<EpilogueForm> matchEpilogue(const KernelGroup &group);

/// The additions to sums over micro-batches that compute every result of the
/// kernel of `group`; nullopt if it does anything else. Each result is in the
/// memory of the sum that it adds to.
std::optional<EpilogueForm> matchAdditions(const KernelGroup &group,
                                           const SumMemory &sums);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_EPILOGUEFORMS_H
