#include "PlacementOracle.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::oracle;

Shape Einsum::shapeOf(const std::vector<unsigned> &tensor) const {
  Shape shape;
  for (unsigned index : tensor)
    shape.push_back(extents[index]);
  return shape;
}

static bool carries(const std::vector<unsigned> &tensor, unsigned index) {
  return std::find(tensor.begin(), tensor.end(), index) != tensor.end();
}

PlacementOracle::PlacementOracle(Einsum of, int64_t elementBytes, Sizes over,
                                 Traits with)
    : einsum(std::move(of)), sizes(std::move(over)), traits(std::move(with)),
      resultOracle(resultShape(), elementBytes, sizes) {
  for (unsigned i = 0; i < einsum.operands.size(); ++i)
    operandOracles.emplace_back(operandShape(i), elementBytes, sizes);
}

Shape PlacementOracle::operandShape(unsigned operand) const {
  return traits.operandShapes.empty() ? einsum.shapeOf(einsum.operands[operand])
                                      : traits.operandShapes[operand];
}

Shape PlacementOracle::resultShape() const {
  return traits.resultShape.value_or(einsum.shapeOf(einsum.result));
}

bool PlacementOracle::allows(const std::vector<Layout> &operands,
                             const std::optional<Layout> &wanted, unsigned axis,
                             int drive) const {
  if (drive == nothing)
    return true;
  if (drive >= 0 && !traits.whole.empty() && traits.whole[drive])
    return false;
  auto onIndex = [&](const std::vector<unsigned> &tensor,
                     const Layout &layout) {
    for (size_t dim = 0; dim < tensor.size(); ++dim)
      if (int(tensor[dim]) == drive)
        for (unsigned other : layout.dims[dim])
          if (other == axis)
            return true;
    return false;
  };
  unsigned summands = 0;
  bool carried = wanted && onIndex(einsum.result, *wanted);
  for (size_t i = 0; i < operands.size(); ++i) {
    carried |= onIndex(einsum.operands[i], operands[i]);
    if (traits.operandIsMaximum.empty() || !traits.operandIsMaximum[i])
      for (unsigned other : operands[i].pending)
        summands += other == axis;
  }
  if (drive != pending)
    return carried;
  switch (traits.waits) {
  case Waits::Never:
    return false;
  case Waits::IfAllAlike:
    return summands > 0 && summands == operands.size();
  case Waits::IfExactlyOne: // a product of two sums is not the sum of products
    return summands == 1;
  }
  return false;
}

std::vector<std::vector<unsigned>>
PlacementOracle::axesOfIndices(const Drives &drives,
                               const std::vector<unsigned> &order) const {
  std::vector<std::vector<unsigned>> axes(einsum.extents.size());
  for (unsigned axis : order)
    if (drives[axis] >= 0)
      axes[drives[axis]].push_back(axis);
  return axes;
}

Layout PlacementOracle::operandUnder(const Drives &drives,
                                     const std::vector<unsigned> &order,
                                     unsigned operand,
                                     const Layout &has) const {
  Layout needs;
  std::vector<std::vector<unsigned>> axes = axesOfIndices(drives, order);
  for (unsigned index : einsum.operands[operand])
    needs.dims.push_back(axes[index]);
  bool isMaximum =
      !traits.operandIsMaximum.empty() && traits.operandIsMaximum[operand];
  for (unsigned axis : has.pending)
    if (drives[axis] == pending && !isMaximum)
      needs.pending.push_back(axis);
  return needs;
}

Layout PlacementOracle::resultUnder(const Drives &drives,
                                    const std::vector<unsigned> &order) const {
  Layout comesOut;
  std::vector<std::vector<unsigned>> axes = axesOfIndices(drives, order);
  for (unsigned index : einsum.result)
    comesOut.dims.push_back(axes[index]);
  for (unsigned axis = 0; axis < drives.size(); ++axis)
    if (drives[axis] == pending ||
        (drives[axis] >= 0 && !carries(einsum.result, drives[axis])))
      comesOut.pending.push_back(axis);
  return comesOut;
}

std::optional<OperationPrice> PlacementOracle::price(
    const std::vector<Layout> &operands, const std::optional<Layout> &wanted,
    const Drives &drives, const std::vector<unsigned> &order) const {
  OperationPrice total;
  total.work = 1;
  for (int64_t extent : einsum.extents)
    total.work *= double(extent);
  for (unsigned axis = 0; axis < drives.size(); ++axis)
    if (drives[axis] >= 0)
      total.work /= double(sizes[axis]);
  auto move = [&](const TransitionOracle &oracle, const Layout &from,
                  const Layout &to) {
    std::optional<Price> price = oracle.price(from, to);
    if (!price)
      return false;
    total.collectives += price->moves;
    total.bytes += price->bytes;
    return true;
  };
  for (unsigned i = 0; i < operands.size(); ++i) {
    Layout needs = operandUnder(drives, order, i, operands[i]);
    if (!divides(needs, operandShape(i), sizes) ||
        !move(operandOracles[i], operands[i], needs))
      return std::nullopt;
    total.earlySums += operands[i].pending.size() - needs.pending.size();
    for (size_t dim = 0; dim < operands[i].dims.size(); ++dim)
      for (unsigned axis : operands[i].dims[dim])
        total.idle +=
            drives[axis] == nothing && sizes[axis] > 1 &&
            (traits.whole.empty() || !traits.whole[einsum.operands[i][dim]]);
  }
  Layout comesOut = resultUnder(drives, order);
  bool otherKind = wanted && !wanted->pending.empty() &&
                   traits.resultIsMaximum != traits.wantedIsMaximum;
  if (otherKind || !divides(comesOut, resultShape(), sizes) ||
      (wanted && !move(resultOracle, comesOut, *wanted)))
    return std::nullopt;
  return total;
}

/// Whether two axes drive one index.
static bool sharesAnIndex(PlacementOracle::Drives drives) {
  std::sort(drives.begin(), drives.end());
  auto same = std::adjacent_find(drives.begin(), drives.end(),
                                 [](int a, int b) { return a >= 0 && a == b; });
  return same != drives.end();
}

std::optional<OperationPrice>
PlacementOracle::best(const std::vector<Layout> &operands,
                      const std::optional<Layout> &wanted) const {
  std::vector<Drives> all = {{}};
  for (unsigned axis = 0; axis < sizes.size(); ++axis) {
    std::vector<Drives> longer;
    for (const Drives &drives : all)
      for (int drive = pending; drive < int(einsum.extents.size()); ++drive)
        if (allows(operands, wanted, axis, drive)) {
          longer.push_back(drives);
          longer.back().push_back(drive);
        }
    all = std::move(longer);
  }
  std::optional<OperationPrice> best;
  std::vector<unsigned> order(sizes.size());
  for (unsigned axis = 0; axis < order.size(); ++axis)
    order[axis] = axis;
  bool isFirst = true;
  do {
    for (const Drives &drives : all) {
      if (!isFirst && !sharesAnIndex(drives))
        continue; // the order has no effect
      auto found = price(operands, wanted, drives, order);
      if (found && (!best || *found < *best))
        best = found;
    }
    isFirst = false;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}
