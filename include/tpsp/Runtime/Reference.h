//===- Reference.h - the float64 oracle for unsharded tensors ---*- C++ -*-===//
///
/// \file
/// Evaluates whole, unsharded tensors in double precision. Sharded runs are
/// compared with it, so it shares no code with them. It uses the C++ standard
/// library, Eigen and threads, and nothing of the compiler or the backends.
/// The options of scores are plain values that they share (ScoreOptions.h).
///
/// A tensor's dimensions carry index names, and every function works by name,
/// never by position. The weights of an attention, for example, read
///
///   // "bshd,bthd->bhst"
///   Tensor scores = einsum({&q, &k}, {"b", "h", "s", "t"});
///   Tensor y = softmax(scores, "t", scale, /*causalQueryIndex=*/"s");
///
/// Errors. Each function takes a last `std::string *error`. When a
/// precondition fails the function writes a message there, unless one is
/// there already, and returns an invalid tensor (`isValid()` is false). An
/// invalid operand gives an invalid result, and the first message is kept. So a
/// chain of calls can be checked once, at its end.
///
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_H
#define TPSP_RUNTIME_REFERENCE_H

#include "tpsp/Abi/ScoreOptions.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tpsp::reference {

using IndexNames = std::vector<std::string>;
using Shape = std::vector<int64_t>;

/// A dense row-major tensor of doubles. Dimension i is called `indices[i]` and
/// has extent `shape[i]`. A scalar has no indices and one element. A
/// default-constructed tensor has no element, so it is not a scalar but
/// invalid.
struct Tensor {
  IndexNames indices;
  Shape shape;
  std::vector<double> data;

  /// Whether names, shape and data agree.
  bool isValid() const;
  /// The extent of the first dimension called `name`, if there is one.
  std::optional<int64_t> extent(std::string_view name) const;
};

/// The operands of an einsum or a pointwise function; none may be null.
using Operands = std::vector<const Tensor *>;

/// The product of the extents; 1 for no extents, -1 if one is negative.
int64_t elementCount(const Shape &shape);

/// A tensor with every element equal to `value`.
Tensor full(const IndexNames &indices, const Shape &shape, double value,
            std::string *error = nullptr);

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The same data in row-major order under another shape: splits and merges
/// neighbouring dimensions.
Tensor reshape(Tensor x, const IndexNames &indices, const Shape &shape,
               std::string *error = nullptr);

/// The transpose with dimensions in the order of `indices`, which must be x's
/// indices. A repeated index of x is named once and yields the diagonal.
Tensor permute(const Tensor &x, const IndexNames &indices,
               std::string *error = nullptr);

/// x at position `at` of `index`, which the result lacks.
Tensor take(const Tensor &x, const std::string &index, int64_t at,
            std::string *error = nullptr);

/// x at positions [begin, begin + count) of `index`.
Tensor part(const Tensor &x, const std::string &index, int64_t begin,
            int64_t count, std::string *error = nullptr);

/// The tensor over `indices` that is operand i at position i of `index`.
Tensor stack(const Operands &operands, const std::string &index,
             const IndexNames &indices, std::string *error = nullptr);

//===----------------------------------------------------------------------===//
// Einsum and reductions
//===----------------------------------------------------------------------===//

/// The sum, over every index that the result lacks, of the product of the
/// operands (one or more), folded pairwise from left to right.
///
/// `resultShape` is needed only for result indices that no operand has, along
/// which the result is constant; when empty, extents come from the operands.
Tensor einsum(const Operands &operands, const IndexNames &resultIndices,
              const Shape &resultShape = {}, std::string *error = nullptr);

/// x summed over the indices that `resultIndices` lacks.
Tensor reduceSum(const Tensor &x, const IndexNames &resultIndices,
                 std::string *error = nullptr);

/// The maximum of x over the indices that `resultIndices` lacks. It is minus
/// infinity over no elements, and NaN if an element is NaN.
Tensor reduceMax(const Tensor &x, const IndexNames &resultIndices,
                 std::string *error = nullptr);

//===----------------------------------------------------------------------===//
// Pointwise functions (templates; implemented at the end of this header)
//===----------------------------------------------------------------------===//

