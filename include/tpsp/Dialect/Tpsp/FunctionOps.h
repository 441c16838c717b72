/// Scalar functions of every element. See FunctionOps.td.
#ifndef TPSP_DIALECT_TPSP_FUNCTIONOPS_H
#define TPSP_DIALECT_TPSP_FUNCTIONOPS_H

#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/FunctionOps.h.inc"

#endif // TPSP_DIALECT_TPSP_FUNCTIONOPS_H
