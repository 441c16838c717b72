// What the program on one device says of it on many.
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

/// With rematerialisation there are more products of a shape than without: so
/// many of that shape are redone. Products of one shape share them.
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

/// Where an axis divides what is summed, sums may be taken within products that
/// are kernels of the undivided program. Measured, that is a tenth of the time.
static constexpr double certainShare = 0.88;

/// What a rank of each stage does together of one device's kernels. Of a core's
/// seconds all ranks together have so many more.
double Bounds::kernelShare(int64_t stages) const {
  double cores = cost.machine().isCpu() ? cost.coresPerRank() : 1;
  return certainShare * double(stages) / double(options.devices) / cores;
}
