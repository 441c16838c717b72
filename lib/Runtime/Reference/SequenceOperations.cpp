//===- SequenceOperations.cpp - scan, cumsum, delay -----------------------===//

#include "OperationFamilies.h"

#include <algorithm>
#include <cstdlib>

namespace tpsp::reference {

namespace {

/// A tensor's elements as lines along the operation's index.
class Lines {
public:
  /// `type` has the indices of the elements.
  Lines(const ValueType &type, Evaluation &e) {
    size_t dim = placeOf(e.text("index"), e);
    for (size_t i = 0; i < type.shape.size(); ++i)
      (i < dim ? outer : i > dim ? stride : length) *= type.shape[i];
  }

  /// Calls `f(first, step)` for every line, with the position of its first
  /// element and the distance between elements. A reversed line starts at its
  /// last position.
  template <typename F> void forEach(bool isReverse, F f) const {
    for (int64_t row = 0; row < outer; ++row)
      for (int64_t column = 0; column < stride; ++column) {
        int64_t first = row * length * stride + column;
        if (isReverse)
          f(first + (length - 1) * stride, -stride);
        else
          f(first, stride);
      }
  }

  int64_t length = 1;

private:
  int64_t outer = 1, stride = 1;
};

} // namespace

/// The decay at every element of the result.
static Tensor decayOf(Evaluation &e) {
  if (e.operands.size() < 2)
    return full(e.indices(), e.shape(), 1, &e.error);
  return pointwise([](const double *v) { return *v; }, {&e.operand(1)},
                   e.indices(), e.shape(), &e.error);
}

static Tensor evaluateScan(Evaluation &e) {
  Tensor y = e.operand(0), a = decayOf(e);
  Lines lines(e.type, e);
  lines.forEach(e.flag("reverse"), [&](int64_t first, int64_t step) {
    for (int64_t i = 1; i < lines.length; ++i) {
      int64_t at = first + i * step;
      y.data[at] += a.data[at] * y.data[at - step];
    }
  });
  return y;
}

/// Goes back from the last state, and accumulates each state's weight in all
/// later states.
static void differentiateScan(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  Tensor a = decayOf(e), y = e.stored(evaluateScan(e)), weight = gradient,
         ofDecay = full(e.indices(), e.shape(), 0, &e.error);
  Lines lines(e.type, e);
  lines.forEach(e.flag("reverse"), [&](int64_t first, int64_t step) {
    for (int64_t i = lines.length - 1; i > 0; --i) {
      int64_t at = first + i * step;
      ofDecay.data[at] = weight.data[at] * y.data[at - step];
      weight.data[at - step] += a.data[at] * weight.data[at];
    }
  });
  out.set(0, [&] { return fitted(weight, out.type(0), e); });
  if (out.size() > 1)
    out.set(1, [&] { return fitted(ofDecay, out.type(1), e); });
}

/// Shifts x, or shifts it by as much in the other direction if `isBackwards`.
static Tensor moved(const Tensor &x, bool isBackwards, Evaluation &e) {
  Tensor y = full(e.indices(), e.shape(), 0, &e.error);
  Lines lines(e.type, e);
  int64_t by = e.integer("by");
  bool walksBack = (by < 0) != isBackwards;
  // A shift beyond the line's end has the same result as a shift by its length.
  by = by < -lines.length ? lines.length : std::min(std::abs(by), lines.length);
  lines.forEach(walksBack, [&](int64_t first, int64_t step) {
    for (int64_t i = by; i < lines.length; ++i)
      y.data[first + i * step] = x.data[first + (i - by) * step];
  });
  return y;
}

static Tensor evaluateDelay(Evaluation &e) {
  return moved(e.operand(0), /*isBackwards=*/false, e);
}

static void differentiateDelay(Evaluation &e, const Tensor &gradient,
                               OperandGradients &out) {
  out.set(0, [&] { return moved(gradient, /*isBackwards=*/true, e); });
}

OperationRows sequenceOperations() {
  return {{"scan", {evaluateScan, differentiateScan, 2}},
          {"cumsum", {evaluateScan, differentiateScan, 1}},
          {"delay", linear(evaluateDelay, differentiateDelay)}};
}

} // namespace tpsp::reference
