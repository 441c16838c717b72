#include "UnevenExtents.h"

#include "tpsp/Algebra/PaddedExtent.h"

using namespace mlir;
using namespace tpsp;

/// "nearest extents that work: 4 and 8". Only the larger one if `extent` is
/// below `group`.
static std::string nearestMultiples(int64_t extent, int64_t group) {
  int64_t below = extent / group * group;
  if (below == 0)
    return "the smallest extent that works: " + std::to_string(group);
  return "nearest extents that work: " + std::to_string(below) + " and " +
         std::to_string(below + group);
}

namespace {

/// The axes of an index that has fewer positions than ranks. The positions use
/// all of the axes `whole` and `used` ranks of `split`, and no axis after it.
struct FittingAxes {
  ArrayRef<AxisId> whole;
  AxisId split;
  int64_t used, left;
};

} // namespace

/// nullopt if the positions do not fill whole axes and a part of one axis.
static std::optional<FittingAxes>
fittingAxes(ArrayRef<AxisId> axes, int64_t extent, const Mesh &mesh) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t size = mesh.size(axis);
    if (extent % size == 0) {
      extent /= size;
      continue;
    }
    if (extent == 1 || size % extent != 0)
      return std::nullopt;
    return FittingAxes{axes.take_front(i), axis, extent, size / extent};
  }
  return std::nullopt;
}

/// A name that no axis of the mesh has.
static std::string freeAxisName(const Mesh &mesh) {
  std::string name = "rep";
  for (unsigned number = 2; mesh.find(name); ++number)
    name = "rep" + std::to_string(number);
  return name;
}

/// For an index with fewer positions than ranks (fewer key/value heads than
/// ranks), suggests splitting an axis in two, with copies along the second.
static void noteSplitAxis(InFlightDiagnostic &diag, StringRef index,
                          ArrayRef<AxisId> axes, int64_t extent,
                          const Mesh &mesh) {
  std::optional<FittingAxes> fitting = fittingAxes(axes, extent, mesh);
  if (!fitting)
    return;
  std::string split = "@" + mesh.axis(fitting->split).name;
  std::string rest = "@" + freeAxisName(mesh);
  std::string before;
  for (AxisId axis : fitting->whole)
    before += "@" + mesh.axis(axis).name;
  diag.attachNote() << "way out: instead of " << split << " = "
                    << mesh.size(fitting->split) << " two axes, " << split
                    << " = " << fitting->used << " and " << rest << " = "
                    << fitting->left << ": [" << index << before << split
                    << "] here, which leaves copies along " << rest << ", and "
                    << before << split << rest << " on indices that "
                    << mesh.groupSize(axes) << " divides";
}

void tpsp::explainUneven(InFlightDiagnostic &diag, StringRef index,
                         int64_t extent, ArrayRef<AxisId> axes,
                         const Mesh &mesh) {
  int64_t group = mesh.groupSize(axes);
  diag << "has extent " << extent << ", which its axes (" << mesh.names(axes)
       << ": " << group << " ranks) do not divide; "
       << nearestMultiples(extent, group);
  if (isWorthPadding(extent, group))
    diag << "; or pad it: --pad " << index << "=" << group;
  noteSplitAxis(diag, index, axes, extent, mesh);
}
