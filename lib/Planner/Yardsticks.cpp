// Bounds for many devices from the program on one device.
#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

const Yardstick *Bounds::yardstickOf(const Settings &settings) const {
  for (const Yardstick &each : options.yardsticks)
    if (each.rematerialize == settings.rematerialize)
      return &each;
  return nullptr;
}

ProductShape planner::shapeOf(const ProductFacts &product) {
  auto extent = [](const std::vector<ProductFacts::Dim> &dims) {
    int64_t result = 1;
    for (const ProductFacts::Dim &dim : dims)
      result *= dim.extent;
    return result;
  };
  auto [low, high] = std::minmax({extent(product.m), extent(product.n)});
  return {low, high, extent(product.k), extent(product.batch)};
}

/// The share of a product that is redone. Rematerialisation adds products of
/// its shape; all products of one shape share the additional ones.
double Bounds::redoneShare(const ProductFacts &product,
                           const Yardstick &yardstick,
                           const Yardstick &plain) const {
  double alike = 0;
  for (const ProductFacts &other : facts.products)
    if (other.isAttention == product.isAttention &&
        (product.isAttention || shapeOf(other) == shapeOf(product)))
      alike += double(other.count);
  auto countOf = [&](const StepWork &work) {
    if (product.isAttention)
      return double(work.attentions);
    auto found = work.products.find(shapeOf(product));
    return found == work.products.end() ? 0.0 : double(found->second);
  };
  double more = countOf(yardstick.work) - countOf(plain.work);
  return std::clamp(more / alike, 0.0, 1.0);
}

void Bounds::findRedone() {
  const Yardstick *plain = yardstickOf(Settings());
  for (const Yardstick &yardstick : options.yardsticks) {
    std::vector<double> &shares = redone.emplace_back();
    for (const ProductFacts &product : facts.products)
      shares.push_back(plain ? redoneShare(product, yardstick, *plain) : 0);
  }
}

/// The share of kernels' time that surely remains. If an axis divides a summed
/// index, products may take over sums that are kernels of the undivided
/// program. That was a tenth of the time in measurements.
static constexpr double certainShare = 0.88;

/// The factor from one device's kernel seconds to the seconds of one rank of
/// each stage, added up. A rank of several cores divides a core's seconds by
/// their number.
double Bounds::kernelShare(int64_t stages) const {
  double cores = cost.machine().isCpu() ? cost.coresPerRank() : 1;
  return certainShare * double(stages) / double(options.devices) / cores;
}
