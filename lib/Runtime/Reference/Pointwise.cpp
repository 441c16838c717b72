//===- Pointwise.cpp - the loop nest of pointwise functions ---------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

namespace detail {

Tensor planPointwise(const Operands &operands, const IndexNames &resultIndices,
                     const Shape &resultShape, PointwisePlan &plan,
                     std::string *error) {
  std::optional<Shape> extents =
      resolveShape(operands, resultIndices, resultShape, error);
  if (!extents)
    return {};
  for (const Tensor *x : operands) {
    IndexNames extra = without(x->indices, resultIndices);
    if (!extra.empty())
      return fail(error, "pointwise: operand indices " + toString(extra) +
                             " are not in the result " +
                             toString(resultIndices));
    plan.operands.push_back(x->data.data());
    plan.strides.emplace_back();
    for (const std::string &name : resultIndices)
      plan.strides.back().push_back(strideAlong(*x, name));
  }
  plan.extents = *extents;
  plan.rowLength = extents->empty() ? 1 : extents->back();
  const int64_t count = elementCount(*extents);
  plan.rows = plan.rowLength ? count / plan.rowLength : 0;
  return {resultIndices, *extents, std::vector<double>(count)};
}

PointwiseCursor::PointwiseCursor(const PointwisePlan &plan, int64_t row)
    : plan(plan), at(std::max<size_t>(1, plan.extents.size())),
      current(plan.operands.size()), buffer(plan.operands.size()) {
  for (const Shape &strides : plan.strides)
    rowStrides.push_back(strides.empty() ? 0 : strides.back());
  for (size_t i = plan.extents.size(); i-- > 1;) {
    at[i - 1] = row % plan.extents[i - 1];
    row /= plan.extents[i - 1];
  }
  seek();
}

void PointwiseCursor::nextRow() {
  at.back() = 0;
  for (size_t i = plan.extents.size(); i-- > 1;) {
    if (++at[i - 1] < plan.extents[i - 1])
      break;
    at[i - 1] = 0;
  }
  seek();
}

void PointwiseCursor::seek() {
  for (size_t i = 0; i < current.size(); ++i) {
    current[i] = plan.operands[i];
    for (size_t j = 0; j < plan.strides[i].size(); ++j)
      current[i] += at[j] * plan.strides[i][j];
  }
}

} // namespace detail

Tensor pointwise(const ScalarFunction &function, const Operands &operands,
                 const IndexNames &resultIndices, const Shape &resultShape,
                 std::string *error) {
  const int count = int(operands.size());
  if (!function.accepts(count))
    return fail(error, std::string(function.name) + " does not take " +
                           std::to_string(count) + " operands");
  return pointwise(
      [&](const double *values) { return function.evaluate(values, count); },
      operands, resultIndices, resultShape, error);
}

} // namespace tpsp::reference
