/// Expands scalar functions into arithmetic, which vectorises and needs no
/// library.
///
/// Operations are emitted without fast-math flags, so LLVM neither reorders nor
/// fuses them. The errors below are those of FunctionAccuracyTest.cpp, in units
/// in the last place of the result, over all numbers of the type, including
/// denormal ones. Infinities and NaNs give the values of C's library.
///
///     f32   exp 1, log 0.8, tanh 0.95, sin and cos 0.51, erfc 4
///     f64   exp, sin and cos 1e-15 of the largest of their values nearby;
///           sin and cos up to 2^30
#ifndef TPSP_PASSES_LOWERING_FUNCTIONEXPANSION_H
#define TPSP_PASSES_LOWERING_FUNCTIONEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace tpsp {

/// How powers of e in f32 are computed: by a polynomial, or by an approximate
/// math.exp2. GPUs have an instruction for the latter, with an error of
/// 2^-22 + 2^-23 |x|.
enum class Exponential { Polynomial, Instruction };

/// Adds patterns for math.exp, log, tanh, sin, cos and erfc of f32. Their
/// results use math.fma, math.absf and, with Exponential::Instruction,
/// math.exp2.
void populateExpandF32Functions(
    mlir::RewritePatternSet &patterns,
    Exponential exponential = Exponential::Polynomial);

/// Adds patterns for math.exp, sin and cos of f64, for targets without a
/// library. Their results use math.fma and math.roundeven.
void populateExpandF64Functions(mlir::RewritePatternSet &patterns);

} // namespace tpsp

#endif // TPSP_PASSES_LOWERING_FUNCTIONEXPANSION_H
