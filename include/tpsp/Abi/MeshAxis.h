/// An axis of the device mesh, as plain values that every folder shares.
#ifndef TPSP_ABI_MESHAXIS_H
#define TPSP_ABI_MESHAXIS_H

#include "tpsp/Abi/EnumNames.h"

#include <cstdint>
#include <string>

namespace tpsp {

/// On a data axis activations stay and parameters move to them; on a model axis
/// parameters stay. Both roles only decide the placement of an unplaced result
/// if two operands disagree on it. A stage axis divides the program's layers,
/// and shards no tensor.
enum class AxisRole { None, Data, Model, Stage };

/// The names in the text of meshes. An axis without a role has no name.
template <> struct EnumNames<AxisRole> {
  static constexpr const char *all[] = {"", "data", "model", "stage"};
};

/// Position of an axis in its mesh.
using AxisId = unsigned;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::None;
};

} // namespace tpsp

#endif // TPSP_ABI_MESHAXIS_H