/// The tensor whose element at a position is `f(values)`, where `values` is a
/// `const double *` to one value per operand. Operands are broadcast by name:
/// each may lack indices of the result and may order its own differently, but
/// has none that the result lacks. An empty `resultShape` takes the extents
/// from the operands. `f` is called from several threads at once.
template <class F>
Tensor pointwise(F f, const Operands &operands, const IndexNames &resultIndices,
                 const Shape &resultShape = {}, std::string *error = nullptr);

/// Like pointwise, with `f(values, position)`, where `position` is a
/// `const int64_t *` to the position along each result index, in their order.
template <class F>
Tensor pointwiseAt(F f, const Operands &operands,
                   const IndexNames &resultIndices,
                   const Shape &resultShape = {}, std::string *error = nullptr);

/// A scalar function that the IR names.
struct ScalarFunction {
  /// The arity of a function that takes one or more arguments.
  static constexpr int kVariadic = -1;

  std::string_view name;
  int arity;
  double (*evaluate)(const double *arguments, int count);

  bool accepts(int count) const {
    return arity == kVariadic ? count >= 1 : count == arity;
  }
};

/// The function called `name`, or null. Static storage. Unary functions: neg
/// exp log tanh sqrt rsqrt square sigmoid relu silu gelu (tanh approximation)
/// gelu_erf. "slope.<name>" is the derivative of each, a function of the same
/// argument. Binary functions: sub mul div maximum. Variadic: add.
const ScalarFunction *findScalarFunction(std::string_view name);

/// Pointwise application of a function of the table.
Tensor pointwise(const ScalarFunction &function, const Operands &operands,
                 const IndexNames &resultIndices, const Shape &resultShape = {},
                 std::string *error = nullptr);

//===----------------------------------------------------------------------===//
// Composite operations
//===----------------------------------------------------------------------===//

/// The softmax of scale*x over `index`, in x's layout. With a causal query
/// index, positions along `index` beyond the position along the query index are
/// left out and get 0. If `hides`, elements of minus infinity are left out too,
/// and a row of nothing else becomes zeros. `sink` is null if there is none. It
/// is broadcast to rows, and exp(sink) is one more term of each row's sum.
Tensor softmax(const Tensor &x, const std::string &index, double scale = 1.0,
               const std::optional<std::string> &causalQueryIndex = {},
               std::string *error = nullptr, bool hides = false,
               const Tensor *sink = nullptr);

/// Lowers the frequencies of a rotary embedding's pairs. Over `trained`
/// positions, a pair of frequency f turns n = trained f / 2 pi times. It keeps
/// f if n is at least `fastTurns`, and gets f / stretch if n is at most
/// `slowTurns`. In between it gets a mixture of the two, linear in n or, if
/// `isLogarithmic`, in log n. If `trained` is 0, every pair gets f / stretch.
struct RopeScaling {
  double stretch = 1, trained = 0, slowTurns = 0, fastTurns = 0;
  bool isLogarithmic = false;
};

/// Rotary position embedding in its "rotate half" form. The feature index, of
/// even extent K, splits into halves. The pair (x0, x1) at m and K/2 + m turns
/// by the angle position * theta^(-2m/K), or by its negative if `inverse`. So
/// y0 = x0 cos - x1 sin and y1 = x1 cos + x0 sin.
Tensor rope(const Tensor &x, const std::string &positionIndex,
            const std::string &featureIndex, double theta, bool inverse = false,
            std::string *error = nullptr, const RopeScaling &scaling = {});

/// Selects the elements that a dropout zeroes (see dropoutMask).
struct Dropout {
  double rate = 0;
  int64_t seed = 0;
  /// The step's number, below 2^32.
  uint32_t step = 0;
};

/// Attention's indices, and how scores are computed before the softmax over
/// `key`. For keys that the query sees, a score is
///
///     softcap * tanh(scale * <q, k> over `feature` / softcap) + bias
///
/// Positions hide keys as a PositionMask says (ScoreOptions.h). Segments hide
/// keys with another segment number, and lengths hide keys at or after the
/// given position. A bias of minus infinity hides its key; any other bias,
/// however low, is added. A row in which all keys are hidden is 0, and so are
/// gradients through it. A sink is the score of one more key, whose value is 0.
/// `dropout` is applied to the softmax's results. For it, their indices are in
/// the order of q, with the query's and the key's last.
///
/// q has `query` and lacks `key`; k and v have `key` and lack `query`. Indices
/// that only some of the operands have are broadcast (grouped queries). The
/// features of v may have the name `feature`, too; they are kept if the result
/// names them.
struct AttentionForm : ScoreOptions {
  std::string query, key, feature;
  Dropout dropout = {};
  /// Owned by the caller, or null.
  const Tensor *bias = nullptr, *sink = nullptr;
  const Tensor *querySegments = nullptr, *keySegments = nullptr;
  const Tensor *lengths = nullptr;
  /// If given, weights are exp(score - statistic).
  const Tensor *statistic = nullptr;
};

