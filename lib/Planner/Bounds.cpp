#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

Bounds::Bounds(ProgramFacts program, Hardware hardware, BoundOptions given)
    : facts(std::move(program)), options(given),
      cost(std::move(hardware),
           Mesh({{"all", given.devices, AxisRole::None}})) {
  if (options.yardsticks.empty())
    options.yardsticks.emplace_back();
  findRedone();
}

//===----------------------------------------------------------------------===//
// Yardsticks
//===----------------------------------------------------------------------===//

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

/// Of a core's seconds all ranks together have so many more.
double Bounds::kernelSeconds(const Yardstick &yardstick) const {
  double cores = cost.machine().isCpu() ? cost.coresPerRank() : 1;
  return certainShare * yardstick.work.kernelSeconds / double(options.devices) /
         cores;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// Whether an axis that is as written may divide what it will.
static bool isOpen(const AxisUse &use) {
  return !use.activations && use.parameters.empty();
}

/// Of one product with its launch, however it is transposed.
double Bounds::alone(const MatmulWork &work, int64_t dtype) const {
  const MatmulRates *rates = matmulRatesOf(cost.machine(), dtype);
  bool hasLayouts =
      rates && llvm::any_of(rates->relative,
                            [](const auto &each) { return !each.empty(); });
  double best = cost.matmulSeconds(work, dtype);
  for (int layout = 1; hasLayouts && layout < 4; ++layout) {
    MatmulWork other = work;
    other.transposeA = layout & 2;
    other.transposeB = layout & 1;
    best = std::min(best, cost.matmulSeconds(other, dtype));
  }
  return best;
}

static std::vector<ProductFacts::Dim> dimsOf(const ProductFacts &product) {
  std::vector<ProductFacts::Dim> dims;
  product.forEachDim(
      [&](const ProductFacts::Dim &dim) { dims.push_back(dim); });
  return dims;
}

/// Forward and backward, each dimension divided into so many parts.
Bounds::ProductTime
Bounds::shapeSeconds(const ProductFacts &product,
                     const std::vector<int64_t> &parts) const {
  auto [found, isNew] = shapes.try_emplace({&product, parts}, ProductTime());
  if (!isNew)
    return found->second;
  size_t next = 0;
  auto extent = [&](const std::vector<ProductFacts::Dim> &group) {
    int64_t result = 1;
    for (const ProductFacts::Dim &dim : group)
      result *= std::max<int64_t>(dim.extent / parts[next++], 1);
    return result;
  };
  int64_t m = extent(product.m), n = extent(product.n), k = extent(product.k),
          batch = extent(product.batch);
  // What is no matrix product, is part of a kernel.
  if (m == 1 || n == 1 || k == 1)
    return {};
  auto seconds = [&](int64_t rows, int64_t columns, int64_t sum) {
    return alone({rows, columns, sum, batch}, product.dtype);
  };
  double forA = seconds(m, k, n), forB = seconds(k, n, m);
  double forward = seconds(m, n, k), total = forward;
  if (options.hasGradients && product.adjoints == 1)
    total += std::min(forA, forB);
  if (options.hasGradients && product.adjoints == 2)
    total += forA + forB;
  return found->second = {forward, total};
}

double Bounds::productSeconds(const ProductFacts &product,
                              const SpaceNode &node, double again) const {
  std::vector<ProductFacts::Dim> dims = dimsOf(product);
  std::vector<std::vector<int64_t>> ways = {
      std::vector<int64_t>(dims.size(), 1)};
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool mayBeAny = isOpen(axis.use) ||
                    (axis.use.storesParameters && product.readsParameter);
    std::vector<std::vector<int64_t>> next;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (mayBeAny || axis.use.isOn(dims[dim].index))
        for (std::vector<int64_t> way : ways) {
          way[dim] *= axis.size;
          next.push_back(std::move(way));
        }
    if (!next.empty())
      ways = std::move(next);
  }
  auto secondsOf = [&](const std::vector<int64_t> &way) {
    ProductTime time = shapeSeconds(product, way);
    return time.all + again * time.forward;
  };
  double best = secondsOf(ways.front());
  for (const std::vector<int64_t> &way : ways)
    best = std::min(best, secondsOf(way));
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  double launches = std::min(best, times * cost.launchSeconds());
  return launches + (best - launches) / double(node.remaining);
}

