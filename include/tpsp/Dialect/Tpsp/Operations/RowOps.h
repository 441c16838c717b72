/// Operations that need an index unsharded. See RowOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_H
