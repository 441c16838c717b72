/// What passes that ask for times do with their options `hardware` and
/// `threads`.
#ifndef TPSP_PASSES_PROGRAM_MACHINEOPTIONS_H
#define TPSP_PASSES_PROGRAM_MACHINEOPTIONS_H

#include "tpsp/Schedule/CostModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// The options of a pass of this name, which runs on `root`.
struct MachineOptions {
  mlir::Operation *root;
  llvm::StringRef pass;
  const HardwareChoice &hardware;
  int64_t threads;

  /// The machine, which lasts as long as the choice; null after a diagnostic.
  const Hardware *read() const;
};

/// Costs of what has this mesh. Fails with a diagnostic at `op` where the
/// machine is too small for it.
mlir::FailureOr<CostModel> costsOn(const Hardware &machine, const Mesh &mesh,
                                   int64_t threads, mlir::Operation *op);

/// Calls `visit` for every function of the root, with its costs if the pass
/// decides by time.
mlir::LogicalResult forEachFunction(
    const MachineOptions &options, bool asksForTime,
    llvm::function_ref<void(mlir::FunctionOpInterface function,
                            const Mesh &mesh, std::optional<CostModel> cost)>
        visit);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_MACHINEOPTIONS_H
