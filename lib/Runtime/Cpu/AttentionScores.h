/// Processing of an attention's scaled products before the softmax: the
/// soft-cap, the bias, and the hidden keys.
#ifndef TPSP_RUNTIME_CPU_ATTENTIONSCORES_H
#define TPSP_RUNTIME_CPU_ATTENTIONSCORES_H

#include "AttentionTiles.h"

#include <limits>
#include <vector>

namespace tpsp::rt {

/// Rows of scores of type T: double for f64, float for all other types.
template <typename T> class AttentionScores {
public:
  /// `queryStart` is the position of this rank's first query.
  /// `extras` are the command's buffers from the bias on.
  AttentionScores(const AttentionCommand &c, int64_t queryStart,
                  const std::vector<std::byte *> &extras);

  /// The number of keys of a head, counted from the first, that its length
  /// leaves visible.
  int64_t numKeys(const AttentionHead &head) const;

  /// The keys of a block that a query may see by its position, relative to the
  /// block. Empty if there are none.
  TileRows seen(int64_t query, TileRows keys) const;

  /// Whether all keys of a block are surely hidden from all queries of a block.
  /// Their positions hide them, or no segment of these queries can have a key
  /// in the block.
  bool isMasked(const AttentionHead &head, TileRows queries,
                TileRows keys) const;

  /// Turns `row`, products of a query with a block of keys, into scores. A
  /// score is minus infinity if a bias of minus infinity or a segment hides its
  /// key, and finite otherwise. Only scores in `seen` are written. If `slopes`
  /// is not null, it gets the derivatives of the scores by the products.
  void score(const AttentionHead &head, int64_t query, TileRows keys,
             TileRows seen, T *row, T *slopes) const;

private:
  bool isMaskedByPosition(TileRows queries, TileRows keys) const;
  void cap(TileRows seen, T *row, T *slopes) const;
  void addBias(const AttentionHead &head, int64_t query, TileRows keys,
               TileRows seen, T *row) const;
  void leaveOtherSegments(const AttentionHead &head, int64_t query,
                          TileRows keys, TileRows seen, T *row) const;

  const AttentionCommand c;
  /// The number of first keys that lie before position 0, and the first query
  /// counted in keys from the first.
  const int64_t before, queryStart;
  const std::byte *bias = nullptr;
  const int32_t *querySegments = nullptr, *keySegments = nullptr;
  const int32_t *lengths = nullptr;
};

/// The running maximum and sum of a row of scores, over the keys seen so far.
template <typename T> struct RowLevel {
  /// Minus infinity and 0 if all of those keys are hidden.
  T largest = -std::numeric_limits<T>::infinity(), total = 0;

  /// Turns `count` more scores into weights: exp(score - largest), 0 for hidden
  /// keys. Returns the factor by which earlier weights must be multiplied.
  T addScores(T *row, int64_t count);
};

/// The gradient of a bias, summed over batches and heads that share a part of
/// it.
template <typename T> class BiasGradient {
public:
  /// If `target` is null, the gradient is not wanted, and all calls do nothing.
  BiasGradient(const AttentionCommand &c, std::byte *target)
      : c(c), target(target) {}

  /// The number of batches, or heads, that share one part; they are added up
  /// one after another.
  int64_t sharedBatches() const { return shared(c.bias.batch, c.batch); }
  int64_t sharedHeads() const { return shared(c.bias.head, c.heads); }

  /// The number of sums in a part.
  int64_t elements() const;
  /// Adds the slopes of those scores of a row that are in `seen` to a part.
  void add(const AttentionHead &head, int64_t query, TileRows keys,
           TileRows seen, const T *slopes, T *part) const;
  /// Rounds the part of `head` and stores it in the gradient.
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
