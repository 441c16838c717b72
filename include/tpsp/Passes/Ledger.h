/// What there is to say of a collective: the row of the ledger.
#ifndef TPSP_PASSES_LEDGER_H
#define TPSP_PASSES_LEDGER_H

#include "tpsp/Passes/Placed.h"

namespace tpsp {

/// The step of the algebra that a collective (verified) performs.
CollectiveStep stepOf(CollectiveOpInterface op, const Mesh &mesh);

/// {axes, index, phase, bytes, tensor, reason, group}: the axes' names; the
/// index that moves ("s", or "s -> h" for all-to-all, "" for all-reduce);
/// "forward" or "backward"; bytes sent per rank by the ring algorithm, of all
/// tensors together; the tensor's name; the rule that asked for it; the number
/// of ranks that take part. Works on global and on local types.
mlir::DictionaryAttr ledgerOf(CollectiveOpInterface op, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_LEDGER_H
