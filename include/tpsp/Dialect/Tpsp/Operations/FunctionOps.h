/// Scalar functions of every element. See FunctionOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_H
