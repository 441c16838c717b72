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

/// Whether every floating-point buffer of a kernel is of 16 bits: what is
/// rounded to 8 or 11 bits needs no last bit of f32. With it a kernel of
/// exponentials and quotients is bound by memory; without, by instructions.
bool isInHalfPrecision(mlir::gpu::GPUFuncOp kernel);
/// exp of f32 as 2^(x log2(e)), which is an instruction. Its relative error is
/// 2^-22 or so, and that of x log2(e), some |x| 2^-24. Before functions become
/// polynomials.
void approximateExponentials(mlir::gpu::GPUFuncOp kernel);
/// Quotients of f32 to two units in the last place, and zero where the divisor
/// is beyond 2^126. Last: it marks operations.
void approximateQuotients(mlir::gpu::GPUFuncOp kernel);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_DEVICEMATH_H
