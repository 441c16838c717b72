/// Which elements of a global tensor a rank holds.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H

#include "tpsp/Abi/Plan.h"

namespace tpsp::rt {

/// A rank's block of a row-major global tensor: what of it is before the end of
/// padded dimensions. What the rank holds behind it is not spoken of.
class Shard {
public:
  /// `coordinates`: the rank's on each axis of the mesh.
  Shard(const PlanBuffer &tensor, const std::vector<MeshAxis> &mesh,
        const std::vector<int64_t> &coordinates);

  int64_t elements() const { return count; }

  /// Calls visit(global, local, n) for every run of n elements that are
  /// neighbours both in the global tensor and in the rank's part. The run
  /// begins at element `global` of the one and `local` of the other.
  template <typename Visit> void forEachRun(Visit visit) const {
    forRuns(0, runs(), visit);
  }

  /// The runs [begin, end) of runs(): for several threads.
  int64_t runs() const { return count == 0 ? 0 : count / runLength; }
  template <typename Visit>
  void forRuns(int64_t begin, int64_t end, Visit visit) const {
    for (int64_t run = begin; run < end; ++run) {
      RunStart start = startOf(run);
      visit(start.global, start.local, runLength);
    }
  }

private:
  struct Dim {
    /// Of the global tensor; where the rank's part begins in it, and how much
    /// of the part is before the end.
    int64_t extent, start, count;
    /// Positions that the rank holds.
    int64_t held;
  };
  /// Where the first element of a run is.
  struct RunStart {
    int64_t global, local;
  };
  RunStart startOf(int64_t run) const;

  std::vector<Dim> dims;
  int64_t count = 1;
  int64_t runLength = 1;
  /// How many dimensions a run does not span: the outer ones.
  size_t outerDims = 0;
};

/// Whether the rank at these coordinates is the first that holds its part of a
/// tensor, or its summand of a partial one.
bool isFirstHolder(const PlanBuffer &tensor,
                   const std::vector<int64_t> &coordinates);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H
