/// Divides sharded indices in two, as the documents write them. An index s over
/// the axis tp is (t, l), t in range(tp), l in range(s // tp). A device index
/// has the number of its axis if the tensor is sharded along it. It has no
/// number if the tensor is not sharded along it:
///
///   z_{b t0 l d} = w_{d t'0 m} v_{b t l t'0 m}
///
/// is a reduce-scatter: t' is summed over ranks, and each keeps its t.
#ifndef TPSP_PASSES_EXPLAIN_EXPLICITINDICES_H
#define TPSP_PASSES_EXPLAIN_EXPLICITINDICES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <map>
#include <set>

namespace tpsp {

/// One index of a subscript: "b", "t" on axis 0, "l".
struct ExplicitIndex {
  std::string letter;
  std::optional<AxisId> axis;
};

class ExplicitIndices {
public:
  /// Chooses letters that are not in `taken`.
  ExplicitIndices(const Mesh &mesh, std::set<std::string> taken);

  /// Begins an equation, in whose types the same indices are divided.
  void begin(llvm::ArrayRef<mlir::RankedTensorType> types);
  /// The subscripts of a type. Device indices of partial axes come first.
  std::vector<ExplicitIndex> of(mlir::RankedTensorType type);
  /// "t in range(4): the ranks of tp, axis 0" and similar lines, for all
  /// letters used so far.
  std::vector<std::string> legend() const;

private:
  std::string freeLetter(llvm::StringRef wish, llvm::StringRef others);
  /// The letter of a rank's positions along an index that is divided over axes.
  const std::string &localLetter(llvm::StringRef index,
                                 llvm::ArrayRef<AxisId> axes, int64_t extent);
  /// The letter of an axis that divides `index`. It is primed if the axis also
  /// divides another index.
  std::string deviceLetter(AxisId axis, llvm::StringRef index);

  Mesh mesh;
  std::set<std::string> taken;
  std::vector<std::string> devices;
  std::map<std::pair<std::string, AxisList>, std::string> locals;
  std::map<std::string, std::set<int64_t>> extents;
  std::map<std::string, std::string> ranges;
  /// For the current equation: the axes of each divided index, and the indices
  /// that each axis divides, in order.
  std::map<std::string, AxisList> divided;
  std::map<AxisId, std::vector<std::string>> dividedBy;
};

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EXPLICITINDICES_H
