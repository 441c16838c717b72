/// Attention and its gradient. See AttentionOps.td.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_H
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h.inc"

namespace tpsp {

/// The indices of a row of scores: those of the queries `q` except `feature`,
/// with `query` last.
llvm::SmallVector<llvm::StringRef>
rowIndices(mlir::Value q, llvm::StringRef query, llvm::StringRef feature);

/// The type of a row's statistic and of sums over keys: f32; f64 for f64.
mlir::Type statisticType(mlir::Value q);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_H
