#include "tpsp/Planner/Bounds.h"

#include "tpsp/Schedule/PipelineProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <tuple>

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
double Bounds::kernelSeconds(const Yardstick &yardstick, int64_t stages) const {
  double cores = cost.machine().isCpu() ? cost.coresPerRank() : 1;
  return certainShare * yardstick.work.kernelSeconds * double(stages) /
         double(options.devices) / cores;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// Whether an axis that is as written may divide what it will.
static bool isOpen(const AxisUse &use) {
  return !use.activations && use.parameters.empty() &&
         use.role != AxisRole::Stage;
}

/// FLOP/s of a rank that no product of any type exceeds.
double Bounds::bestRate() const {
  const Hardware &machine = cost.machine();
  double best = 0;
  for (const auto &[dtype, rates] : machine.matmul)
    best = std::max({best, rates.sustained, rates.peak});
  return best * (machine.isCpu() ? cost.coresPerRank() : 1);
}

/// The same, also in attention of this type.
double Bounds::bestAttentionRate(const ProductFacts &product) const {
  const Hardware &machine = cost.machine();
  double best = 0;
  if (const AttentionRates *rates = attentionRatesOf(machine, product.dtype))
    for (const AttentionRates::Table &table : rates->tables)
      for (double rate : table)
        best = std::max(best, rate);
  return std::max(bestRate(),
                  best * (machine.isCpu() ? cost.coresPerRank() : 1));
}

/// Of one product with its launch, however it is transposed: operands and
/// result, which is rates' table the other way round.
double Bounds::alone(const MatmulWork &work, int64_t dtype) const {
  const MatmulRates *rates = matmulRatesOf(cost.machine(), dtype);
  bool hasLayouts =
      rates && llvm::any_of(rates->relative,
                            [](const auto &each) { return !each.empty(); });
  double best = cost.matmulSeconds(work, dtype);
  for (int layout = 0; layout < (hasLayouts ? 4 : 1); ++layout) {
    MatmulWork other = work;
    other.transposeA = layout & 2;
    other.transposeB = layout & 1;
    best = std::min(best, cost.matmulSeconds(other, dtype));
    std::swap(other.m, other.n);
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
  // What is no matrix product, is part of a kernel, which is no faster.
  bool isProduct = m > 1 && n > 1 && k > 1;
  auto seconds = [&](int64_t rows, int64_t columns, int64_t sum) {
    MatmulWork work = {rows, columns, sum, batch};
    return isProduct ? alone(work, product.dtype) : work.flops() / bestRate();
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
                              const SpaceNode &node, double again,
                              int64_t parts) const {
  std::vector<ProductFacts::Dim> dims = dimsOf(product);
  std::vector<std::vector<int64_t>> ways = {
      std::vector<int64_t>(dims.size(), 1)};
  // One for each micro-batch, of its part.
  double calls = 1;
  for (size_t dim = 0; dim < dims.size() && calls == 1; ++dim)
    if (dims[dim].index == options.microBatchIndex) {
      ways.front()[dim] = parts;
      calls = double(parts);
    }
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
    return calls * (time.all + again * time.forward);
  };
  double best = secondsOf(ways.front());
  for (const std::vector<int64_t> &way : ways)
    best = std::min(best, secondsOf(way));
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  double launches = std::min(best, calls * times * cost.launchSeconds());
  return launches + (best - launches) / double(node.remaining);
}

/// Of `parts` ranks that divide attention the one that has most to do. Where
/// `ofQueries` of them divide the queries under a causal mask, that is the one
/// that has the last.
static double largestShare(const AttentionWork &work, double parts,
                           int64_t ofQueries) {
  AttentionWork last = work;
  last.queries = std::max<int64_t>(work.queries / ofQueries, 1);
  last.queryStart = work.queries - last.queries;
  if (work.pairs() == 0)
    return 1 / parts;
  return last.pairs() / work.pairs() * double(ofQueries) / parts;
}

/// Forward and backward in one call each. Heads and queries are many enough to
/// fill a device.
double Bounds::callSeconds(const ProductFacts &product, double share,
                           double again) const {
  PlanCommand call;
  call.kind = CommandKind::Attention;
  call.dtype = product.dtype;
  call.attention = *product.inOneCall;
  auto seconds = [&](bool isGradient) {
    call.attention.isGradient = isGradient;
    double launch = cost.launchSeconds();
    return launch + std::max(cost.seconds(call) - launch, 0.0) * share;
  };
  bool isRedone = options.hasGradients && product.adjoints > 0;
  return (1 + again) * seconds(false) + (isRedone ? seconds(true) : 0);
}

/// Whether the axis divides queries under a causal mask if it divides attention
/// at all: a data axis on positions does; a model axis may divide another index
/// instead.
bool Bounds::dividesMask(const ProductFacts &product,
                         const CandidateAxis &axis) const {
  bool onPositions = false, beside = isOpen(axis.use);
  product.forEachDim([&](const ProductFacts::Dim &dim) {
    bool isMixed = facts.classes[dim.index].isMixed;
    onPositions |= isMixed && axis.use.activations == dim.index;
    beside |= !isMixed && axis.use.isOn(dim.index);
  });
  return onPositions && (axis.use.role == AxisRole::Data || !beside) &&
         product.inOneCall && product.inOneCall->isCausal;
}

/// More parts of any index are no more work for who has most of it.
double Bounds::attentionSeconds(const ProductFacts &product,
                                const SpaceNode &node, double again) const {
  double parts = double(node.remaining);
  int64_t ofQueries = 1;
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool divides = isOpen(axis.use);
    product.forEachDim([&](const ProductFacts::Dim &dim) {
      divides |= axis.use.isOn(dim.index);
    });
    parts *= divides ? double(axis.size) : 1;
    ofQueries *= dividesMask(product, axis) ? axis.size : 1;
  }
  if (product.inOneCall && options.callsAttention) {
    double last = callSeconds(
        product, largestShare(*product.inOneCall, parts, ofQueries), again);
    return ofQueries == 1 || !options.balancesAttention
               ? last
               : std::min(last,
                          callSeconds(product, 1 / parts, again) +
                              exchangeSeconds(product, node, again, parts));
  }
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  return times * product.flops / bestAttentionRate(product) / parts;
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

void Bounds::addComputing(const SpaceNode &node, size_t yardstick,
                          int64_t microBatches, Work &work) const {
  work.ofLayers = 0;
  work.computing =
      kernelSeconds(options.yardsticks[yardstick], node.candidate.numStages());
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ProductFacts &product = facts.products[i];
    double again = redone[yardstick][i];
    double seconds = product.isAttention
                         ? attentionSeconds(product, node, again)
                         : productSeconds(product, node, again, microBatches);
    work.computing += double(product.count) * seconds;
    if (facts.areLayersAlike)
      work.ofLayers +=
          double(product.count - product.count % facts.layers) * seconds;
  }
}

//===----------------------------------------------------------------------===//
// Together
//===----------------------------------------------------------------------===//

/// Those that the node's candidates may have.
std::vector<Settings> Bounds::settingsOf(const SpaceNode &node) const {
  bool hasStages = node.candidate.hasStages();
  std::vector<Settings> result;
  if (!hasStages)
    result = options.settings;
  if (hasStages || (!node.isLeaf() && facts.layers > 1))
    result.insert(result.end(), options.stageSettings.begin(),
                  options.stageSettings.end());
  return result;
}

/// Of the time that micro-batches take on all stages together, the share that
/// one stage takes at least, as the header says.
static double leastShare(int64_t stages, const Settings &settings) {
  double parts = double(settings.microBatches);
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (stages == 1 || !policy)
    return 1;
  // Nothing waits for the last micro-batch's way back.
  if (policy->splitsWeights)
    return 1 / double(stages);
  return 1 / (parts * (1 - std::pow(1 - 1 / parts, double(stages))));
}

/// Of what layers take that are alike, the share of the stage that ends last.
double Bounds::layersShare(int64_t stages, const Settings &settings) const {
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (stages == 1 || !policy)
    return 1;
  double most = 0, before = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    double own =
        double(facts.layers / stages + (stage < facts.layers % stages ? 1 : 0));
    most = std::max(most, own + before / double(settings.microBatches));
    before += policy->splitsWeights ? 0 : own;
  }
  return most / double(facts.layers);
}

