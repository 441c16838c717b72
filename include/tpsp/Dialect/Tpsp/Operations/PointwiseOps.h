/// Pointwise operations. See PointwiseOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_POINTWISEOPS_H
