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

/// A tile of C.
template <typename T> struct GroupedJob {
  long long point, group;
  /// Rows and columns of C. With rows along m, `m` are rows of A too.
  Positions m, n;
  T *c;

  __device__ GroupedJob(const GroupedArguments &g, long long tile) {
    long long inPoint = g.tilesM * g.tilesN * (g.sumsRows ? g.groups : 1);
    point = tile / inPoint;
    tile %= inPoint;
    long long tileM = tile % g.tilesM, tileN = tile / g.tilesM % g.tilesN;
    constexpr int edge = Tile<T>::edge;
    n = Positions{nullptr, tileN * edge, g.n - tileN * edge}.upTo(edge);
    c = (T *)g.c + offsetsOfPoint(g, point).c;
    if (g.sumsRows) {
      group = tile / (g.tilesM * g.tilesN);
      c += group * g.groupStride;
      m = Positions{nullptr, tileM * edge, g.m - tileM * edge}.upTo(edge);
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
      (firstTile(middle) <= tileM ? group : behind) = middle;
    }
    m = ordered.of(group).behind((tileM - firstTile(group)) * edge).upTo(edge);
  }
};

/// The slices that are summed for a tile of C: the steps of the accumulation,
/// and the pieces of k in each.
template <typename T> class Slices {
public:
  __device__ Slices(const GroupedArguments &g, const GroupedJob<T> &job)
      : g(g), job(job) {
#pragma unroll 1
    for (long long i = g.steps; i-- > 0;)
      total += (kOf(i).count + Tile<T>::depth - 1) / Tile<T>::depth;
    if (total > 0)
      toStep();
  }

  __device__ void next() {
    k = k.behind(Tile<T>::depth);
    if (k.count <= 0) {
      ++step;
      toStep();
    }
  }

  /// The beginnings of the step's matrices.
  const T *a, *b;
  Positions k;
  long long total = 0;

private:
  __device__ Positions kOf(long long step) const {
    if (g.sumsRows)
      return OrderedRows(g, job.point * g.steps + step).of(job.group);
    return {nullptr, 0, job.group < g.groups ? g.k : 0};
  }

  /// Advances to the current step, or to the next step that has a slice.
  __device__ void toStep() {
#pragma unroll 1
    while ((k = kOf(step)).count == 0)
      ++step;
    Offsets at = offsetsOfPoint(g, job.point), more = offsetsOfStep(g, step);
    a = (const T *)g.a + at.a + more.a;
    b = (const T *)g.b + at.b + more.b +
        (g.sumsRows ? 0 : job.group * g.groupStride);
  }

  const GroupedArguments &g;
  const GroupedJob<T> &job;
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
    GroupedJob<T> job(g, tile);
    if (job.m.count <= 0)
      continue;
    Slices<T> slices(g, job);
    int target = 0, source = 0;
    block.each([&](Sums &own) { own.clear(); });
    // The copy of a slice begins two slices before its product.
    for (long long slice = 1 - stages; slice < slices.total; ++slice) {
      bool isMore = slice + stages - 1 < slices.total;
      if (isMore && slice > 1 - stages)
        slices.next();
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
