/// Layers of a function whose calls were inlined.
///
///   %x1 = call @layer(%x0, %w0)      each operation of @layer comes twice. The
///   %x2 = call @layer(%x1, %w1)      two were written in one place, and differ
///                                    in one of the calls around them.
///
/// Buckets of layers, explanations and formulas read here which layer an
/// operation is of, and which operation another layer has instead.
/// Rematerialisation takes the outermost call for a layer (Rematerialize.cpp).
/// Before calls are inlined, layers are the calls themselves: layersOf() in
/// StageAssignment.h, LayerRuns.h.
#ifndef TPSP_PASSES_PROGRAM_REPETITION_H
#define TPSP_PASSES_PROGRAM_REPETITION_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp {

class Repetition {
public:
  /// Reads the block once, in time linear in its operations. Operations that
  /// come later are unknown. `tells`: the operations that decide which calls
  /// are shared; null: all.
  explicit Repetition(
      mlir::Block &block,
      llvm::function_ref<bool(mlir::Operation *)> tells = nullptr);

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

  /// The number of calls that all inlined operations that tell are inside of.
  /// The call below these tells layers apart.
  size_t sharedCalls() const { return shared; }

  /// The calls that are shared, and the one below, as far as the operation is
  /// inside of them.
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
