/// Which elements of a global tensor a rank holds.
#ifndef TPSP_RUNTIME_DRIVER_SHARD_H
#define TPSP_RUNTIME_DRIVER_SHARD_H

#include "tpsp/Abi/Plan.h"

namespace tpsp::rt {

/// A rank's block of a row-major global tensor.
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
  int64_t runs() const { return count / runLength; }
  template <typename Visit>
  void forRuns(int64_t begin, int64_t end, Visit visit) const {
    for (int64_t run = begin; run < end; ++run)
      visit(globalStart(run), run * runLength, runLength);
  }

private:
  struct Dim {
    int64_t extent, local, start;
  };
  /// The global position of the first element of a run.
  int64_t globalStart(int64_t run) const;

  std::vector<Dim> dims;
  int64_t count = 1;
  int64_t runLength = 1;
};

/// Whether the rank at these coordinates is the first that holds its part of a
/// tensor, or its summand of a partial one.
bool isFirstHolder(const PlanBuffer &tensor,
                   const std::vector<int64_t> &coordinates);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_SHARD_H
