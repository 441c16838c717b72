/// The scores of an attention, between its two products, in a cuDNN graph. Only
/// CudnnGraph.cpp includes this header, because cudnn-frontend takes long to
/// compile.
///
/// cuDNN has options for a causal mask and for a window. A soft-cap is an
/// operation on scores, which cuDNN compiles into its kernels. Beside such
/// operations cudnn-frontend takes no options, so that the mask and the window
/// are operations, too.
///
/// Segments and lengths are a number for each query and each key, forward: a
/// query sees the keys with its number. The gradients have a mask for all pairs
/// instead, [batch, query, key], because on an H200 cuDNN 9.19's gradients
/// ignore numbers, without a word (docs/decisions/0038).
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDNNSCORES_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDNNSCORES_H

#include "CudnnGraph.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <memory>
#include <type_traits>

namespace tpsp::rt {

/// The operations on the scores of one command.
class CudnnScores : public std::enable_shared_from_this<CudnnScores> {
public:
  using Tensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;
  using Graph = cudnn_frontend::graph::Graph;
  using Backward = cudnn_frontend::graph::SDPA_backward_attributes;

  /// The numbers of further tensors. The forward graph has the first two, the
  /// backward graph the last.
  enum Number : int64_t { QueryNumbers = 100, KeyNumbers, Mask };

  /// `keys` is the number of keys in the graph. `startsLater`: the last query
  /// is at the last of these keys. Otherwise the first is at the first.
  CudnnScores(const AttentionCommand &command, bool startsLater, int64_t keys)
      : c(command), startsLater(startsLater), keys(keys) {}

  /// Sets the scale, and what follows it. Adds further tensors.
  template <typename Options> void set(Graph &graph, Options &options);
  /// Sets the gradient of these operations. Called after set().
  void setGradient(Backward &options);

private:
  using Type = cudnn_frontend::DataType_t;
  using Mode = cudnn_frontend::PointwiseMode_t;

  bool hasOperations() const {
    return c.softcap > 0 || CudnnGraph::hidesKeys(c);
  }
  /// Adds a tensor [batch, rows, columns] with rows of `pitch` elements.
  Tensor add(Graph &graph, Number number, const char *name, Type type,
             int64_t rows, int64_t columns, int64_t pitch) const {
    return graph.tensor(
        cudnn_frontend::graph::Tensor_attributes()
            .set_name(name)
            .set_uid(number)
            .set_data_type(type)
            .set_dim({c.batch, 1, rows, columns})
            .set_stride({rows * pitch, rows * pitch, pitch, 1}));
  }

  Tensor apply(Graph &graph, Mode mode, Type type, const Tensor &a,
               const Tensor &b = nullptr, int64_t axis = -1);
  Tensor real(Graph &graph, Mode mode, const Tensor &a, float b) {
    return apply(graph, mode, Type::FLOAT, a, number(b));
  }
  static Tensor number(float value) {
    return std::make_shared<cudnn_frontend::graph::Tensor_attributes>(value);
  }

  Tensor capped(Graph &graph, const Tensor &scores);
  /// Keeps the scores whose query and key have the same number, or adds the
  /// mask.
  Tensor shown(Graph &graph, const Tensor &scores);
  Tensor masked(Graph &graph, const Tensor &scores);
  cudnn_frontend::DiagonalAlignment_t alignment() const {
    using Alignment = cudnn_frontend::DiagonalAlignment_t;
    return startsLater ? Alignment::BOTTOM_RIGHT : Alignment::TOP_LEFT;
  }
  Tensor kept(Graph &graph, const Tensor &scores, const Tensor &counts);
  /// The position of each score's query.
  Tensor rowOf(Graph &graph, const Tensor &scores) {
    return apply(graph, Mode::GEN_INDEX, Type::INT32, scores, nullptr, 2);
  }

