/// Which operations a library computes in one call.
#ifndef TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
#define TPSP_PASSES_PROGRAM_LIBRARYCALLS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Algebra/AttentionHeads.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Whether a backend's library computes `op` as a whole (plan.attention). The
/// library is a GPU's if the plan is for one, else the CPU backend's own. If
/// only an operation's shapes or types prevent that, a remark says so. The
/// remark's category is `pass`, the argument of the pass that asks.
bool isLibraryCall(mlir::Operation *op, bool forGpu, llvm::StringRef pass);

/// The work of such a call, with queries that start at key 0.
AttentionWork attentionWork(AttentionOpInterface op,
                            const AttentionHeads &heads);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
