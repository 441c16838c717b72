//===- RowOperations.cpp - softmax, normalisations, attention -------------===//

#include "OperationFamilies.h"
#include "Preconditions.h"

#include <cmath>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Tensor evaluateSoftmax(Evaluation &e) {
  std::optional<std::string> query;
  if (e.has("causal"))
    query = e.text("causal");
  return softmax(e.operand(0), e.text("over"), e.constant("scale"), query,
                 &e.error, e.flag("hides"),
                 e.operands.size() > 1 ? &e.operand(1) : nullptr);
}

/// The gradient is scale p (g - sum of p g over the row). The sink's is minus
/// its own weight, 1 - sum of p, times the same sum.
static void differentiateSoftmax(Evaluation &e, const Tensor &gradient,
                                 OperandGradients &out) {
  Tensor p = e.stored(evaluateSoftmax(e));
  auto sumOfRows = [&](const Tensor &x) {
    return e.stored(e.added(
        reduceSum(x, without(p.indices, {e.text("over")}), &e.error), {&x}));
  };
  Tensor product = pointwise([](const double *v) { return v[0] * v[1]; },
                             {&p, &gradient}, p.indices, p.shape, &e.error);
  Tensor sum = sumOfRows(product);
  out.set(0, [&]() -> Tensor {
    double scale = e.constant("scale");
    Tensor result =
        pointwise([=](const double *v) { return scale * v[0] * (v[1] - v[2]); },
                  {&p, &gradient, &sum}, p.indices, p.shape, &e.error);
    return fitted(result, out.type(0), e);
  });
  if (e.operands.size() < 2)
    return;
  out.set(1, [&] {
    Tensor seen = sumOfRows(p);
    Tensor lost = pointwise([](const double *v) { return (v[0] - 1) * v[1]; },
                            {&seen, &sum}, sum.indices, sum.shape, &e.error);
    return fitted(e.stored(lost), out.type(1), e);
  });
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

namespace {

/// x / sqrt(mean(x^2) + eps) over the gain's indices, and its gradient. If
/// centred, x is first reduced by its mean.
class Normalized {
public:
  Normalized(Evaluation &e, bool centered) : e(e), centered(centered) {
    const Tensor &x = e.operand(0);
    over = e.operand(1).indices;
    Tensor moved = centered ? lessItsMean(x) : x;
    Tensor squares = each([](const double *v) { return *v * *v; }, {&moved});
    factor = e.stored(mean(squares));
    double eps = e.constant("eps");
    for (double &value : factor.data)
      value = 1 / std::sqrt(value + eps);
    factor = e.stored(std::move(factor));
    value = e.stored(
        each([](const double *v) { return v[0] * v[1]; }, {&moved, &factor}));
  }

  /// factor (u - value mean(u value)), where u is the gradient of `value`. If
  /// centred, the result is reduced by its mean.
  Tensor differentiate(const Tensor &u) {
    Tensor product =
        each([](const double *v) { return v[0] * v[1]; }, {&u, &value});
    Tensor along = e.stored(mean(product));
    Tensor across = e.stored(
        each([](const double *v) { return v[3] * (v[0] - v[1] * v[2]); },
             {&u, &value, &along, &factor}));
    return centered ? lessItsMean(across) : across;
  }

  Tensor value;

private:
  Tensor mean(const Tensor &x) {
    Tensor sum =
        e.added(reduceSum(x, without(x.indices, over), &e.error), {&x});
    double ratio = static_cast<double>(sum.data.size()) /
                   static_cast<double>(x.data.size());
    for (double &value : sum.data)
      value *= ratio;
    return sum;
  }
  Tensor lessItsMean(const Tensor &x) {
    Tensor average = e.stored(mean(x));
    return e.stored(
        each([](const double *v) { return v[0] - v[1]; }, {&x, &average}));
  }
  template <typename F> Tensor each(F f, const Operands &operands) {
    return pointwise(f, operands, operands[0]->indices, operands[0]->shape,
                     &e.error);
  }

  Evaluation &e;
  bool centered;
  IndexNames over;
  Tensor factor;
};

} // namespace

/// The gain times the normalised value, plus the bias if there is one.
/// Intermediate stored values are rounded: a mean that is large next to the
/// deviations takes their digits.
template <bool centered> static Tensor evaluateNorm(Evaluation &e) {
  Normalized x(e, centered);
  if (!e.error.empty())
    return {};
  Operands operands = {&x.value, e.operands[1]};
  if (e.operands.size() > 2)
    operands.push_back(e.operands[2]);
  bool hasBias = operands.size() > 2;
  return pointwise(
      [=](const double *v) { return v[0] * v[1] + (hasBias ? v[2] : 0); },
      operands, e.indices(), e.shape(), &e.error);
}

template <bool centered>
static void differentiateNorm(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  Normalized x(e, centered);
  if (!e.error.empty())
    return;
  auto product = [&](const Tensor &a, const Tensor &b) {
    return pointwise([](const double *v) { return v[0] * v[1]; }, {&a, &b},
                     a.indices, a.shape, &e.error);
  };
  out.set(0, [&] {
    Tensor u = e.stored(product(gradient, e.operand(1)));
    return fitted(x.differentiate(u), out.type(0), e);
  });
  out.set(1, [&] {
    return fitted(e.stored(product(gradient, x.value)), out.type(1), e);
  });
  out.set(2, [&] { return fitted(gradient, out.type(2), e); });
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The positions of optional operands after the tensors; 0 if an operand is
/// absent.
struct AttentionExtras {
  size_t bias = 0, sink = 0, querySegments = 0, keySegments = 0, lengths = 0;
  /// The position that the step's number has if it is present.
  size_t step = 0;
};

/// `tensors` is the number of operands that come first. A bias, a sink and the
/// step's number have float elements. A bias has the index of queries or keys,
/// a sink other indices, and the step's number none. One integer operand is
/// lengths, two are segments, three are both.
static AttentionExtras attentionExtras(Evaluation &e, size_t tensors) {
  AttentionExtras extras;
  size_t next = tensors;
  auto holds = [&](size_t i, bool integers) {
    return i < e.operands.size() &&
           (e.elements[i] == Element::Integer) == integers;
  };
  auto holdsNumbers = [&](bool ofScores) {
    if (!holds(next, false) || e.operand(next).indices.empty())
      return false;
    const IndexNames &indices = e.operand(next).indices;
    return ofScores == (contains(indices, e.text("query")) ||
                        contains(indices, e.text("key")));
  };
  if (holdsNumbers(true))
    extras.bias = next++;
  if (holdsNumbers(false))
    extras.sink = next++;
  if (holds(next, true) && holds(next + 1, true)) {
    extras.querySegments = next++;
    extras.keySegments = next++;
  }
  if (holds(next, true))
    extras.lengths = next++;
  extras.step = next;
  return extras;
}

/// `tensors` is the number of operands before the optional ones.
static AttentionForm attentionForm(Evaluation &e, size_t tensors = 3) {
  AttentionForm form;
  form.query = e.text("query");
  form.key = e.text("key");
  form.feature = e.text("feature");
  e.readOptions<ScoreOptions>(form);
  AttentionExtras extras = attentionExtras(e, tensors);
  if (e.has("dropout"))
    form.dropout = {e.real("dropout"), e.integer("seed"),
                    e.stepFrom(extras.step)};
  if (extras.bias)
    form.bias = &e.operand(extras.bias);
  if (extras.sink)
    form.sink = &e.operand(extras.sink);
  if (extras.querySegments) {
    form.querySegments = &e.operand(extras.querySegments);
    form.keySegments = &e.operand(extras.keySegments);
  }
  if (extras.lengths)
    form.lengths = &e.operand(extras.lengths);
  return form;
}

/// Evaluates the output or, for result 1, each row's statistic.
static Tensor evaluateAttention(Evaluation &e) {
  if (e.result() == 1)
    return attentionStatistic(e.operand(0), e.operand(1), attentionForm(e),
                              e.indices(), &e.error);
  return attention(e.operand(0), e.operand(1), e.operand(2), attentionForm(e),
                   e.indices(), e.store(), &e.error);
}

static void differentiateAttention(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  if (e.result() == 1)
    return e.fail("has no gradient of its rows' statistic in the reference");
  AttentionForm form = attentionForm(e);
  AttentionExtras extras = attentionExtras(e, 3);
  // The operands in the order of the gradients.
  const std::array<size_t, 5> operands = {0, 1, 2, extras.bias, extras.sink};
  auto isThere = [&](size_t i) { return i == 0 || operands[i] != 0; };
  std::array<bool, 5> wanted = {};
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = isThere(i) && out.wanted(operands[i]);
  std::array<Tensor, 5> gradients =
      attentionGradients(e.operand(0), e.operand(1), e.operand(2), gradient,
                         form, wanted, e.store(), &e.error);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (isThere(i))
      out.set(operands[i], [&] { return std::move(gradients[i]); });
}

/// The operation also has the output as an operand; the reference does not use
/// it.
static Tensor evaluateAttentionGradient(Evaluation &e) {
  AttentionForm form = attentionForm(e, 6);
  if (!form.bias)
    form.statistic = &e.operand(4);
  return attentionGradient(e.operand(0), e.operand(1), e.operand(2),
                           e.operand(5), form, e.result(), &e.error);
}

OperationRows rowOperations() {
  return {{"softmax", {evaluateSoftmax, differentiateSoftmax, 1}},
          {"rms_norm", {evaluateNorm<false>, differentiateNorm<false>, 2}},
          {"layer_norm", {evaluateNorm<true>, differentiateNorm<true>, 3}},
          {"attention", {evaluateAttention, differentiateAttention, 3}},
          {"attention_gradient", {evaluateAttentionGradient, nullptr, 6}}};
}

} // namespace tpsp::reference
