/// Scalar functions of device kernels, without a library for them.
#ifndef TPSP_PASSES_DEVICE_DEVICEMATH_H
#define TPSP_PASSES_DEVICE_DEVICEMATH_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tpsp {

/// Replaces what is left in `math` once functions of f32 are polynomials. Roots
/// and the like become intrinsics that GPUs have instructions for. Rotations
/// compute their angles with exp, sin and cos of f64, which become polynomials
/// (to 1e-15 of the function, of angles up to 2^30). Other functions of f64
/// stay.
///
/// After sums were allowed to be reordered: reductions of an argument to its
/// period must not be.
void expandDeviceMath(mlir::gpu::GPUFuncOp kernel);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEMATH_H
