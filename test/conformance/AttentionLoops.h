/// Attention and its gradients by plain loops in double, and commands to
/// compare with them.
#ifndef TPSP_TEST_CONFORMANCE_ATTENTIONLOOPS_H
#define TPSP_TEST_CONFORMANCE_ATTENTIONLOOPS_H

#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/tpsp_rt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace tpsp::rt::conformance {

using Values = std::vector<double>;

/// Returns a dense layout. `order` lists the indices, outermost first, such as
/// "bshg"; the feature comes last.
inline AttentionLayout layoutOf(const std::string &order,
                                const AttentionCommand &c, int64_t rows,
                                int64_t features) {
  AttentionLayout at;
  std::map<char, std::pair<int64_t, int64_t *>> indices = {
      {'b', {c.batch, &at.batch}},
      {'h', {c.heads, &at.head}},
      {'g', {c.groups, &at.group}},
      {'s', {rows, &at.row}}};
  int64_t inner = features;
  for (auto name = order.rbegin(); name != order.rend(); ++name) {
    auto [extent, stride] = indices.at(*name);
    *stride = inner;
    inner *= extent;
  }
  return at;
}

struct Shape {
  int64_t batch, heads, groups, queries, keys, features, valueFeatures;
};

/// `order` is the order of queries and results, `keyOrder` that of keys and
/// values.
inline AttentionCommand makeAttention(int64_t dtype, const Shape &s,
                                      const std::string &order,
                                      const std::string &keyOrder,
                                      bool causal) {
  AttentionCommand c;
  c.dtype = dtype;
  c.batch = s.batch, c.heads = s.heads, c.groups = s.groups;
  c.queries = s.queries, c.keys = s.keys;
  c.features = s.features, c.valueFeatures = s.valueFeatures;
  c.scale = 1 / std::sqrt(double(s.features));
  c.causal = causal;
  c.keepsStatistic = true;
  c.q = layoutOf(order, c, c.queries, c.features);
  c.o = layoutOf(order, c, c.queries, c.valueFeatures);
  c.k = layoutOf(keyOrder, c, c.keys, c.features);
  c.v = layoutOf(keyOrder, c, c.keys, c.valueFeatures);
  return c;
}

/// Queries that start within a chunk, and more than one block of keys. The
/// largest chunks have a window.
inline AttentionCommand inChunks(int64_t dtype, int64_t chunk) {
  AttentionCommand c = makeAttention(dtype, {1, 2, 2, 130, 300, 7, 5}, "bshg",
                                     "bsh", /*causal=*/chunk > 0);
  c.chunk = chunk;
  c.window = chunk > 100 ? 33 : 0;
  c.queryStart.offset = chunk > 0 ? 67 : 0;
  return c;
}

/// Operands and results, in the command's layouts.
struct Tensors {
  Values q, k, v, o, statistic, go, gq, gk, gv;
  Values bias, querySegments, keySegments, lengths, gbias;
};

/// One head of queries, by plain loops.
class HeadLoops {
public:
  HeadLoops(const AttentionCommand &c, int64_t b, int64_t h, int64_t g)
      : c(c), b(b), h(h), g(g) {}

  void forward(Tensors &t) const {
    for (int64_t s = 0; s < c.queries; ++s) {
      Values weights = weightsOf(t, s);
      for (int64_t e = 0; e < c.valueFeatures; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < c.keys; ++j)
          sum += weights[j] * t.v[key(c.v, j) + e];
        t.o[query(c.o, s) + e] = sum;
      }
    }
  }

  /// Adds to gk and gv, and sets gq.
  void backward(Tensors &t) const {
    for (int64_t s = 0; s < c.queries; ++s) {
      Values bent, weights = weightsOf(t, s, &bent), slopes(c.keys, 0);
      double mean = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        for (int64_t e = 0; e < c.valueFeatures; ++e) {
          double g = t.go[query(c.o, s) + e];
          slopes[j] += g * t.v[key(c.v, j) + e];
          t.gv[key(c.v, j) + e] += weights[j] * g;
        }
        mean += weights[j] * slopes[j];
      }
      for (int64_t j = 0; j < c.keys; ++j) {
        double slope = weights[j] * (slopes[j] - mean);
        if (c.hasBias)
          t.gbias[biasAt(s, j)] += slope;
        slope *= c.scale * (1 - bent[j] * bent[j]);
        for (int64_t d = 0; d < c.features; ++d) {
          t.gq[query(c.q, s) + d] += slope * t.k[key(c.k, j) + d];
          t.gk[key(c.k, j) + d] += slope * t.q[query(c.q, s) + d];
        }
      }
    }
  }

