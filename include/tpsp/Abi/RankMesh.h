/// The mesh of ranks as the runtime sees it: axis sizes, a rank's coordinates,
/// and the groups that collectives run in.
///
/// Ranks are numbered row-major over the axes, the first axis slowest. An axis
/// list is major to minor. On the mesh [dp=2, tp=3], rank 4 has the coordinates
/// (1, 1) and these groups:
///
///   [tp]      {3, 4, 5}
///   [dp]      {1, 4}
///   [dp, tp]  {0, 1, 2, 3, 4, 5}
///   [tp, dp]  {0, 3, 1, 4, 2, 5}
#ifndef TPSP_ABI_RANKMESH_H
#define TPSP_ABI_RANKMESH_H

#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::rt {

/// The ranks that differ from one rank only in the axes of a list.
struct RankGroup {
  /// Rank numbers in the group's own order.
  std::vector<int64_t> ranks;
  /// The position of the rank itself in `ranks`.
  int64_t self = 0;

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
};

class RankMesh {
public:
  /// A mesh without axes is one rank.
  RankMesh() = default;

  /// INVALID if an axis has no name, another axis's name or a size below 1, or
  /// if there are more than 65536 ranks.
  static Status create(std::vector<MeshAxis> axes, RankMesh &out);

  const std::vector<MeshAxis> &axes() const { return meshAxes; }
  int64_t numRanks() const { return ranks; }

  /// One coordinate per axis of rank `rank`, 0 <= rank < numRanks().
  std::vector<int64_t> coordinates(int64_t rank) const;

  /// The group of `rank` over `axes` (positions in axes()). INVALID if the mesh
  /// lacks an axis. An empty list gives the rank alone.
  Status group(int64_t rank, const std::vector<int64_t> &axes,
               RankGroup &out) const;

private:
  /// The distance in rank numbers between neighbours along `axis`.
  int64_t stride(size_t axis) const;

  std::vector<MeshAxis> meshAxes;
  int64_t ranks = 1;
};

} // namespace tpsp::rt

#endif // TPSP_ABI_RANKMESH_H