/// Imitates how a program of narrower types stores tensors within a composite.
/// Either function may be null; tensors then stay as f64 has them.
struct Store {
  /// Rounds a tensor to its stored type.
  std::function<Tensor(Tensor)> round = {};
  /// Adds to a sum the error of adding up in f32. The sum is the einsum of
  /// `factors`.
  std::function<Tensor(Tensor, const Operands &factors)> blur = {};

  Tensor operator()(Tensor x) const { return round ? round(std::move(x)) : x; }
  Tensor added(Tensor sum, const Operands &factors) const {
    return blur ? blur(std::move(sum), factors) : sum;
  }
};

/// Attention of this form, with its scores and weights stored by `store`.
Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const AttentionForm &form, const IndexNames &resultIndices,
                 const Store &store = {}, std::string *error = nullptr);

/// The log of the sum over keys of exp(score), over `resultIndices`. A sink
/// counts as a key. Without one, the statistic of a row whose keys are all
/// hidden is minus infinity, the log of 0.
Tensor attentionStatistic(const Tensor &q, const Tensor &k,
                          const AttentionForm &form,
                          const IndexNames &resultIndices,
                          std::string *error = nullptr);

/// The gradients of attention with respect to q, k, v, the bias and the sink,
/// given g, the gradient of its result. They go through the softmax of whole
/// rows. Gradients that `wanted` leaves out are invalid tensors.
std::array<Tensor, 5> attentionGradients(const Tensor &q, const Tensor &k,
                                         const Tensor &v, const Tensor &g,
                                         const AttentionForm &form,
                                         std::array<bool, 5> wanted,
                                         const Store &store = {},
                                         std::string *error = nullptr);

/// The gradient with respect to operand `of`: 0 is q, 1 k, 2 v, 3 the bias, 4
/// the sink.
Tensor attentionGradient(const Tensor &q, const Tensor &k, const Tensor &v,
                         const Tensor &g, const AttentionForm &form, int64_t of,
                         std::string *error = nullptr);

//===----------------------------------------------------------------------===//
// Integers and chance
//===----------------------------------------------------------------------===//

/// Sums over every index that the result lacks. The summand is the product of
/// the numbers if each of `ids` equals the position along its index of
/// `selected`, and 0 elsewhere. If a selected index belongs to a number, the
/// einsum looks up a table. If it belongs to the result, the einsum writes to a
/// place.
Tensor oneHotEinsum(const Operands &ids, const IndexNames &selected,
                    const Operands &numbers, const IndexNames &resultIndices,
                    const Shape &resultShape, std::string *error = nullptr);

/// Counts how often each position along `of`, major to minor, occurs among the
/// integers of x. The counts are along the indices that the result lacks.
Tensor countValues(const Tensor &x, const IndexNames &of,
                   const IndexNames &resultIndices, const Shape &resultShape,
                   std::string *error = nullptr);

/// Repeats each position along `of` as often as x says, in order, along
/// `along`. The rest of `along` is -1.
Tensor runs(const Tensor &x, const std::string &of, const std::string &along,
            const IndexNames &resultIndices, const Shape &resultShape,
            std::string *error = nullptr);

/// For every row along `index`, the positions of its largest values along
/// `choice`, largest first. Among equal values the first position comes first.
Tensor largest(const Tensor &x, const std::string &index,
               const std::string &choice, const IndexNames &resultIndices,
               const Shape &resultShape, std::string *error = nullptr);

/// How far choices like those of largest() fall short of the best. The
/// shortfall is the amount by which the i-th largest value exceeds the i-th
/// chosen one. Returns its root mean square relative to that of all finite
/// values. It is infinite if a choice is no position of x, or occurs twice in a
/// row. It is also infinite if a choice of value -infinity comes before others,
/// and if a value is NaN.
double shortfall(const Tensor &x, const std::string &index,
                 const std::string &choice, const Tensor &chosen,
                 std::string *error = nullptr);

