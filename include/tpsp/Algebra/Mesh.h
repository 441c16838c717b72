/// The device mesh: named axes with sizes, and what each is for.
///
/// Ranks are numbered row-major over the axes, first axis slowest. Plain
/// values; no IR.
#ifndef TPSP_ALGEBRA_MESH_H
#define TPSP_ALGEBRA_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tpsp {

/// On a data axis activations stay and parameters move to them; on a model axis
/// parameters stay. Only the placement of an unplaced result on which two
/// operands disagree reads it.
enum class AxisRole { None, Data, Model };

/// Position of an axis in its mesh.
using AxisId = unsigned;

/// Axes from major to minor.
using AxisList = llvm::SmallVector<AxisId, 2>;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::None;
};

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<MeshAxis> axes) : axes(std::move(axes)) {}

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

private:
  std::vector<MeshAxis> axes;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_MESH_H
