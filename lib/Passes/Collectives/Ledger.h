/// What there is to say of a collective: the row of the ledger.
#ifndef TPSP_PASSES_COLLECTIVES_LEDGER_H
#define TPSP_PASSES_COLLECTIVES_LEDGER_H

#include "Passes/Program/Placed.h"

namespace tpsp {

/// The step of the algebra that a collective (verified) performs.
CollectiveStep stepOf(CollectiveOpInterface op, const Mesh &mesh);

/// {axes, index, phase, bytes, tensor, reason, group}: the axes' names; the
/// index that moves ("s", or "s -> h" for all-to-all, "" for all-reduce);
/// "forward" or "backward"; bytes sent per rank by the ring algorithm, of all
/// tensors together; the tensor's name; the rule that asked for it; the number
/// of ranks that take part. Works on global and on local types.
mlir::DictionaryAttr ledgerOf(CollectiveOpInterface op, const Mesh &mesh);

/// "dp,tp", of a row.
std::string axesOf(mlir::DictionaryAttr row);

/// The row of one of `pieces` equal pieces of a collective of kind `kind` (the
/// mnemonic of its command) with the row `row`, which may be null. Pieces of
/// one collective have the same number `whole`; the report adds them up.
mlir::DictionaryAttr rowOfPiece(mlir::DictionaryAttr row, llvm::StringRef kind,
                                int64_t pieces, int64_t whole);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_LEDGER_H
