/// The row of the ledger that describes a collective.
#ifndef TPSP_PASSES_COLLECTIVES_LEDGER_H
#define TPSP_PASSES_COLLECTIVES_LEDGER_H

#include "Passes/Program/Placed.h"
#include "tpsp/Abi/LedgerRow.h"

namespace tpsp {

/// The step of the algebra that a collective (verified) performs.
CollectiveStep stepOf(CollectiveOpInterface op, const Mesh &mesh);
/// The step for one of its operands, whose dimension may differ from the
/// first's.
CollectiveStep stepOf(CollectiveOpInterface op, mlir::Value operand,
                      mlir::Value result, const Mesh &mesh);

/// The row of a collective. The bytes of several tensors are added. Works on
/// global and on local types. The row has no location and no commands.
LedgerRow ledgerOf(CollectiveOpInterface op, const Mesh &mesh);

/// How often a step runs an operation: more than once if it stands for those of
/// all micro-batches.
int64_t timesOf(mlir::Operation *op);

/// The axes of a row: "dp,tp".
std::string axesOf(const LedgerRow &row);

/// The row of one of `pieces` equal pieces of a collective. Pieces of one
/// collective share the number `whole`, by which the plan adds them up.
LedgerRow rowOfPiece(LedgerRow row, int64_t pieces, int64_t whole);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_LEDGER_H
