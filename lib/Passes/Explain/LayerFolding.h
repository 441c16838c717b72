/// Layers in a list of equations: a block of equations that comes several times
/// in a row, each time with what the time before made.
///
/// Blocks are equal if their equations are, but for the names of tensors. Names
/// must change from block to block in one of these ways, in every place of the
/// block:
///
/// - the same in all blocks (a table of positions);
/// - made so many equations later for every block: within the block (an
///   activation), in the block before (what layers hand on), or anywhere (what
///   the backward pass reads of the forward pass);
/// - an argument of each block's own (weights).
///
/// The first block may be handed something that no block makes (the model's
/// input). It then counts as made by the block before the first.
#ifndef TPSP_PASSES_EXPLAIN_LAYERFOLDING_H
#define TPSP_PASSES_EXPLAIN_LAYERFOLDING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace tpsp {

/// An equation as far as folding is concerned.
struct FoldedItem {
  /// Equal for equations that differ in names only.
  unsigned form = 0;
  /// Numbers of the tensors' names, in the order in which the equation has
  /// them.
  llvm::SmallVector<unsigned> names;
  /// The names that it makes.
  llvm::SmallVector<unsigned, 1> made;
  /// Equal within a phase.
  unsigned phase = 0;
  /// Names of the calls that it was inlined from, outermost first.
  llvm::SmallVector<llvm::StringRef> calls;
};

struct LayerFold {
  size_t begin, period, times;
  /// Pairs of a name that the first block is handed, and the name that takes
  /// its place in the second block.
  llvm::SmallVector<std::pair<unsigned, unsigned>> handedOn;
  /// The number of calls' names that the blocks share.
  size_t sharedCalls = 0;

  size_t end() const { return begin + period * times; }
  /// Items that need not be written.
  size_t saved() const { return period * (times - 1); }
};

/// The folds of a list, in order.
std::vector<LayerFold> foldLayers(llvm::ArrayRef<FoldedItem> items);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_LAYERFOLDING_H
