/// Layers of a function whose calls were inlined.
///
///   %x1 = call @layer(%x0, %w0)      each operation of @layer comes twice. The
///   %x2 = call @layer(%x1, %w1)      two were written in one place, and differ
///                                    in one of the calls around them.
///
/// Layers are the outermost calls that do the same and of which one reads a
/// result of another. So a function that wraps all layers is no layer. Without
/// such calls, layers are the outermost calls.
///
/// Rematerialisation, buckets of layers, explanations and formulas read here
/// which layer an operation is of, and which operation another layer has
/// instead. Before calls are inlined, layers are the calls themselves:
/// layersOf() in StageAssignment.h, LayerRuns.h.
#ifndef TPSP_PASSES_PROGRAM_REPETITION_H
#define TPSP_PASSES_PROGRAM_REPETITION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp {

class Repetition {
public:
  /// Reads the block, in about linear time in its operations. Operations that
  /// come later are unknown.
  explicit Repetition(mlir::Block &block);

  struct Place {
    /// Where it was written, without names.
    const void *written = nullptr;
    /// Equal for the operations of several layers that do the same.
    unsigned what = 0;
    /// The calls around it, outermost first: their numbers among all calls at
    /// their level. Empty where a call has no location.
    llvm::SmallVector<unsigned, 2> calls;
  };
  const Place &placeOf(mlir::Operation *op) const {
    return places.find(op)->second;
  }

  /// The name of a call's result in the source, as "layer0"; "" if it has none.
  /// Level 0 are the outermost calls.
  llvm::StringRef nameOf(size_t level, unsigned call) const {
    return names[level][call];
  }

  /// The number of calls around a layer. The call below these tells layers
  /// apart.
  size_t sharedCalls() const { return shared; }

  /// The calls around the operation's layer and the layer, as far as the
  /// operation is inside of them.
  llvm::ArrayRef<unsigned> layerCallsOf(mlir::Operation *op) const;

  /// The number of the call that is the operation's layer; nullopt if it is in
  /// none.
  std::optional<unsigned> layerOf(mlir::Operation *op) const;

  /// The number of calls from a's to b's, if they are the same operation but
  /// for the call at `level`; nullopt otherwise.
  static std::optional<int64_t> distance(const Place &a, const Place &b,
                                         size_t level);

private:
  llvm::DenseMap<mlir::Operation *, Place> places;
  std::vector<std::vector<std::string>> names;
  size_t shared = 0;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_REPETITION_H
