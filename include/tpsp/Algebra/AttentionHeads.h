/// Attention on row-major tensors as heads of rows, which is how a library that
/// does it in one call sees it.
///
/// The outer indices of the queries are those that are neither a row nor a
/// feature. The keys have some of them; along the others, keys and values serve
/// a group of queries' heads. Neighbours whose strides continue each other in
/// every tensor act as one. A library knows two shared ones, batch and head,
/// and one group, which lies inside the head so that both are one index of
/// heads. Nothing is ever copied.
#ifndef TPSP_ALGEBRA_ATTENTIONHEADS_H
#define TPSP_ALGEBRA_ATTENTIONHEADS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tpsp {

struct AttentionHeads {
  /// Strides, in elements; that of the feature is 1.
  struct Layout {
    int64_t batch = 0, head = 0, group = 0, row = 0;
  };
  /// Of what is added to scores: 0 along what it is the same along.
  struct ScoreLayout : Layout {
    int64_t key = 0;
  };

  int64_t batch = 1, heads = 1, groups = 1;
  int64_t queries = 1, keys = 1;
  int64_t features = 1, valueFeatures = 1;
  /// The group's stride of k and v is 0.
  Layout q, k, v, o;
  /// Of what there is of these.
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
  /// Added to scores; segment numbers of the queries and of the keys; how many
  /// keys count. Without a shape or names: not there, or the same for all.
  NamedShape bias = {}, querySegments = {}, keySegments = {}, lengths = {};
};

struct AttentionMatch {
  AttentionHeads heads;
  /// For people: what stands in the way; "" if nothing does.
  std::string obstacle;

  bool matches() const { return obstacle.empty(); }
};

/// The tensors are an attention's ((A1) to (A3) of tpsp.attention), of per-rank
/// shapes.
AttentionMatch matchAttentionHeads(const AttentionTensors &tensors);

} // namespace tpsp

#endif // TPSP_ALGEBRA_ATTENTIONHEADS_H
