/// Attention on row-major tensors seen as heads of rows. Libraries that do
/// attention in one call take it in this form.
///
/// The outer indices of the queries are all but the row and the feature. The
/// keys share some of the outer indices. Along the others, the *groups*, keys
/// and values serve several heads of queries. Neighbouring indices whose
/// strides continue each other in every tensor are merged. A library accepts
/// two shared indices, batch and head, and one group. The group must lie inside
/// the head, so that both form one index of queries' heads. Nothing is ever
/// copied.
#ifndef TPSP_ALGEBRA_ATTENTIONHEADS_H
#define TPSP_ALGEBRA_ATTENTIONHEADS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tpsp {

struct AttentionHeads {
  /// Strides in elements. The feature's stride is 1.
  struct Layout {
    int64_t batch = 0, head = 0, group = 0, row = 0;
  };
  /// Strides of a tensor that is added to scores, in elements. The stride is 0
  /// along an index that the tensor does not have.
  struct ScoreLayout : Layout {
    int64_t key = 0;
  };

  int64_t batch = 1, heads = 1, groups = 1;
  int64_t queries = 1, keys = 1;
  int64_t features = 1, valueFeatures = 1;
  /// Keys and values have no group: their group's stride is 0.
  Layout q, k, v, o;
  /// Set if the attention has these tensors.
  ScoreLayout bias;
  Layout querySegments, keySegments, lengths;
};

/// A row-major tensor, outermost index first.
struct NamedShape {
  llvm::ArrayRef<llvm::StringRef> names;
  llvm::ArrayRef<int64_t> shape;
};

struct AttentionTensors {
  NamedShape q, k, v, o;
  llvm::StringRef query, key, feature;
  /// The bias of scores, the segment numbers of queries and of keys, and the
  /// number of keys that count. A tensor without a shape or names is absent, or
  /// the same for all.
  NamedShape bias = {}, querySegments = {}, keySegments = {}, lengths = {};
};

struct AttentionMatch {
  AttentionHeads heads;
  /// For people: why the attention does not match; "" if it does.
  std::string obstacle;

  bool matches() const { return obstacle.empty(); }
};

/// Matches tensors of per-rank shapes. They must be an attention's: (A1) to
/// (A3) of tpsp.attention hold.
AttentionMatch matchAttentionHeads(const AttentionTensors &tensors);

} // namespace tpsp

#endif // TPSP_ALGEBRA_ATTENTIONHEADS_H
