/// Splits loops that draw random bits into strips. Vectors of whole blocks are
/// drawn into a small array on the stack, which the strip's elements then read.
///
///   for i in 0..4096: y[i] = f(x[i], random_bits(i / 4, i % 4))
///
/// becomes
///
///   for s in 0..4096 step 128:
///     words[0..127] = the blocks s / 4 ... s / 4 + 31
///     for i in s..s+127: y[i] = f(x[i], words[i - s])
///
/// Every word of a block is used, wherever a row begins. LLVM vectorises the
/// inner loop, which needs no shuffles.
#ifndef TPSP_PASSES_LOWERING_RANDOMSTRIPS_H
#define TPSP_PASSES_LOWERING_RANDOMSTRIPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// Splits the innermost loops of a CPU's kernel that draw the random bits of
/// neighbours. Other draws stay. The kernel must have loops in place of linalg
/// operations.
void drawInStrips(mlir::func::FuncOp kernel);

} // namespace tpsp

#endif // TPSP_PASSES_LOWERING_RANDOMSTRIPS_H
