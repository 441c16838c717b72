// Attention's gradients: the weights of a block are made again from the rows'
// statistic (Dao et al., FlashAttention, NeurIPS 2022, appendix B). With p the
// weights and D[s] = sum over e of go[s, e] o[s, e],
//
//   gv = p' go,  gp = go v',  gz = scale p (gp - D),  gq = gz k,  gk = gz' q
#include "AttentionTiles.h"
#include "CpuAttention.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>

namespace tpsp::rt {
namespace {

constexpr int64_t blockQueries = 128, blockKeys = 256;

/// What a thread has at hand: a block of queries, a block of keys, and the
/// gradients of all keys and values of a head.
template <typename T> struct GradientTiles {
  GradientTiles(const AttentionCommand &c, TileMemory<T> memory)
      : q(memory.take(blockQueries * c.features)),
        gq(memory.take(blockQueries * c.features)),
        o(memory.take(blockQueries * c.valueFeatures)),
        go(memory.take(blockQueries * c.valueFeatures)),
        dot(memory.take(blockQueries)), k(memory.take(blockKeys * c.features)),
        v(memory.take(blockKeys * c.valueFeatures)),
        weights(memory.take(blockQueries * blockKeys)),
        slopes(memory.take(blockQueries * blockKeys)),
        gk(memory.take(c.keys * c.features)),
        gv(memory.take(c.keys * c.valueFeatures)) {}

  static int64_t elements(const AttentionCommand &c) {
    int64_t features = c.features + c.valueFeatures;
    return blockQueries * (2 * features + 1 + 2 * blockKeys) +
           (blockKeys + c.keys) * features;
  }

  T *q, *gq, *o, *go, *dot, *k, *v, *weights, *slopes, *gk, *gv;
};

template <typename T> class Gradient final : public PreparedAttention {
public:
  Gradient(const AttentionCommand &c, int threads,
           const std::vector<std::byte *> &buffers)
      : c(c), threads(threads), q(buffers[0], c.dtype, c.q, c.features),
        k(buffers[1], c.dtype, c.k, c.features),
        v(buffers[2], c.dtype, c.v, c.valueFeatures),
        o(buffers[3], c.dtype, c.o, c.valueFeatures),
        statistic(reinterpret_cast<const T *>(buffers[4])),
        go(buffers[5], c.dtype, c.o, c.valueFeatures),
        gq(buffers[6], c.dtype, c.q, c.features),
        gk(buffers[7], c.dtype, c.k, c.features),
        gv(buffers[8], c.dtype, c.v, c.valueFeatures) {}

  Status run(ScratchBuffer &scratch) override {
    int64_t perThread = GradientTiles<T>::elements(c);
    auto *base = reinterpret_cast<T *>(
        scratch.reserve(size_t(perThread * threads) * sizeof(T)));
    return forEachOnThreads(
        c.batch * c.heads, threads, [&](int thread, int64_t number) {
          GradientTiles<T> tiles(c, TileMemory<T>(base + thread * perThread));
          return runHead({number / c.heads, number % c.heads, 0}, tiles);
        });
  }

private:
  /// All that reads a head of keys: the groups' queries, one after another.
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
    Status status = forEachBlock(c.keys, blockKeys, [&](TileRows keys) {
      return isMasked(c, rows, keys) ? Status()
                                     : addBlock(head, rows, keys, tiles);
    });
    if (status.ok())
      gq.store(tiles.gq, head, rows);
    return status;
  }

  Status addBlock(const AttentionHead &head, TileRows rows, TileRows keys,
                  GradientTiles<T> &tiles) {
    AttentionHead keyHead{head.batch, head.head, 0};
    k.load(keyHead, keys, tiles.k);
    v.load(keyHead, keys, tiles.v);
    T *gkHere = tiles.gk + keys.begin * c.features;
    T *gvHere = tiles.gv + keys.begin * c.valueFeatures;
    using Product = TileProduct;
    Product scores{rows.count, keys.count, c.features, false, true, c.scale, 0};
    Product slopes{rows.count, keys.count, c.valueFeatures, false, true, 1, 0};
    TPSP_TRY(multiply(scores, tiles.q, tiles.k, tiles.weights));
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

  /// Scores become weights, and the weights' gradients those of the scores
  /// before they were scaled.
  void differentiateRow(int64_t i, const AttentionHead &head, TileRows rows,
                        TileRows keys, GradientTiles<T> &tiles) {
    int64_t number = (head.batch * c.heads + head.head) * c.groups + head.group;
    T level = statistic[number * c.queries + rows.begin + i];
    T *weights = tiles.weights + i * keys.count;
    T *slopes = tiles.slopes + i * keys.count;
    int64_t seen = keysSeen(c, rows.begin + i, keys);
    for (int64_t j = 0; j < seen; ++j) {
      weights[j] = std::exp(weights[j] - level);
      slopes[j] = T(c.scale) * weights[j] * (slopes[j] - tiles.dot[i]);
    }
    std::fill(weights + seen, weights + keys.count, T(0));
    std::fill(slopes + seen, slopes + keys.count, T(0));
  }

  const AttentionCommand c;
  const int threads;
  const AttentionTensor<T> q, k, v, o;
  /// [b, h, g, s].
  const T *const statistic;
  const AttentionTensor<T> go, gq, gk, gv;
};

} // namespace

std::unique_ptr<PreparedAttention>
prepareAttentionGradient(const AttentionCommand &command, int threads,
                         const std::vector<std::byte *> &buffers) {
  if (command.dtype == TPSP_RT_F64)
    return std::make_unique<Gradient<double>>(command, threads, buffers);
  return std::make_unique<Gradient<float>>(command, threads, buffers);
}

} // namespace tpsp::rt
