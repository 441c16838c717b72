/// The device mesh: named axes with sizes and roles.
///
/// Ranks are numbered row-major over the axes, first axis slowest. Plain
/// values; no IR.
#ifndef TPSP_ALGEBRA_MESH_H
#define TPSP_ALGEBRA_MESH_H

#include "tpsp/Abi/MeshAxis.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

/// Axes from major to minor.
using AxisList = llvm::SmallVector<AxisId, 2>;

class Mesh {
public:
  Mesh() = default;
  /// Implicit, because a plan has its mesh as a list.
  Mesh(std::vector<MeshAxis> axes) : axes(std::move(axes)) {}

  unsigned numAxes() const { return axes.size(); }
  const MeshAxis &axis(AxisId id) const { return axes[id]; }
  int64_t size(AxisId id) const { return axes[id].size; }
  std::optional<AxisId> find(llvm::StringRef name) const;

  /// Ranks in a group that varies over `list`; 1 for no axes.
  int64_t groupSize(llvm::ArrayRef<AxisId> list) const;
  /// Ranks in the mesh.
  int64_t numRanks() const;

  /// "tp, dp" for messages.
  std::string names(llvm::ArrayRef<AxisId> list) const;
  /// The names of all axes.
  std::string names() const;

private:
  std::vector<MeshAxis> axes;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_MESH_H