  const AttentionCommand c;
  const bool startsLater;
  const int64_t keys;
  /// Null if the graph does not have it.
  Tensor queryNumbers, keyNumbers, mask;
  /// tanh(score / softcap).
  Tensor bend;
  int numOperations = 0;
};

inline CudnnScores::Tensor CudnnScores::apply(Graph &graph, Mode mode,
                                              Type type, const Tensor &a,
                                              const Tensor &b, int64_t axis) {
  cudnn_frontend::graph::Pointwise_attributes how;
  how.set_mode(mode).set_name("score_" + std::to_string(numOperations++));
  how.set_compute_data_type(type);
  if (axis >= 0)
    how.set_axis(axis);
  Tensor result = b ? graph.pointwise(a, b, how) : graph.pointwise(a, how);
  result->set_data_type(type);
  return result;
}

inline CudnnScores::Tensor CudnnScores::kept(Graph &graph, const Tensor &scores,
                                             const Tensor &counts) {
  cudnn_frontend::graph::Pointwise_attributes how;
  how.set_mode(Mode::BINARY_SELECT)
      .set_name("score_" + std::to_string(numOperations++));
  Tensor result =
      graph.pointwise(scores, number(cudnnHiddenScore), counts, how);
  result->set_data_type(Type::FLOAT);
  return result;
}

inline CudnnScores::Tensor CudnnScores::capped(Graph &graph,
                                               const Tensor &scores) {
  Tensor x = real(graph, Mode::MUL, scores, float(1 / c.softcap));
  bend = apply(graph, Mode::TANH_FWD, Type::FLOAT, x);
  return real(graph, Mode::MUL, bend, float(c.softcap));
}

/// cuDNN compares a column with a row of numbers only if one of them has been
/// computed for every score. A sum would have the mask's strides if there is
/// one head.
inline CudnnScores::Tensor CudnnScores::shown(Graph &graph,
                                              const Tensor &scores) {
  if (mask) {
    int64_t heads = c.heads * c.groups, ofHead = c.queries * keys;
    Tensor sum = apply(graph, Mode::ADD, Type::FLOAT, scores, mask);
    sum->set_dim({c.batch, heads, c.queries, keys});
    sum->set_stride({heads * ofHead, ofHead, keys, 1});
    return sum;
  }
  Tensor row = rowOf(graph, scores);
  Tensor zero = apply(graph, Mode::SUB, Type::INT32, row, row);
  Tensor ofQuery = apply(graph, Mode::ADD, Type::INT32, zero, queryNumbers);
  return kept(graph, scores,
              apply(graph, Mode::CMP_EQ, Type::BOOLEAN, ofQuery, keyNumbers));
}

/// Keeps the scores of keys that are not after the query, nor a window or more
/// before it. cuDNN leaves out blocks after the query if there is no window.
inline CudnnScores::Tensor CudnnScores::masked(Graph &graph,
                                               const Tensor &scores) {
  auto integer = [](int64_t value) {
    return std::make_shared<cudnn_frontend::graph::Tensor_attributes>(
        int32_t(value));
  };
  Tensor row = rowOf(graph, scores);
  Tensor column =
      apply(graph, Mode::GEN_INDEX, Type::INT32, scores, nullptr, 3);
  if (startsLater)
    row = apply(graph, Mode::ADD, Type::INT32, row, integer(keys - c.queries));
  Tensor result = kept(graph, scores,
                       apply(graph, Mode::CMP_GE, Type::BOOLEAN, row, column));
  if (c.window <= 0)
    return result;
  Tensor end = apply(graph, Mode::ADD, Type::INT32, column, integer(c.window));
  return kept(graph, result,
              apply(graph, Mode::CMP_GT, Type::BOOLEAN, end, row));
}

template <typename Options>
void CudnnScores::set(Graph &graph, Options &options) {
  options.set_attn_scale(float(c.scale));
  if (CudnnGraph::hidesKeys(c) && std::is_same_v<Options, Backward>) {
    mask = add(graph, Mask, "mask",
               c.dtype == TPSP_RT_BF16 ? Type::BFLOAT16 : Type::HALF, c.queries,
               keys, CudnnGraph::maskPitch(keys));
  } else if (CudnnGraph::hidesKeys(c)) {
    queryNumbers =
        add(graph, QueryNumbers, "query_numbers", Type::INT32, c.queries, 1, 1);
    keyNumbers =
        add(graph, KeyNumbers, "key_numbers", Type::INT32, 1, keys, keys);
  }
  if (hasOperations()) {
    options.set_score_mod([self = shared_from_this()](
                              const std::shared_ptr<Graph> &of, Tensor scores) {
      if (self->c.softcap > 0)
        scores = self->capped(*of, scores);
      if (CudnnGraph::hidesKeys(self->c))
        scores = self->shown(*of, scores);
      return self->c.causal ? self->masked(*of, scores) : scores;
    });
    return;
  }
  if (!c.causal)
    return;
  options.set_diagonal_alignment(alignment()).set_diagonal_band_right_bound(0);
  if (c.window > 0)
    options.set_diagonal_band_left_bound(int(c.window));
}

/// A hidden key has no weight, so no gradient passes through its score. A
/// soft-cap's slope is 1 - tanh^2.
inline void CudnnScores::setGradient(Backward &options) {
  if (c.softcap <= 0)
    return;
  options.set_score_mod_bprop(
      [self = shared_from_this()](const std::shared_ptr<Graph> &of,
                                  const Tensor &gradient) {
        const Tensor &bend = self->bend;
        Tensor square = self->apply(*of, Mode::MUL, Type::FLOAT, bend, bend);
        Tensor slope = self->real(*of, Mode::ADD,
                                  self->real(*of, Mode::MUL, square, -1), 1);
        return self->apply(*of, Mode::MUL, Type::FLOAT, gradient, slope);
      });
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDNNSCORES_H