/// The number of equal elements that come before each element in the order of
/// `over`, major to minor. It is -1 for elements outside [0, values).
Tensor countEarlier(const Tensor &x, const IndexNames &over, int64_t values,
                    std::string *error = nullptr);

/// The same number, plus the count of all smaller values of the same block.
/// `load` has these counts; its indices `of` are those of blocks (if there are
/// two) and of the values in a block.
Tensor countEarlier(const Tensor &x, const IndexNames &over, int64_t values,
                    const Tensor *load, const IndexNames &of,
                    std::string *error = nullptr);

/// 1 for the elements that a dropout keeps, 0 for the others. An element is
/// kept if its word of Philox-4x32-10 is at least rate * 2^32. The element at
/// row-major position p has word p mod 4 of block p / 4 of the step.
Tensor dropoutMask(const IndexNames &indices, const Shape &shape,
                   Dropout dropout, std::string *error = nullptr);

/// The four words of Philox-4x32-10 (Salmon et al., SC 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

//===----------------------------------------------------------------------===//
// Implementation details
//===----------------------------------------------------------------------===//

namespace detail {

/// Runs `body(begin, end)` over pieces of [0, count) on all cores. Runs it
/// inline if count * costPerItem (in about nanoseconds) does not justify a
/// thread. Rethrows an exception of the body.
void parallelFor(int64_t count, int64_t costPerItem,
                 const std::function<void(int64_t, int64_t)> &body);

/// The loop nest of a pointwise function: rows along the last result index,
/// and the other indices flattened into a number of rows.
struct PointwisePlan {
  Shape extents;
  std::vector<const double *> operands;
  /// strides[operand][dimension]; 0 if the operand lacks the index.
  std::vector<Shape> strides;
  int64_t rows = 1;
  int64_t rowLength = 1;
};

/// Checks the operands against the result, fills in the plan and allocates the
/// result. Returns an invalid tensor if a precondition fails.
Tensor planPointwise(const Operands &operands, const IndexNames &resultIndices,
                     const Shape &resultShape, PointwisePlan &plan,
                     std::string *error);

/// Walks the elements of a plan's result in row-major order. A plan without
/// dimensions has one row of one element.
class PointwiseCursor {
public:
  PointwiseCursor(const PointwisePlan &plan, int64_t row);

  /// The operands' values at the current element, one for each operand.
  const double *values() {
    for (size_t i = 0; i < current.size(); ++i)
      buffer[i] = *current[i];
    return buffer.data();
  }
  const int64_t *position() const { return at.data(); }

  /// Moves along the row; past its end, nextRow() must follow.
  void nextInRow() {
    for (size_t i = 0; i < current.size(); ++i)
      current[i] += rowStrides[i];
    ++at.back();
  }
  void nextRow();

private:
  void seek();

  const PointwisePlan &plan;
  Shape at; // One entry even without dimensions, for nextInRow().
  Shape rowStrides;
  std::vector<const double *> current;
  std::vector<double> buffer;
};

} // namespace detail

template <class F>
Tensor pointwiseAt(F f, const Operands &operands,
                   const IndexNames &resultIndices, const Shape &resultShape,
                   std::string *error) {
  detail::PointwisePlan plan;
  Tensor result =
      detail::planPointwise(operands, resultIndices, resultShape, plan, error);
  if (result.data.empty())
    return result;
  const int64_t costPerElement = 2 + int64_t(operands.size());
  detail::parallelFor(
      plan.rows, plan.rowLength * costPerElement,
      [&](int64_t begin, int64_t end) {
        detail::PointwiseCursor cursor(plan, begin);
        double *out = result.data.data() + begin * plan.rowLength;
        for (int64_t row = begin; row < end; ++row, cursor.nextRow())
          for (int64_t i = 0; i < plan.rowLength; ++i, cursor.nextInRow())
            *out++ = f(cursor.values(), cursor.position());
      });
  return result;
}

template <class F>
Tensor pointwise(F f, const Operands &operands, const IndexNames &resultIndices,
                 const Shape &resultShape, std::string *error) {
  return pointwiseAt(
      [&f](const double *values, const int64_t *) { return f(values); },
      operands, resultIndices, resultShape, error);
}

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_H