private:
  int64_t query(const AttentionLayout &at, int64_t row) const {
    return b * at.batch + h * at.head + g * at.group + row * at.row;
  }
  int64_t key(const AttentionLayout &at, int64_t row) const {
    return b * at.batch + h * at.head + row * at.row;
  }

  int64_t biasAt(int64_t s, int64_t j) const {
    return query(c.bias, s) + j * c.bias.key;
  }
  /// Positions are those of all queries and keys, of which a rank may have the
  /// last.
  bool seesPosition(int64_t s, int64_t j) const {
    int64_t at = s + c.queryStart.offset;
    if (c.hasLastKeys)
      j += c.queryStart.offset + c.queries - c.keys;
    return j >= 0 &&
           (!c.causal || (j <= at && (c.window == 0 || at - j < c.window) &&
                          (c.chunk == 0 || at / c.chunk == j / c.chunk)));
  }
  bool sees(const Tensors &t, int64_t s, int64_t j) const {
    if (!seesPosition(s, j))
      return false;
    if (c.hasLengths && j >= t.lengths[key(c.lengths, 0)])
      return false;
    if (c.hasBias && t.bias[biasAt(s, j)] == -HUGE_VAL)
      return false;
    return !c.hasSegments || t.querySegments[query(c.querySegments, s)] ==
                                 t.keySegments[key(c.keySegments, j)];
  }
  /// Sets `bent` to the tanh of the soft-cap, or 0 without one.
  double scoreOf(const Tensors &t, int64_t s, int64_t j, double &bent) const {
    double score = 0;
    for (int64_t d = 0; d < c.features; ++d)
      score += t.q[query(c.q, s) + d] * t.k[key(c.k, j) + d];
    score *= c.scale;
    bent = c.softcap > 0 ? std::tanh(score / c.softcap) : 0;
    if (c.softcap > 0)
      score = c.softcap * bent;
    if (!c.hasBias)
      return score;
    // The sum in f32 loses the score if the bias is very low.
    double bias = t.bias[biasAt(s, j)];
    return c.dtype == TPSP_RT_F64 ? score + bias : float(score) + float(bias);
  }

  /// Returns the weights of a row of scores and sets the row's statistic.
  Values weightsOf(Tensors &t, int64_t s, Values *bent = nullptr) const {
    Values weights(c.keys, 0), tanhs(c.keys, 0);
    double largest = -HUGE_VAL, total = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      weights[j] = scoreOf(t, s, j, tanhs[j]);
      if (sees(t, s, j))
        largest = std::max(largest, weights[j]);
    }
    for (int64_t j = 0; j < c.keys; ++j) {
      weights[j] = sees(t, s, j) ? std::exp(weights[j] - largest) : 0;
      total += weights[j];
    }
    for (int64_t j = 0; j < c.keys && total > 0; ++j)
      weights[j] /= total;
    int64_t row = ((b * c.heads + h) * c.groups + g) * c.queries + s;
    t.statistic[row] = largest + std::log(total);
    if (bent)
      *bent = tanhs;
    return weights;
  }

  const AttentionCommand &c;
  int64_t b, h, g;
};

/// Sets elements and whole rows of the bias to minus infinity, which hides
/// keys, or to `low`.
template <typename Engine>
void lowerBias(const AttentionCommand &c, double low, Engine &random,
               Values &bias) {
  const double kinds[] = {-HUGE_VAL, low};
  for (size_t i = 0; i < bias.size(); ++i) {
    size_t row = i / size_t(c.keys), kind = row % 8;
    if (kind == 2 || (kind > 2 && random() % 2 == 0))
      kind = random() % 2;
    if (kind < 2)
      bias[i] = kinds[kind];
  }
}

template <typename Body>
void forEachHead(const AttentionCommand &c, const Body &body) {
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t g = 0; g < c.groups; ++g)
        body(HeadLoops(c, b, h, g));
}

/// Gives the command a dense bias. `order` lists its indices, outermost first,
/// such as "bhgst".
inline void giveBias(AttentionCommand &c, const std::string &order) {
  c.hasBias = true;
  c.bias = {};
  int64_t inner = 1;
  std::map<char, std::pair<int64_t, int64_t *>> indices = {
      {'b', {c.batch, &c.bias.batch}},
      {'h', {c.heads, &c.bias.head}},
      {'g', {c.groups, &c.bias.group}},
      {'s', {c.queries, &c.bias.row}},
      {'t', {c.keys, &c.bias.key}}};
  for (auto name = order.rbegin(); name != order.rend(); ++name) {
    auto [extent, stride] = indices.at(*name);
    *stride = inner;
    inner *= extent;
  }
}

/// Gives every batch its own documents.
inline void giveSegments(AttentionCommand &c) {
  c.hasSegments = true;
  c.querySegments = {c.queries, 0, 0, 1};
  c.keySegments = {c.keys, 0, 0, 1};
}

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_ATTENTIONLOOPS_H
