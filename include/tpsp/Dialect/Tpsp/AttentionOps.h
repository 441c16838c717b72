/// Attention and its parts. See AttentionOps.td.
#ifndef TPSP_DIALECT_TPSP_ATTENTIONOPS_H
#define TPSP_DIALECT_TPSP_ATTENTIONOPS_H

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/AttentionOps.h.inc"

#endif // TPSP_DIALECT_TPSP_ATTENTIONOPS_H