/// FLOP/s of a rank that no attention of this type exceeds.
double Bounds::bestAttentionRate(const ProductFacts &product) const {
  const Hardware &machine = cost.machine();
  double best = 0;
  for (const auto &[dtype, rates] : machine.matmul)
    best = std::max({best, rates.sustained, rates.peak});
  if (const AttentionRates *rates = attentionRatesOf(machine, product.dtype))
    for (const AttentionRates::Table &table : rates->tables)
      for (double rate : table)
        best = std::max(best, rate);
  return best * (machine.isCpu() ? cost.coresPerRank() : 1);
}

/// Forward and backward in one call each. Heads and queries are many enough to
/// fill a device.
double Bounds::callSeconds(const ProductFacts &product, double parts,
                           double again) const {
  PlanCommand call;
  call.kind = CommandKind::Attention;
  call.dtype = product.dtype;
  call.attention = *product.inOneCall;
  auto seconds = [&](bool isGradient) {
    call.attention.isGradient = isGradient;
    double launch = cost.launchSeconds();
    return launch + std::max(cost.seconds(call) - launch, 0.0) / parts;
  };
  bool isRedone = options.hasGradients && product.adjoints > 0;
  return (1 + again) * seconds(false) + (isRedone ? seconds(true) : 0);
}

/// Whether the axis may divide positions that see each other. Then, where the
/// mask is causal, every rank begins it elsewhere: no call does that.
bool Bounds::mayDivideMask(const ProductFacts &product,
                           const CandidateAxis &axis) const {
  bool divides = false;
  product.forEachDim([&](const ProductFacts::Dim &dim) {
    divides |=
        facts.classes[dim.index].isMixed && axis.use.activations == dim.index;
  });
  return divides && axis.size > 1 && product.inOneCall &&
         product.inOneCall->isCausal;
}

/// Whether the axis may divide attention along another index.
bool Bounds::dividesBeside(const ProductFacts &product,
                           const CandidateAxis &axis) const {
  bool divides = isOpen(axis.use);
  product.forEachDim([&](const ProductFacts::Dim &dim) {
    divides |= !facts.classes[dim.index].isMixed && axis.use.isOn(dim.index);
  });
  return divides;
}

/// A data axis on positions divides the mask. A model axis may do so, or divide
/// another index, or nothing: then all its ranks do the same.
double Bounds::attentionSeconds(const ProductFacts &product,
                                const SpaceNode &node, double again) const {
  double parts = double(node.remaining), partsBeside = parts;
  bool isDivided = false, isChoice = false;
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool onMask = mayDivideMask(product, axis);
    bool isData = axis.use.role == AxisRole::Data;
    isDivided |= onMask && isData;
    isChoice |= onMask && !isData;
    bool beside = dividesBeside(product, axis), any = beside;
    product.forEachDim(
        [&](const ProductFacts::Dim &dim) { any |= axis.use.isOn(dim.index); });
    parts *= any ? double(axis.size) : 1;
    partsBeside *= (onMask && !isData ? beside : any) ? double(axis.size) : 1;
  }
  double seconds =
      dividedAttentionSeconds(product, parts, isDivided || isChoice, again);
  return isChoice
             ? std::min(seconds, dividedAttentionSeconds(product, partsBeside,
                                                         isDivided, again))
             : seconds;
}

double Bounds::dividedAttentionSeconds(const ProductFacts &product,
                                       double parts, bool isDivided,
                                       double again) const {
  if (product.inOneCall && options.callsAttention && !isDivided)
    return callSeconds(product, parts, again);
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  double seconds = times * product.flops / bestAttentionRate(product) / parts;
  return isDivided && options.gathersKeys
             ? 2 * seconds + scoresSeconds(product, again) / parts
             : seconds;
}

/// Products leave out nothing that the mask hides, and scores are in memory:
/// the softmax reads and writes them, and its gradient reads two and writes
/// one.
double Bounds::scoresSeconds(const ProductFacts &product, double again) const {
  const AttentionWork &work = *product.inOneCall;
  double passes = 2 * (1 + again) + (options.hasGradients ? 3 : 0);
  double scores = double(work.heads) * double(work.queries) * double(work.keys);
  return passes * scores * double(product.elementBytes) / memoryRate();
}

/// Bytes a second that a rank's memory never exceeds.
double Bounds::memoryRate() const {
  double rate = 0;
  for (const SizePoint &point : cost.machine().memory)
    rate = std::max(rate, point.value);
  return rate *
         (cost.machine().isCpu() ? std::max(cost.coresPerRank(), 1.0) : 1);
}

