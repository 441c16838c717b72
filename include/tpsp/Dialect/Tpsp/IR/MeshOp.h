/// tpsp.mesh. See MeshOp.td.
#ifndef TPSP_DIALECT_TPSP_IR_MESHOP_H
#define TPSP_DIALECT_TPSP_IR_MESHOP_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h.inc"

#endif // TPSP_DIALECT_TPSP_IR_MESHOP_H
