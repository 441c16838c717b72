/// scan, cumsum and delay: along an index, a result depends on the positions
/// before it. See SequenceOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_H
