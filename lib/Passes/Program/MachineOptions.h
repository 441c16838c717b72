/// Reads the options `hardware` and `threads` of passes that estimate times.
#ifndef TPSP_PASSES_PROGRAM_MACHINEOPTIONS_H
#define TPSP_PASSES_PROGRAM_MACHINEOPTIONS_H

#include "tpsp/Schedule/CostModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// The options of the pass called `pass`, which runs on `root`.
struct MachineOptions {
  mlir::Operation *root;
  llvm::StringRef pass;
  const HardwareChoice &hardware;
  int64_t threads;

  /// Reads the machine, which lives as long as the choice; null after a
  /// diagnostic.
  const Hardware *read() const;
};

/// The cost model of programs on this mesh. Fails with a diagnostic at `op` if
/// the machine is too small for the mesh.
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
