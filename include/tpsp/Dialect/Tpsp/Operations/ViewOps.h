/// Views, stop_gradient, reshard. See ViewOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_H
