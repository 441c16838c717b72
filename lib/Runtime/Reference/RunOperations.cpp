//===- RunOperations.cpp - positions of an index, and runs of them --------===//

#include "OperationFamilies.h"

#include <algorithm>

namespace tpsp::reference {

/// Copies positions from `from` on of one tensor to positions from `to` on of
/// another. Both are row-major, and differ along dimension `dim` alone.
static void copyRun(const Tensor &source, int64_t from, Tensor &target,
                    int64_t to, size_t dim, int64_t count) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < source.shape.size(); ++i)
    (i < dim ? outer : inner) *= i == dim ? 1 : source.shape[i];
  for (int64_t row = 0; row < outer; ++row) {
    auto begin = source.data.begin() + (row * source.shape[dim] + from) * inner;
    std::copy_n(begin, count * inner,
                target.data.begin() + (row * target.shape[dim] + to) * inner);
  }
}

/// A tensor of this type that is `value` everywhere except for a run of
/// `source`.
static Tensor placed(const ValueType &type, double value, const Tensor &source,
                     int64_t from, int64_t to, size_t dim, Evaluation &e) {
  Tensor target = full(type.indices, type.shape, value, &e.error);
  int64_t count = std::min(source.shape[dim] - from, type.shape[dim] - to);
  copyRun(source, from, target, to, dim, count);
  return target;
}

/// The position of `index` in a list of names. If it is absent, records a
/// failure and returns 0.
static size_t dimOf(const IndexNames &names, const std::string &index,
                    Evaluation &e) {
  auto found = std::find(names.begin(), names.end(), index);
  if (found != names.end())
    return found - names.begin();
  e.fail("has no index '" + index + "'");
  return 0;
}

static Tensor evaluateConcat(Evaluation &e) {
  Tensor result = full(e.indices(), e.shape(), 0, &e.error);
  size_t dim = dimOf(e.indices(), e.text("index"), e);
  int64_t to = 0;
  for (const Tensor *operand : e.operands) {
    copyRun(*operand, 0, result, to, dim, operand->shape[dim]);
    to += operand->shape[dim];
  }
  return result;
}

static void differentiateConcat(Evaluation &e, const Tensor &gradient,
                                OperandGradients &out) {
  size_t dim = dimOf(e.indices(), e.text("index"), e);
  int64_t from = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    out.set(i,
            [&] { return placed(out.type(i), 0, gradient, from, 0, dim, e); });
    from += out.type(i).shape[dim];
  }
}

static Tensor evaluateCut(Evaluation &e) {
  size_t dim = dimOf(e.operand(0).indices, e.text("index"), e);
  return placed(e.type, 0, e.operand(0), e.integer("from"), 0, dim, e);
}

static void differentiateCut(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  out.set(0, [&] {
    size_t dim = dimOf(out.type(0).indices, e.text("index"), e);
    return placed(out.type(0), 0, gradient, 0, e.integer("from"), dim, e);
  });
}

static Tensor evaluatePad(Evaluation &e) {
  size_t dim = dimOf(e.indices(), e.text("index"), e);
  return placed(e.type, e.real("value"), e.operand(0), 0, e.integer("before"),
                dim, e);
}

static void differentiatePad(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  size_t dim = dimOf(e.indices(), e.text("index"), e);
  out.set(0, [&] {
    return placed(out.type(0), 0, gradient, e.integer("before"), 0, dim, e);
  });
}

static Tensor evaluateTake(Evaluation &e) {
  return take(e.operand(0), e.text("index"), e.integer("at"), &e.error);
}

static void differentiateTake(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  out.set(0, [&] {
    const ValueType &type = out.type(0);
    size_t dim = dimOf(type.indices, e.text("index"), e);
    Shape single = type.shape;
    single[dim] = 1;
    Tensor taken = reshape(gradient, type.indices, single, &e.error);
    return placed(type, 0, taken, 0, e.integer("at"), dim, e);
  });
}

static Tensor evaluateStack(Evaluation &e) {
  return stack(e.operands, e.text("index"), e.indices(), &e.error);
}

static void differentiateStack(Evaluation &e, const Tensor &gradient,
                               OperandGradients &out) {
  for (size_t i = 0; i < out.size(); ++i)
    out.set(i, [&] {
      return take(gradient, e.text("index"), static_cast<int64_t>(i), &e.error);
    });
}

OperationRows runOperations() {
  return {{"take", linear(evaluateTake, differentiateTake)},
          {"stack", linear(evaluateStack, differentiateStack)},
          {"concat", linear(evaluateConcat, differentiateConcat)},
          {"cut", linear(evaluateCut, differentiateCut)},
          {"pad", linear(evaluatePad, differentiatePad)}};
}

} // namespace tpsp::reference
