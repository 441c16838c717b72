/// What becomes of an attention's scaled products before the softmax: the
/// soft-cap, the bias, and which keys count.
#ifndef TPSP_RUNTIME_CPU_ATTENTIONSCORES_H
#define TPSP_RUNTIME_CPU_ATTENTIONSCORES_H

#include "AttentionTiles.h"

#include <limits>
#include <vector>

namespace tpsp::rt {

/// Rows of scores of type T: float, or double for f64.
template <typename T> class AttentionScores {
public:
  /// `queryStart`: at which key a mask has the first query. `extras`: the
  /// command's buffers from the bias on.
  AttentionScores(const AttentionCommand &c, int64_t queryStart,
                  const std::vector<std::byte *> &extras);

  /// How many of the first keys count for a head.
  int64_t numKeys(const AttentionHead &head) const;

  /// Of a block of keys, those that a query may see by its position: relative
  /// to the block, empty if there are none.
  TileRows seen(int64_t query, TileRows keys) const;

  /// Whether a block of queries sees none of a block of keys.
  bool isMasked(TileRows queries, TileRows keys) const;

  /// Makes scores of `row`, products of a query with a block of keys. A score
  /// is minus infinity if its key is hidden, by a bias of that or by its
  /// segment, and else a number. Only those of `seen` are touched. If not null,
  /// `slopes` becomes the scores' slopes by the products.
  void score(const AttentionHead &head, int64_t query, TileRows keys,
             TileRows seen, T *row, T *slopes) const;

private:
  void cap(TileRows seen, T *row, T *slopes) const;
  void addBias(const AttentionHead &head, int64_t query, TileRows keys,
               TileRows seen, T *row) const;
  void leaveOtherSegments(const AttentionHead &head, int64_t query,
                          TileRows keys, TileRows seen, T *row) const;

  const AttentionCommand c;
  const int64_t queryStart;
  const std::byte *bias = nullptr;
  const int32_t *querySegments = nullptr, *keySegments = nullptr;
  const int32_t *lengths = nullptr;
};

/// What a row of scores has come to, of the keys that were met so far.
template <typename T> struct RowLevel {
  /// Minus infinity, and 0, where all of them are hidden.
  T largest = -std::numeric_limits<T>::infinity(), total = 0;

  /// Makes weights of `count` more scores: exp(score - largest), 0 for hidden
  /// ones. Returns what weights from before are to be multiplied by.
  T addScores(T *row, int64_t count);
};

/// The gradient of a bias, of the batches and heads that share a part of it.
template <typename T> class BiasGradient {
public:
  /// `target` is null if it is not wanted; all calls then do nothing.
  BiasGradient(const AttentionCommand &c, std::byte *target)
      : c(c), target(target) {}

  /// Batches, or heads, that have no part of their own: they are added up, one
  /// after another.
  int64_t sharedBatches() const { return shared(c.bias.batch, c.batch); }
  int64_t sharedHeads() const { return shared(c.bias.head, c.heads); }

  /// How many sums a part takes.
  int64_t elements() const;
  /// Adds the slopes of `seen` of a row of scores to a part.
  void add(const AttentionHead &head, int64_t query, TileRows keys,
           TileRows seen, const T *slopes, T *part) const;
  /// Rounds the part of `head` to where it belongs.
  void store(const AttentionHead &head, const T *part) const;

private:
  int64_t shared(int64_t stride, int64_t extent) const {
    return target && stride == 0 ? extent : 1;
  }
  int64_t groups() const { return c.bias.group ? c.groups : 1; }
  int64_t rows() const { return c.bias.row ? c.queries : 1; }
  int64_t keys() const { return c.bias.key ? c.keys : 1; }

  const AttentionCommand c;
  std::byte *const target;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_ATTENTIONSCORES_H