/// An update reads parameter, gradient and state, and writes all but the
/// gradient.
double Bounds::updateSeconds(const SpaceNode &node) const {
  if (options.stateBytes == 0)
    return 0;
  double bytes = 0, parts = double(node.remaining);
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.storesState)
      parts *= double(axis.size);
  double stateShare = double(options.stateBytes) /
                      double(std::max<int64_t>(facts.parameterBytes(), 1));
  for (const TensorFacts &tensor : facts.tensors)
    if (tensor.isTrained && tensor.isFree)
      bytes += localBytes(tensor, node) * (3 + 2 * stateShare);
  return bytes / parts / memoryRate();
}

double Bounds::computeSeconds(const SpaceNode &node, size_t yardstick) const {
  double seconds =
      updateSeconds(node) + kernelSeconds(options.yardsticks[yardstick]);
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ProductFacts &product = facts.products[i];
    double again = redone[yardstick][i];
    seconds += double(product.count) *
               (product.isAttention ? attentionSeconds(product, node, again)
                                    : productSeconds(product, node, again));
  }
  return seconds;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The rank's part, as far as the axes so far divide it.
double Bounds::localBytes(const TensorFacts &tensor,
                          const SpaceNode &node) const {
  double bytes = double(tensor.bytes());
  for (const std::vector<unsigned> &axes : subscriptsOf(tensor, node.candidate))
    for (unsigned axis : axes)
      bytes /= double(node.candidate.axes[axis].size);
  return bytes;
}

int64_t Bounds::lastingBytes(const SpaceNode &node) const {
  double parameters = 0, gradients = 0, state = 0;
  double stateShare = double(options.stateBytes) /
                      double(std::max<int64_t>(facts.parameterBytes(), 1));
  double stateAxes = 1;
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.storesState)
      stateAxes *= double(axis.size);
  for (const TensorFacts &tensor : facts.tensors) {
    // What is written as it is, may be on any axis.
    if (tensor.kind != TensorFacts::Kind::Parameter || !tensor.isFree)
      continue;
    double bytes = localBytes(tensor, node);
    parameters += bytes;
    if (options.keepsGradients && tensor.isTrained)
      gradients += bytes;
    if (tensor.isTrained)
      state += bytes * stateShare / stateAxes;
  }
  return int64_t((parameters + gradients + state) / double(node.remaining));
}

bool Bounds::canCut(const SpaceNode &node, const Settings &settings) const {
  if (!options.microBatchIndex || settings.microBatches == 1)
    return true;
  int64_t parts = settings.microBatches;
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.activations == options.microBatchIndex)
      parts *= axis.size;
  return facts.classes[*options.microBatchIndex].extent % parts == 0;
}

int64_t Bounds::bytesWith(const SpaceNode &node,
                          const Settings &settings) const {
  const Yardstick *yardstick = yardstickOf(settings);
  double parts = double(options.devices) * double(settings.microBatches);
  return lastingBytes(node) +
         (yardstick ? int64_t(double(yardstick->savedBytes) / parts) : 0);
}

Bound Bounds::of(const SpaceNode &node) const {
  Bound bound;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    if (axis.size == 1)
      continue;
    if (axis.use.role == AxisRole::Data)
      bound.data =
          std::max(bound.data, dataSeconds(node, i) + gatherSeconds(node, i));
    else
      bound.model = std::max(bound.model, modelSeconds(node, i));
  }
  bool mayFit = false;
  std::set<const Yardstick *> seen;
  for (const Settings &settings : options.settings) {
    // More axes leave no more to cut.
    if (!canCut(node, settings))
      continue;
    int64_t bytes = bytesWith(node, settings);
    bound.bytes = bound.bytes == 0 ? bytes : std::min(bound.bytes, bytes);
    const Yardstick *yardstick = yardstickOf(settings);
    if ((options.memoryLimit > 0 && bytes > options.memoryLimit) ||
        !seen.insert(yardstick).second)
      continue;
    double seconds = computeSeconds(
        node, yardstick ? size_t(yardstick - options.yardsticks.data()) : 0);
    bound.computing = mayFit ? std::min(bound.computing, seconds) : seconds;
    mayFit = true;
  }
  bound.seconds = options.overlaps
                      ? std::max({bound.computing, bound.data, bound.model})
                      : bound.computing + bound.data + bound.model;
  return bound;
}
