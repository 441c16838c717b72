#include "tpsp/Algebra/Mesh.h"

using namespace tpsp;

std::optional<AxisId> Mesh::find(llvm::StringRef name) const {
  for (AxisId id = 0; id < axes.size(); ++id)
    if (axes[id].name == name)
      return id;
  return std::nullopt;
}

int64_t Mesh::groupSize(llvm::ArrayRef<AxisId> list) const {
  int64_t size = 1;
  for (AxisId id : list)
    size *= axes[id].size;
  return size;
}

int64_t Mesh::numRanks() const {
  int64_t size = 1;
  for (const MeshAxis &axis : axes)
    size *= axis.size;
  return size;
}

std::string Mesh::names(llvm::ArrayRef<AxisId> list) const {
  std::string text;
  for (AxisId id : list)
    text += (text.empty() ? "" : ", ") + axes[id].name;
  return text;
}
