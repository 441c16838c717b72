#ifndef TPSP_DIALECT_TPSP_OPERATIONS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_TD

// Every family, for the dialect's list of its operations.
include "tpsp/Dialect/Tpsp/Attention/AttentionOps.td"
include "tpsp/Dialect/Tpsp/Operations/BlockOps.td"
include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.td"
include "tpsp/Dialect/Tpsp/Operations/ContractionOps.td"
include "tpsp/Dialect/Tpsp/Operations/DropoutOps.td"
include "tpsp/Dialect/Tpsp/Operations/FunctionOps.td"
include "tpsp/Dialect/Tpsp/Integers/IntegerOps.td"
include "tpsp/Dialect/Tpsp/IR/MeshOp.td"
include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.td"
include "tpsp/Dialect/Tpsp/Syntax/ProgramOps.td"
include "tpsp/Dialect/Tpsp/Operations/RowOps.td"
include "tpsp/Dialect/Tpsp/Operations/SequenceOps.td"
include "tpsp/Dialect/Tpsp/Operations/ViewOps.td"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_TD
