/// An axis of the device mesh. Plain values that every folder shares.
#ifndef TPSP_ABI_MESHAXIS_H
#define TPSP_ABI_MESHAXIS_H

#include "tpsp/Abi/EnumNames.h"

#include <cstdint>
#include <string>

namespace tpsp {

/// On a data axis activations stay and parameters move to them; on a model axis
/// parameters stay. Only the placement of an unplaced result on which two
/// operands disagree reads that. A stage axis divides the program's layers, and
/// shards no tensor.
enum class AxisRole { None, Data, Model, Stage };

/// As meshes write them; an axis without a role writes none.
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
