/// Layers that come one after another and repeat. They are calls of which each
/// takes the result of the last, of one function or of a few in turn.
///
///   %x1 = call @local(%x0, %w0)     a run of two units of two layers, if
///   %x2 = call @global(%x1, %w1)    nothing else reads %x1 to %x3
///   %x3 = call @local(%x2, %w2)
///   %x4 = call @global(%x3, %w3)
///
/// The planner keeps a few units of each run, compiles these, and adds the time
/// of the others.
#ifndef TPSP_PASSES_PROGRAM_LAYERRUNS_H
#define TPSP_PASSES_PROGRAM_LAYERRUNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

#include <string>

namespace tpsp {

struct LayerRun {
  /// Whole units.
  llvm::SmallVector<mlir::func::CallOp> calls;
  /// Calls of a unit.
  size_t period = 1;

  /// How many units there are.
  size_t size() const { return calls.size() / period; }
  /// Runs of one name have the same units: "local, global".
  std::string name() const;
};

/// The runs of more than `shortest` units, in the order of the program. A unit
/// has at most four layers.
llvm::SmallVector<LayerRun> layerRuns(mlir::func::FuncOp program,
                                      size_t shortest);

/// Keeps the first `depths[i]` units of run i. What followed the last layer
/// follows the last that is left. Arguments that nothing reads any more go: the
/// result says which, of those that there were.
llvm::BitVector keepLayers(mlir::func::FuncOp program,
                           llvm::ArrayRef<LayerRun> runs,
                           llvm::ArrayRef<size_t> depths);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_LAYERRUNS_H
