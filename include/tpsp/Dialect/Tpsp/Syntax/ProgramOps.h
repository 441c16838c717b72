/// Programs in short form. See ProgramOps.td.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_H
#define TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Syntax/ProgramOps.h.inc"

#endif // TPSP_DIALECT_TPSP_SYNTAX_PROGRAMOPS_H
