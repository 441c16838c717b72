#include "LaterSums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;

/// Whether a tensor is a result of the program, and no value inside of it. A
/// step has a cotangent for each of its own results. Without gradients only the
/// first result is known to be its own.
static bool isOwnResult(const Plan &plan, const PlanBuffer &buffer) {
  if (buffer.kind != BufferKind::Output)
    return true;
  bool hasCotangents = false;
  for (const PlanBuffer &tensor : plan.tensors()) {
    hasCotangents |= tensor.isCotangent();
    if (tensor.isCotangent() && tensor.of == buffer.resultNumber())
      return true;
  }
  return !hasCotangents && buffer.resultNumber() == 0;
}

static bool isInner(const Plan &plan, const BoundTensor &tensor) {
  return tensor.result >= 0 && !isOwnResult(plan, tensor.each.tensor->buffer());
}

/// Whether the sum over the verdict's axes of what the ranks have is right, and
/// the dump does not say that they have copies.
static bool areSummands(const rt::RankMesh &mesh, const BoundTensor &tensor) {
  const TensorVerdict &verdict = tensor.verdict;
  if (verdict.kind != VerdictKind::Missing || verdict.factor != 1 ||
      tensor.each.form.isStated)
    return false;
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (std::count(verdict.axes.begin(), verdict.axes.end(),
                   mesh.axes()[axis].name))
      axes.push_back(int64_t(axis));
  return distance(summed(mesh, tensor.each.values, axes), tensor.each.right) <=
         tensor.each.tolerance.relative;
}

static void settle(bool isAnyRight, TensorVerdict &verdict) {
  std::string over = fmt::format("{}", fmt::join(verdict.axes, ", "));
  verdict.kind = isAnyRight ? VerdictKind::Equal : VerdictKind::NotCompared;
  verdict.text =
      isAnyRight
          ? fmt::format("summands over {}, which are added up later", over)
          : fmt::format("the ranks have summands over {}, which may be added "
                        "up later; dump what follows, or say the placement",
                        over);
  verdict.collective.clear();
  verdict.rule.clear();
  verdict.alternatives.clear();
  verdict.axes.clear();
}

void tpsp::check::settleSummands(const Plan &plan, const rt::RankMesh &mesh,
                                 std::vector<BoundTensor> &tensors) {
  bool isAnyRight = false;
  for (const BoundTensor &tensor : tensors) {
    if (tensor.result < 0 || isInner(plan, tensor))
      continue;
    if (!isRight(tensor.verdict.kind))
      return;
    isAnyRight = true;
  }
  for (BoundTensor &tensor : tensors)
    if (isInner(plan, tensor) && areSummands(mesh, tensor))
      settle(isAnyRight, tensor.verdict);
}
