/// Layers that come one after another: calls of one function of which each
/// takes the result of the last.
///
///   %x1 = call @layer(%x0, %w0)     a run of three, if nothing else
///   %x2 = call @layer(%x1, %w1)     reads %x1 and %x2
///   %x3 = call @layer(%x2, %w2)
#ifndef TPSP_COMPILE_LAYERRUNS_H
#define TPSP_COMPILE_LAYERRUNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

namespace tpsp {

using LayerRun = llvm::SmallVector<mlir::func::CallOp>;

/// The runs of more than `shortest` layers, in the order of the program.
llvm::SmallVector<LayerRun> layerRuns(mlir::func::FuncOp program,
                                      size_t shortest);

/// Keeps the first `depths[i]` layers of run i. What followed the last layer
/// follows the last that is left. Arguments that nothing reads any more go: the
/// result says which, of those that there were.
llvm::BitVector keepLayers(mlir::func::FuncOp program,
                           llvm::ArrayRef<LayerRun> runs,
                           llvm::ArrayRef<size_t> depths);

} // namespace tpsp

#endif // TPSP_COMPILE_LAYERRUNS_H
