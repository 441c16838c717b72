// Attention forward: a running softmax over blocks of the keys (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018).
#include "CpuAttention.h"

#include "AttentionScores.h"

#include "tpsp/Abi/ElementType.h"

#include <array>
#include <cmath>

namespace tpsp::rt {
namespace {

/// The queries and keys of a block of scores, chosen so that the block stays in
/// the caches.
constexpr int64_t blockQueries = 128, blockKeys = 512;

/// The working memory of a thread.
template <typename T> struct ForwardTiles {
  ForwardTiles(const AttentionCommand &c, TileMemory<T> memory)
      : q(memory.take(blockQueries * c.features)),
        k(memory.take(blockKeys * c.features)),
        v(memory.take(blockKeys * c.valueFeatures)),
        scores(memory.take(blockQueries * blockKeys)),
        sums(memory.take(blockQueries * c.valueFeatures)) {}

  static int64_t elements(const AttentionCommand &c) {
    return blockQueries * (c.features + c.valueFeatures + blockKeys) +
           blockKeys * (c.features + c.valueFeatures);
  }

  T *q, *k, *v, *scores, *sums;
  std::array<RowLevel<T>, blockQueries> levels;
};

template <typename T> class Forward final : public PreparedAttention {
public:
  Forward(const AttentionCommand &c, int64_t queryStart, int threads,
          const AttentionBuffers &buffers)
      : c(c), threads(threads), q(buffers[0], c.dtype, c.q, c.features),
        k(buffers[1], c.dtype, c.k, c.features),
        v(buffers[2], c.dtype, c.v, c.valueFeatures),
        o(buffers[3], c.dtype, c.o, c.valueFeatures),
        statistic(c.keepsStatistic ? reinterpret_cast<T *>(buffers[4])
                                   : nullptr),
        scores(c, queryStart,
               {buffers.begin() + (c.keepsStatistic ? 5 : 4), buffers.end()}) {}

  Status run(ScratchBuffer &scratch) override {
    int64_t perThread = ForwardTiles<T>::elements(c);
    auto *base = reinterpret_cast<T *>(
        scratch.reserve(size_t(perThread * threads) * sizeof(T)));
    int64_t blocks = (c.queries + blockQueries - 1) / blockQueries;
    int64_t points = c.batch * c.heads * c.groups * blocks;
    return forEachOnThreads(points, threads, [&](int thread, int64_t point) {
      ForwardTiles<T> tiles(c, TileMemory<T>(base + thread * perThread));
      int64_t begin = point % blocks * blockQueries;
      return runRows(point / blocks,
                     {begin, std::min(blockQueries, c.queries - begin)}, tiles);
    });
  }

private:
  Status runRows(int64_t number, TileRows rows, ForwardTiles<T> &tiles) {
    AttentionHead head{number / (c.heads * c.groups),
                       number / c.groups % c.heads, number % c.groups};
    q.load(head, rows, tiles.q);
    std::fill_n(tiles.sums, rows.count * c.valueFeatures, T(0));
    tiles.levels.fill({});
    TPSP_TRY(forEachBlock(scores.numKeys(head), blockKeys, [&](TileRows keys) {
      return scores.isMasked(head, rows, keys)
                 ? Status()
                 : addBlock(head, rows, keys, tiles);
    }));
    finish(number, head, rows, tiles);
    return {};
  }

  Status addBlock(const AttentionHead &head, TileRows rows, TileRows keys,
                  ForwardTiles<T> &tiles) {
    AttentionHead keyHead{head.batch, head.head, 0};
    k.load(keyHead, keys, tiles.k);
    v.load(keyHead, keys, tiles.v);
    TileProduct products{rows.count, keys.count, c.features};
    products.transposeB = true;
    products.alpha = c.scale;
    TPSP_TRY(multiply(products, tiles.q, tiles.k, tiles.scores));
    for (int64_t i = 0; i < rows.count; ++i)
      updateRow(head, i, rows, keys, tiles);
    TileProduct sums{rows.count, c.valueFeatures, keys.count};
    sums.beta = 1;
    return multiply(sums, tiles.scores, tiles.v, tiles.sums);
  }

  /// Turns scores into weights relative to the largest score so far, and
  /// rescales earlier sums to it.
  void updateRow(const AttentionHead &head, int64_t i, TileRows rows,
                 TileRows keys, ForwardTiles<T> &tiles) {
    T *row = tiles.scores + i * keys.count;
    TileRows seen = scores.seen(rows.begin + i, keys);
    scores.score(head, rows.begin + i, keys, seen, row, /*slopes=*/nullptr);
    std::fill(row, row + seen.begin, T(0));
    std::fill(row + seen.end(), row + keys.count, T(0));
    T decay = tiles.levels[i].addScores(row + seen.begin, seen.count);
    if (decay == 1)
      return;
    T *sums = tiles.sums + i * c.valueFeatures;
    for (int64_t e = 0; e < c.valueFeatures; ++e)
      sums[e] *= decay;
  }

  void finish(int64_t number, const AttentionHead &head, TileRows rows,
              ForwardTiles<T> &tiles) {
    for (int64_t i = 0; i < rows.count; ++i) {
      T *sums = tiles.sums + i * c.valueFeatures;
      const RowLevel<T> &level = tiles.levels[i];
      T total = level.total;
      // A row whose keys are all hidden stays 0.
      for (int64_t e = 0; e < c.valueFeatures && total != 0; ++e)
        sums[e] /= total;
      if (statistic)
        statistic[number * c.queries + rows.begin + i] =
            total != 0 ? level.largest + std::log(total) : level.largest;
    }
    o.store(tiles.sums, head, rows);
  }

  const AttentionCommand c;
  const int threads;
  const AttentionTensor<T> q, k, v, o;
  /// [b, h, g, s]; null if not kept.
  T *const statistic;
  const AttentionScores<T> scores;
};

} // namespace

std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers) {
  if (command.dtype == TPSP_RT_F64)
    return std::make_unique<Forward<double>>(command, queryStart, threads,
                                             buffers);
  return std::make_unique<Forward<float>>(command, queryStart, threads,
                                          buffers);
}

} // namespace tpsp::rt
