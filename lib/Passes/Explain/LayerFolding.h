/// Layers in a list of equations: a block of equations that comes several times
/// in a row, each time with what the time before made.
///
/// A block is the equations of one call, or of up to eight calls and what is
/// written between them. Blocks are equal if their equations are, but for the
/// names of tensors. Each name must change from block to block in one of these
/// ways:
///
/// - it does not (a table of positions);
/// - the tensor is made at the same place of the next block (an activation), or
///   of the block before (what layers hand on);
/// - it is the same operation's of the next layer (what the backward pass reads
///   of the forward pass);
/// - it is an argument of each block's own (weights).
///
/// The first block may be handed something that no block makes (the model's
/// input). It then counts as made by the layer before the first.
#ifndef TPSP_PASSES_EXPLAIN_LAYERFOLDING_H
#define TPSP_PASSES_EXPLAIN_LAYERFOLDING_H

#include "tpsp/Passes/Program/Repetition.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tpsp {

/// An equation as far as folding is concerned.
struct FoldedItem {
  /// Equal for equations that differ in names only.
  unsigned form = 0;
  /// The tensors, in the order in which the equation has them.
  llvm::SmallVector<mlir::Value> tensors;
  /// Those of them that it makes.
  llvm::SmallVector<mlir::Value, 1> made;
  /// Equal within a phase.
  unsigned phase = 0;
  /// Stands for the equation in the program.
  mlir::Operation *op = nullptr;
};

struct LayerFold {
  size_t begin, period, times;
  /// How many calls the blocks share.
  size_t level = 0;
  /// Pairs of a tensor that the first block is handed, and the tensor that
  /// takes its place in the second block.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> handedOn;

  size_t end() const { return begin + period * times; }
  /// Items that need not be written.
  size_t saved() const { return period * (times - 1); }
};

/// The folds of a list, in order.
std::vector<LayerFold> foldLayers(llvm::ArrayRef<FoldedItem> items,
                                  const Repetition &repetition);

/// The number of the call at `level` that an item of the block comes from;
/// nullopt if there is none.
std::optional<unsigned> callOf(llvm::ArrayRef<FoldedItem> block, size_t level,
                               const Repetition &repetition);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_LAYERFOLDING_H
