/// How often something comes, by the number of layers.
#ifndef TPSP_PASSES_EXPLAIN_LAYERCOUNTS_H
#define TPSP_PASSES_EXPLAIN_LAYERCOUNTS_H

#include "tpsp/Algebra/Formula.h"
#include "tpsp/Passes/Program/Repetition.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <set>

namespace tpsp {

class LayerCounts {
public:
  /// `isTaken`: names that mean something else.
  LayerCounts(mlir::FunctionOpInterface function,
              llvm::function_ref<bool(llvm::StringRef)> isTaken);

  /// Where something is written that may come in every layer.
  struct Place {
    /// Null: in no layer.
    const void *written = nullptr;
    /// Whether it is found through a tensor of one layer, so that a number that
    /// is no multiple of the layers is of none.
    bool isThroughTensor = false;
    bool operator<(const Place &other) const {
      return std::tie(written, isThroughTensor) <
             std::tie(other.written, other.isThroughTensor);
    }
  };
  /// The place of an operation. An operation of the update has the place of its
  /// operands.
  Place placeOf(mlir::Operation *op);
  /// The place of an argument, if only one layer uses it. A state has the place
  /// of its parameter.
  Place placeOf(mlir::BlockArgument argument);

  /// `count` of something at `place`, in L.
  Formula countOf(int64_t count, Place place) const;

  /// A name for each number of layers: "L", or "L1" and "L2".
  struct Layers {
    std::string name, firstCall, lastCall;
    std::set<unsigned> calls;
  };
  llvm::ArrayRef<Layers> all() const { return found; }

private:
  void readCalls();
  void formLayers(llvm::function_ref<bool(llvm::StringRef)> isTaken);
  Place placeThroughOperands(mlir::Operation *op);

  mlir::FunctionOpInterface function;
  const Repetition repetition;
  /// For each place in the source, the calls that it comes in, if it comes
  /// equally often in each of these. In a tower of layers it may not.
  std::map<const void *, std::set<unsigned>> calls;
  std::vector<Layers> found;
  llvm::DenseMap<mlir::Operation *, Place> known;
};

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_LAYERCOUNTS_H
