/// The second pass of a grouped product: each block computes tiles of C, one
/// after another.
///
/// If rows are along m, a tile has rows of one group. Groups have any number of
/// rows, so the tiles of all groups are counted together. The tiles of group g
/// begin with number begin(g) / edge + g, where begin(g) is the number of rows
/// in earlier groups. A group thus gets as many tiles as it needs, or one more.
/// If rows are along k, a tile belongs to one group's matrix and sums over the
/// group's rows.
///
/// While threads multiply one tile of A and B, later tiles are copied to shared
/// memory.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H
#define TPSP_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H

#include "GroupedTile.h"

namespace tpsp::rt::device {

/// The place of a tile among tilesM x tilesN. Bands of tiles along n follow one
/// another, so that the blocks of a GPU read few rows and columns at a time.
struct TilePlace {
  long long m, n;

  __device__ TilePlace(const GroupedArguments &g, long long tile) {
    constexpr long long band = 8;
    long long first = tile / (band * g.tilesN) * band,
              inside = tile % (band * g.tilesN),
              height = lesser(band, g.tilesM - first);
    m = first + inside % height;
    n = inside / height;
  }
};

/// A tile of C.
template <typename Shape> struct GroupedJob {
  using T = typename Shape::Number;

  long long point, group;
  /// Rows and columns of C. With rows along m, `m` are rows of A too.
  Positions m, n;
  T *c;

  GroupedJob() = default;
  __device__ GroupedJob(const GroupedArguments &g, long long tile) {
    long long ofMatrix = g.tilesM * g.tilesN,
              inPoint = ofMatrix * (g.sumsRows ? g.groups : 1);
    point = tile / inPoint;
    tile %= inPoint;
    TilePlace at(g, g.sumsRows ? tile % ofMatrix : tile);
    constexpr int edge = Shape::edgeM, edgeN = Shape::edgeN;
    n = Positions{nullptr, at.n * edgeN, g.n - at.n * edgeN}.upTo(edgeN);
    c = (T *)g.c + offsetsOfPoint(g, point).c;
    if (g.sumsRows) {
      group = tile / ofMatrix;
      c += group * g.groupStride;
      m = Positions{nullptr, at.m * edge, g.m - at.m * edge}.upTo(edge);
      return;
    }
    OrderedRows ordered(g, point);
    auto firstTile = [&](long long of) {
      return ordered.begin(of) / edge + of;
    };
    group = 0;
#pragma unroll 1
    for (long long behind = g.groups + 1; behind - group > 1;) {
      long long middle = (group + behind) / 2;
      (firstTile(middle) <= at.m ? group : behind) = middle;
    }
    m = ordered.of(group).behind((at.m - firstTile(group)) * edge).upTo(edge);
  }
};

/// The slices that are summed for a tile of C: the steps of the accumulation,
/// and the pieces of k in each.
template <typename Shape> class Slices {
public:
  using T = typename Shape::Number;
  using Job = GroupedJob<Shape>;

  Slices() = default;
  __device__ Slices(const GroupedArguments &g, const Job &job) {
#pragma unroll 1
    for (long long i = g.steps; i-- > 0;)
      total += (kOf(g, job, i).count + Shape::depth - 1) / Shape::depth;
    if (total > 0)
      toStep(g, job);
  }

  /// Advances to the next slice, with the constructor's arguments.
  __device__ void next(const GroupedArguments &g, const Job &job) {
    k = k.behind(Shape::depth);
    if (k.count <= 0) {
      ++step;
      toStep(g, job);
    }
  }

  /// The beginnings of the step's matrices.
  const T *a = nullptr, *b = nullptr;
  Positions k = {nullptr, 0, 0};
  long long total = 0;

private:
  __device__ static Positions kOf(const GroupedArguments &g, const Job &job,
                                  long long step) {
    if (g.sumsRows)
      return OrderedRows(g, job.point * g.steps + step).of(job.group);
    return {nullptr, 0, job.group < g.groups ? g.k : 0};
  }

  /// Advances to the current step, or to the next step that has a slice.
  __device__ void toStep(const GroupedArguments &g, const Job &job) {
#pragma unroll 1
    while ((k = kOf(g, job, step)).count == 0)
      ++step;
    Offsets at = offsetsOfPoint(g, job.point), more = offsetsOfStep(g, step);
    a = (const T *)g.a + at.a + more.a;
    b = (const T *)g.b + at.b + more.b +
        (g.sumsRows ? 0 : job.group * g.groupStride);
  }

  long long step = 0;
};

template <typename T, bool AlongA, bool AlongB>
__device__ inline void multiplyGrouped(const GroupedArguments &g) {
  using Sums = typename SumsOf<T>::Type;
  constexpr int stages = 3;
  __shared__ Chunk<T> tiles[stages][2][Tile<T>::chunks];
  ThreadBlock<Sums> block;
  if (!block.leads())
    return;
  for (long long tile = blockIdx.x; tile < g.tiles; tile += gridDim.x) {
    GroupedJob<Tile<T>> job(g, tile);
    if (job.m.count <= 0)
      continue;
    Slices<Tile<T>> slices(g, job);
    int target = 0, source = 0;
    block.each([&](Sums &own) { own.clear(); });
    // The copy of a slice begins two slices before its product.
    for (long long slice = 1 - stages; slice < slices.total; ++slice) {
      bool isMore = slice + stages - 1 < slices.total;
      if (isMore && slice > 1 - stages)
        slices.next(g, job);
      // Copies to the tiles that all threads finished reading before the last
      // meeting.
      block.each([&](Sums &) {
        if (isMore) {
          beginTile<T, AlongA>(tiles[target][0], slices.a, g.mStrideA,
                               g.kStrideA, job.m, slices.k);
          beginTile<T, AlongB>(tiles[target][1], slices.b, g.nStrideB,
                               g.kStrideB, job.n, slices.k);
        }
        closeCopies();
      });
      target = (target + 1) % stages;
      if (slice >= 0) {
        const auto &now = tiles[source];
#pragma unroll
        for (int step = 0; step < Sums::steps; ++step) {
          block.each([&](Sums &own) {
            own.template load<AlongA, AlongB>(now[0], now[1], step);
          });
          block.each([&](Sums &own) { own.multiply(); });
        }
        source = (source + 1) % stages;
      }
      block.each([&](Sums &) { waitForCopies<stages - 2>(); });
      block.meet();
    }
    TileTarget<T> to{job.c + job.n.first, g.ldc, job.n.count, job.m};
    block.each([&](Sums &own) { own.template store<AlongA, AlongB>(to); });
  }
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H
