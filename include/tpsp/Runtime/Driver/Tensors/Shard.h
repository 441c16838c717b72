/// Which elements of a global tensor a rank holds.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H
#define TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H

#include "tpsp/Abi/Plan.h"

#include <algorithm>
#include <limits>

namespace tpsp::rt {

/// A rank's block of a row-major global tensor, without the padding of padded
/// dimensions. The rank may hold further positions after those of the block. If
/// micro-batches cut the tensor, the rank holds one part after another. If axes
/// do not divide the tensor evenly, the rank holds a piece of the block's
/// elements (Abi/FlatCut.h).
class Shard {
public:
  /// `coordinates` are the rank's positions on each axis of the mesh.
  Shard(const PlanBuffer &tensor, const std::vector<MeshAxis> &mesh,
        const std::vector<int64_t> &coordinates);

  int64_t elements() const { return count; }

  /// Calls visit(global, local, n) for every run of n elements that are
  /// adjacent both in the global tensor and in the rank's part. The run begins
  /// at element `global` of the global tensor and at element `local` of the
  /// part.
  template <typename Visit> void forEachRun(Visit visit) const {
    forRuns(0, runs(), visit);
  }

  /// The number of runs. forRuns visits the runs [begin, end), so that several
  /// threads can share them.
  int64_t runs() const { return numRuns; }
  template <typename Visit>
  void forRuns(int64_t begin, int64_t end, Visit visit) const {
    for (int64_t run = begin; run < end; ++run) {
      RunStart start = startOf(firstRun + run);
      int64_t first = std::max(start.local, pieceBegin),
              last = std::min(start.local + runLength, pieceEnd);
      visit(start.global + (first - start.local), first - pieceBegin,
            last - first);
    }
  }

private:
  struct Dim {
    /// The global extent, where the rank's part begins in it, and how many
    /// positions of the part are not padding.
    int64_t extent, start, count;
    /// Positions that the rank holds, padding included.
    int64_t held;
    /// The positions, of those, that lie in one part.
    int64_t inPart;
  };
  /// The position of a run's first element.
  struct RunStart {
    int64_t global, local;
  };
  RunStart startOf(int64_t run) const;
  /// Leaves the piece `number` of `pieces` of the block.
  void keepPiece(int64_t number, int64_t pieces);
  /// The first run of the block that ends after `local`.
  int64_t runAfter(int64_t local) const;

  std::vector<Dim> dims;
  int64_t count = 1;
  int64_t runLength = 1;
  /// The runs of the block that the rank has, and the elements of the block, as
  /// held, that are its piece.
  int64_t firstRun = 0, numRuns = 0;
  int64_t pieceBegin = 0, pieceEnd = std::numeric_limits<int64_t>::max();
  /// The number of outer dimensions, which a run does not span.
  size_t outerDims = 0;
  /// Elements of one part.
  int64_t partElements = 1;
};

/// Whether the rank at these coordinates is the first that holds its part of a
/// tensor, or its summand of a partial one.
bool isFirstHolder(const PlanBuffer &tensor,
                   const std::vector<int64_t> &coordinates);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_SHARD_H
