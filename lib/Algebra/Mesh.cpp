#include "tpsp/Algebra/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace tpsp;

std::optional<AxisId> Mesh::find(llvm::StringRef name) const {
  for (AxisId id = 0; id < axes.size(); ++id)
    if (axes[id].name == name)
      return id;
  return std::nullopt;
}

/// A saturating product: a mesh of more ranks than 64 bits hold divides
/// nothing.
static int64_t times(int64_t a, int64_t b) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return a > most / b ? most : a * b;
}

int64_t Mesh::groupSize(llvm::ArrayRef<AxisId> list) const {
  int64_t size = 1;
  for (AxisId id : list)
    size = times(size, axes[id].size);
  return size;
}

int64_t Mesh::numRanks() const {
  int64_t size = 1;
  for (const MeshAxis &axis : axes)
    size = times(size, axis.size);
  return size;
}

std::string Mesh::names(llvm::ArrayRef<AxisId> list) const {
  return llvm::join(
      llvm::map_range(list, [&](AxisId id) { return axes[id].name; }), ", ");
}

std::string Mesh::names() const {
  return names(llvm::to_vector(llvm::seq<AxisId>(0, numAxes())));
}
