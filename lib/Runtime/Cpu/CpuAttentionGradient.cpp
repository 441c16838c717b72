// Attention's gradients. The weights of a block are computed again from the
// rows' statistic (Dao et al., FlashAttention, NeurIPS 2022, appendix B). The
// statistic is a maximum plus a logarithm; next to a low bias the sum loses the
// logarithm. So with a bias both are computed again, by one more product of
// queries and keys. With p the weights and D[s] = sum over e of go[s, e] o[s,
// e],
//
//   gv = p' go,  gp = go v',  gz = p (gp - D),  gq = scale gz k,
//   gk = scale gz' q
//
// The bias's gradient is a sum of gz, before gz is multiplied by a soft-cap's
// slope.
#include "AttentionScores.h"
#include "CpuAttention.h"

#include "tpsp/Abi/ElementType.h"

#include <array>
#include <cmath>

namespace tpsp::rt {
namespace {

constexpr int64_t blockQueries = 128, blockKeys = 256;

/// The working memory of a thread: a block of queries, a block of keys, and the
/// gradients of all keys and values of a head.
template <typename T> struct GradientTiles {
  GradientTiles(const AttentionCommand &c, int64_t biasElements,
                TileMemory<T> memory)
      : q(memory.take(blockQueries * c.features)),
        gq(memory.take(blockQueries * c.features)),
        o(memory.take(blockQueries * c.valueFeatures)),
        go(memory.take(blockQueries * c.valueFeatures)),
        dot(memory.take(blockQueries)), k(memory.take(blockKeys * c.features)),
        v(memory.take(blockKeys * c.valueFeatures)),
        weights(memory.take(blockQueries * blockKeys)),
        slopes(memory.take(blockQueries * blockKeys)),
        gk(memory.take(c.keys * c.features)),
        gv(memory.take(c.keys * c.valueFeatures)), bent(memory.take(blockKeys)),
        gbias(memory.take(biasElements)) {}

  static int64_t elements(const AttentionCommand &c) {
    int64_t features = c.features + c.valueFeatures;
    return blockQueries * (2 * features + 1 + 2 * blockKeys) +
           (blockKeys + c.keys) * features + blockKeys;
  }

  T *q, *gq, *o, *go, *dot, *k, *v, *weights, *slopes, *gk, *gv;
  std::array<RowLevel<T>, blockQueries> levels;
  /// A row of derivatives of scores by products, and the bias's gradient.
  T *bent, *gbias;
};

template <typename T> class Gradient final : public PreparedAttention {
public:
  Gradient(const AttentionGradientCommand &c, int64_t queryStart, int threads,
           const AttentionBuffers &buffers)
      : c(c), threads(threads), q(buffers[0], c.dtype, c.q, c.features),
        k(buffers[1], c.dtype, c.k, c.features),
        v(buffers[2], c.dtype, c.v, c.valueFeatures),
        o(buffers[3], c.dtype, c.o, c.valueFeatures),
        statistic(reinterpret_cast<const T *>(buffers[4])),
        go(buffers[5], c.dtype, c.o, c.valueFeatures),
        gq(buffers[6], c.dtype, c.q, c.features),
        gk(buffers[7], c.dtype, c.k, c.features),
        gv(buffers[8], c.dtype, c.v, c.valueFeatures),
        scores(c, queryStart, {buffers.begin() + 9, buffers.end()}),
        gbias(c, c.wantsBiasGradient ? buffers.back() : nullptr) {}

  Status run(ScratchBuffer &scratch) override {
    int64_t perThread = GradientTiles<T>::elements(c) + gbias.elements();
    auto *base = reinterpret_cast<T *>(
        scratch.reserve(size_t(perThread * threads) * sizeof(T)));
    int64_t batches = c.batch / std::max<int64_t>(gbias.sharedBatches(), 1);
    int64_t heads = c.heads / std::max<int64_t>(gbias.sharedHeads(), 1);
    return forEachOnThreads(
        batches * heads, threads, [&](int thread, int64_t number) {
          GradientTiles<T> tiles(c, gbias.elements(),
                                 TileMemory<T>(base + thread * perThread));
          return runPart({number / heads, number % heads, 0}, tiles);
        });
  }

private:
  /// Processes heads that share a part of the bias, one after another. `first`
  /// is the first of these heads.
  Status runPart(AttentionHead first, GradientTiles<T> &tiles) {
    std::fill_n(tiles.gbias, gbias.elements(), T(0));
    for (int64_t batch = 0; batch < gbias.sharedBatches(); ++batch)
      for (int64_t head = 0; head < gbias.sharedHeads(); ++head)
        TPSP_TRY(runHead({first.batch + batch, first.head + head, 0}, tiles));
    gbias.store(first, tiles.gbias);
    return {};
  }

  /// Processes all queries that read a head of keys: those of its groups, one
  /// after another.
  Status runHead(AttentionHead head, GradientTiles<T> &tiles) {
    std::fill_n(tiles.gk, c.keys * c.features, T(0));
    std::fill_n(tiles.gv, c.keys * c.valueFeatures, T(0));
    for (int64_t group = 0; group < c.groups; ++group) {
      TPSP_TRY(forEachBlock(c.queries, blockQueries, [&](TileRows rows) {
        return runRows({head.batch, head.head, group}, rows, tiles);
      }));
    }
    gk.store(tiles.gk, head, {0, c.keys});
    gv.store(tiles.gv, head, {0, c.keys});
    return {};
  }

  Status runRows(const AttentionHead &head, TileRows rows,
                 GradientTiles<T> &tiles) {
    q.load(head, rows, tiles.q);
    o.load(head, rows, tiles.o);
    go.load(head, rows, tiles.go);
    for (int64_t i = 0; i < rows.count; ++i) {
      const T *ours = tiles.o + i * c.valueFeatures;
      const T *slope = tiles.go + i * c.valueFeatures;
      tiles.dot[i] = 0;
      for (int64_t e = 0; e < c.valueFeatures; ++e)
        tiles.dot[i] += ours[e] * slope[e];
    }
    std::fill_n(tiles.gq, rows.count * c.features, T(0));
    TPSP_TRY(findLevels(head, rows, tiles));
    TPSP_TRY(forEachSeenBlock(head, rows, [&](TileRows keys) {
      return addBlock(head, rows, keys, tiles);
    }));
    gq.store(tiles.gq, head, rows);
    return {};
  }

  template <typename Body>
  Status forEachSeenBlock(const AttentionHead &head, TileRows rows,
                          const Body &body) {
    return forEachBlock(scores.numKeys(head), blockKeys, [&](TileRows keys) {
      return scores.isMasked(head, rows, keys) ? Status() : body(keys);
    });
  }

  /// Finds the levels of the rows. A row's weights are exp(score - largest) /
  /// total.
  Status findLevels(const AttentionHead &head, TileRows rows,
                    GradientTiles<T> &tiles) {
    tiles.levels.fill({});
    if (c.hasBias)
      return forEachSeenBlock(head, rows, [&](TileRows keys) {
        return addToLevels(head, rows, keys, tiles);
      });
    int64_t number = (head.batch * c.heads + head.head) * c.groups + head.group;
    for (int64_t i = 0; i < rows.count; ++i)
      tiles.levels[i] = {statistic[number * c.queries + rows.begin + i], 1};
    return {};
  }

  Status addToLevels(const AttentionHead &head, TileRows rows, TileRows keys,
                     GradientTiles<T> &tiles) {
    TPSP_TRY(multiplyKeys(head, rows, keys, tiles));
    for (int64_t i = 0; i < rows.count; ++i) {
      T *row = tiles.weights + i * keys.count;
      TileRows seen = scores.seen(rows.begin + i, keys);
      scores.score(head, rows.begin + i, keys, seen, row, /*slopes=*/nullptr);
      tiles.levels[i].addScores(row + seen.begin, seen.count);
    }
    return {};
  }

  /// Writes scaled products of queries and keys to the memory of the weights.
  Status multiplyKeys(const AttentionHead &head, TileRows rows, TileRows keys,
                      GradientTiles<T> &tiles) {
    k.load({head.batch, head.head, 0}, keys, tiles.k);
    TileProduct products{rows.count, keys.count, c.features, false,
                         true,       c.scale,    0};
    return multiply(products, tiles.q, tiles.k, tiles.weights);
  }

  Status addBlock(const AttentionHead &head, TileRows rows, TileRows keys,
                  GradientTiles<T> &tiles) {
    v.load({head.batch, head.head, 0}, keys, tiles.v);
    T *gkHere = tiles.gk + keys.begin * c.features;
    T *gvHere = tiles.gv + keys.begin * c.valueFeatures;
    using Product = TileProduct;
    Product slopes{rows.count, keys.count, c.valueFeatures, false, true, 1, 0};
    TPSP_TRY(multiplyKeys(head, rows, keys, tiles));
    TPSP_TRY(multiply(slopes, tiles.go, tiles.v, tiles.slopes));
    for (int64_t i = 0; i < rows.count; ++i)
      differentiateRow(i, head, rows, keys, tiles);
    Product intoV{keys.count, c.valueFeatures, rows.count, true, false, 1, 1};
    Product intoK{keys.count, c.features, rows.count, true, false, 1, 1};
    Product intoQ{rows.count, c.features, keys.count, false, false, 1, 1};
    TPSP_TRY(multiply(intoV, tiles.weights, tiles.go, gvHere));
    TPSP_TRY(multiply(intoK, tiles.slopes, tiles.q, gkHere));
    return multiply(intoQ, tiles.slopes, tiles.k, tiles.gq);
  }

  /// Turns scores into weights, and gradients of weights into gradients of the
  /// unscaled scores.
  void differentiateRow(int64_t i, const AttentionHead &head, TileRows rows,
                        TileRows keys, GradientTiles<T> &tiles) {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    const RowLevel<T> &level = tiles.levels[i];
    T share = 1 / level.total;
    T *weights = tiles.weights + i * keys.count;
    T *slopes = tiles.slopes + i * keys.count;
    TileRows seen = scores.seen(rows.begin + i, keys);
    scores.score(head, rows.begin + i, keys, seen, weights, tiles.bent);
    for (int64_t j = seen.begin; j < seen.end(); ++j) {
      // If all keys of a row are hidden, its maximum is -inf; no difference may
      // be taken from it.
      weights[j] = weights[j] == hidden
                       ? T(0)
                       : std::exp(weights[j] - level.largest) * share;
      slopes[j] = weights[j] * (slopes[j] - tiles.dot[i]);
    }
    gbias.add(head, rows.begin + i, keys, seen, slopes, tiles.gbias);
    for (int64_t j = seen.begin; j < seen.end(); ++j)
      slopes[j] *= T(c.scale) * tiles.bent[j];
    for (T *row : {weights, slopes}) {
      std::fill(row, row + seen.begin, T(0));
      std::fill(row + seen.end(), row + keys.count, T(0));
    }
  }

  const AttentionGradientCommand c;
  const int threads;
  const AttentionTensor<T> q, k, v, o;
  /// [b, h, g, s].
  const T *const statistic;
  const AttentionTensor<T> go, gq, gk, gv;
  const AttentionScores<T> scores;
  const BiasGradient<T> gbias;
};

} // namespace

std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionGradientCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers) {
  if (command.dtype == TPSP_RT_F64)
    return std::make_unique<Gradient<double>>(command, queryStart, threads,
                                              buffers);
  return std::make_unique<Gradient<float>>(command, queryStart, threads,
                                           buffers);
}

} // namespace tpsp::rt
