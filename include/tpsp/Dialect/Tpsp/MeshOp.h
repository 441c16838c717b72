/// tpsp.mesh. See MeshOp.td.
#ifndef TPSP_DIALECT_TPSP_MESHOP_H
#define TPSP_DIALECT_TPSP_MESHOP_H

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/MeshOp.h.inc"

#endif // TPSP_DIALECT_TPSP_MESHOP_H
