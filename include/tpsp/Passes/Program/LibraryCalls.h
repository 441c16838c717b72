/// Which operations a library does in one call.
#ifndef TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
#define TPSP_PASSES_PROGRAM_LIBRARYCALLS_H

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Whether a backend's library does `op` as a whole (plan.attention): a GPU's,
/// if the plan is for one, else the CPU backend's own. Where only an
/// operation's shapes or types stand in the way, a remark says so. The remark's
/// category is the pass that asks, by its argument.
bool isLibraryCall(mlir::Operation *op, bool forGpu, llvm::StringRef pass);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_LIBRARYCALLS_H
