/// take and stack. See BlockOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H
