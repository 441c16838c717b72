#ifndef TPSP_DIALECT_TPSP_OPERATIONS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_TD

// Every family, for the dialect's list of its operations.
include "tpsp/Dialect/Tpsp/AttentionOps.td"
include "tpsp/Dialect/Tpsp/BlockOps.td"
include "tpsp/Dialect/Tpsp/CollectiveOps.td"
include "tpsp/Dialect/Tpsp/ContractionOps.td"
include "tpsp/Dialect/Tpsp/DropoutOps.td"
include "tpsp/Dialect/Tpsp/FunctionOps.td"
include "tpsp/Dialect/Tpsp/IntegerOps.td"
include "tpsp/Dialect/Tpsp/MeshOp.td"
include "tpsp/Dialect/Tpsp/PointwiseOps.td"
include "tpsp/Dialect/Tpsp/ProgramOps.td"
include "tpsp/Dialect/Tpsp/RowOps.td"
include "tpsp/Dialect/Tpsp/SequenceOps.td"
include "tpsp/Dialect/Tpsp/ViewOps.td"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_TD