Bound Bounds::boundOf(const Work &work, const SpaceNode &node,
                      const Settings &settings) const {
  double stages = double(node.candidate.numStages());
  double share = leastShare(node.candidate.numStages(), settings);
  Bound bound;
  double ofLayers = work.ofLayers * layersShare(int64_t(stages), settings);
  bound.computing =
      std::max({work.computing * share, (work.computing + work.update) / stages,
                ofLayers});
  bound.data = work.data / stages;
  bound.model = work.model * share;
  if (options.overlaps)
    bound.seconds = std::max({bound.computing, bound.data, bound.model});
  else
    bound.seconds = std::max(
        {(work.computing + work.model) * share,
         (work.computing + work.update + work.data + work.model) / stages,
         ofLayers});
  return bound;
}

/// All but computing.
Bounds::Work Bounds::workOf(const SpaceNode &node, int64_t microBatches) const {
  Work work;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    if (axis.size == 1)
      continue;
    if (axis.use.role == AxisRole::Data)
      work.data = std::max(work.data, dataSeconds(node, i, microBatches) +
                                          gatherSeconds(node, i));
    if (axis.use.role == AxisRole::Model)
      work.model = std::max(work.model, modelSeconds(node, i));
  }
  work.data = std::max(work.data, storedSeconds(node, microBatches));
  work.update = updateSeconds(node);
  return work;
}

