/// Scalar functions of device kernels, without a library for them.
#ifndef TPSP_PASSES_DEVICE_DEVICEMATH_H
#define TPSP_PASSES_DEVICE_DEVICEMATH_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tpsp {

/// Replaces the operations that are left in `math` after functions are expanded
/// (Passes/Lowering/FunctionExpansion.h). Roots and similar functions become
/// intrinsics that GPUs have instructions for. Other functions of f64 stay.
void replaceByInstructions(mlir::gpu::GPUFuncOp kernel);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEMATH_H