/// What no settings are faster than, whether or not they fit.
Bound Bounds::linksAlone(const SpaceNode &node) const {
  Work work = workOf(node, 1);
  double stages = double(node.candidate.numStages());
  Bound bound;
  bound.data = work.data / stages;
  bound.model = work.model / stages;
  bound.seconds = options.overlaps ? std::max(bound.data, bound.model)
                                   : bound.data + bound.model;
  return bound;
}

Bound Bounds::of(const SpaceNode &node) const {
  Lasting lasting = lastingBytes(node);
  Bound best;
  int64_t least = INT64_MAX;
  bool mayFit = false;
  // By micro-batches and rematerialisation.
  std::map<std::pair<int64_t, size_t>, Work> works;
  for (const Settings &settings : settingsOf(node)) {
    // More axes leave no more to cut.
    if (!canCut(node, settings))
      continue;
    int64_t bytes = bytesWith(lasting, node, settings);
    least = std::min(least, bytes);
    if (options.memoryLimit > 0 && bytes > options.memoryLimit)
      continue;
    // Without stages what micro-batches take is not bounded.
    int64_t parts = node.candidate.hasStages() ? settings.microBatches : 1;
    const Yardstick *known = yardstickOf(settings);
    size_t yardstick = known ? size_t(known - options.yardsticks.data()) : 0;
    auto [work, isNew] = works.try_emplace({parts, yardstick});
    if (isNew) {
      work->second = workOf(node, parts);
      addComputing(node, yardstick, parts, work->second);
    }
    Bound bound = boundOf(work->second, node, settings);
    if (!mayFit || bound.seconds < best.seconds)
      best = bound;
    mayFit = true;
  }
  if (!mayFit)
    best = linksAlone(node);
  best.isPossible = least != INT64_MAX;
  best.bytes = best.isPossible ? least : 0;
  return best;
}
