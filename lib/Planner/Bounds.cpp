#include "DecidingSizes.h"

#include "tpsp/Planner/Bounds.h"

#include "tpsp/Schedule/PipelineProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace tpsp;
using namespace tpsp::planner;

Bounds::Bounds(ProgramFacts program, Hardware hardware, BoundOptions given)
    : facts(std::move(program)), options(given),
      cost(std::move(hardware), Mesh({{"all", given.devices, AxisRole::None}})),
      sizes(decidingSizes(cost.machine())) {
  if (options.yardsticks.empty())
    options.yardsticks.emplace_back();
  findRedone();
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// The highest FLOP/s of a rank in a product of any type.
double Bounds::bestRate() const {
  const Hardware &machine = cost.machine();
  double best = 0;
  for (const auto &[dtype, rates] : machine.matmul)
    best = std::max({best, rates.sustained, rates.peak});
  return best * (machine.isCpu() ? cost.coresPerRank() : 1);
}

/// Seconds of one product with its launch, in the best layout. Operands may be
/// transposed; so may the result, which swaps m and n in the table of rates.
ComputeSeconds Bounds::oneProduct(const MatmulWork &work, int64_t dtype) const {
  const MatmulRates *rates = matmulRatesOf(cost.machine(), dtype);
  bool hasLayouts =
      rates && llvm::any_of(rates->relative,
                            [](const auto &each) { return !each.empty(); });
  auto secondsOf = [&](const MatmulWork &work) {
    CommandCost product = cost.matmulCost(work, dtype);
    return ComputeSeconds{product.seconds,
                          product.slowedSeconds(cost.slowdown())};
  };
  ComputeSeconds best = secondsOf(work);
  for (int layout = 0; layout < (hasLayouts ? 4 : 1); ++layout) {
    MatmulWork other = work;
    other.transposeA = layout & 2;
    other.transposeB = layout & 1;
    best.lowerTo(secondsOf(other));
    std::swap(other.m, other.n);
    best.lowerTo(secondsOf(other));
  }
  return best;
}

static llvm::SmallVector<ProductFacts::Dim, 8>
dimsOf(const ProductFacts &product) {
  llvm::SmallVector<ProductFacts::Dim, 8> dims;
  product.forEachDim(
      [&](const ProductFacts::Dim &dim) { dims.push_back(dim); });
  return dims;
}

/// Seconds forward and backward, if each dimension is divided into so many
/// parts.
Bounds::ProductTime Bounds::shapeSeconds(const ProductFacts &product,
                                         const Parts &parts) const {
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
  // A product that is not a matrix product is part of a kernel, which is no
  // faster.
  bool isProduct = m > 1 && n > 1 && k > 1;
  auto seconds = [&](int64_t rows, int64_t columns, int64_t sum) {
    MatmulWork work = {rows, columns, sum, batch};
    double atBest = work.flops() / bestRate();
    return isProduct ? oneProduct(work, product.dtype)
                     : ComputeSeconds{atBest, atBest};
  };
  ComputeSeconds forA = seconds(m, k, n), forB = seconds(k, n, m);
  ComputeSeconds forward = seconds(m, n, k), total = forward;
  if (options.hasGradients && product.adjoints == 2)
    total.add(1, forA);
  if (options.hasGradients && product.adjoints == 1)
    forB.lowerTo(forA);
  if (options.hasGradients && product.adjoints > 0)
    total.add(1, forB);
  return found->second = {forward, total};
}

Bounds::ProductWays Bounds::waysOf(const ProductFacts &product,
                                   const SpaceNode &node,
                                   int64_t microBatches) const {
  auto dims = dimsOf(product);
  llvm::SmallVector<Parts, 4> ways = {Parts(dims.size(), 1)};
  ProductWays result;
  // One call for each micro-batch, on its part of the batch.
  for (size_t dim = 0; dim < dims.size() && result.calls == 1; ++dim)
    if (dims[dim].index == options.microBatchIndex) {
      ways.front()[dim] = microBatches;
      result.calls = double(microBatches);
    }
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool mayBeAny = axis.use.isOpen() ||
                    (axis.use.storesParameters && product.readsParameter);
    llvm::SmallVector<Parts, 4> next;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (mayBeAny || axis.use.isOn(dims[dim].index))
        for (Parts way : ways) {
          way[dim] *= axis.size;
          next.push_back(std::move(way));
        }
    if (!next.empty())
      ways = std::move(next);
  }
  for (const Parts &way : ways)
    result.times.push_back(shapeSeconds(product, way));
  return result;
}

ComputeSeconds Bounds::productSeconds(const ProductFacts &product,
                                      const ProductWays &ways,
                                      const SpaceNode &node,
                                      double again) const {
  auto secondsOf = [&](const ProductTime &time) {
    ComputeSeconds seconds;
    seconds.add(ways.calls, time.all);
    seconds.add(ways.calls * again, time.forward);
    return seconds;
  };
  ComputeSeconds best = secondsOf(ways.times.front());
  for (const ProductTime &time : ways.times)
    best.lowerTo(secondsOf(time));
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  double launches =
      std::min(best.alone, ways.calls * times * cost.launchSeconds());
  auto divided = [&](double seconds) {
    return launches + (seconds - launches) / double(node.remaining);
  };
  return {divided(best.alone), divided(best.slowed)};
}

/// The highest bandwidth of a rank's memory, in bytes per second.
double Bounds::memoryRate() const {
  double rate = 0;
  for (const SizePoint &point : cost.machine().memory)
    rate = std::max(rate, point.value);
  return rate *
         (cost.machine().isCpu() ? std::max(cost.coresPerRank(), 1.0) : 1);
}

/// Seconds of the update. It reads parameter, gradient and state, and writes
/// parameter and state.
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

std::vector<Bounds::ProductWays>
Bounds::waysOfProducts(const SpaceNode &node, int64_t microBatches) const {
  std::vector<ProductWays> ways(facts.products.size());
  for (auto [product, each] : llvm::zip_equal(facts.products, ways))
    if (!product.isAttention)
      each = waysOf(product, node, microBatches);
  return ways;
}

std::vector<ComputeSeconds> Bounds::secondsOfAttention(const SpaceNode &node,
                                                       size_t yardstick) const {
  std::vector<ComputeSeconds> seconds(facts.products.size());
  for (auto [i, product] : llvm::enumerate(facts.products))
    if (product.isAttention)
      seconds[i] = attentionSeconds(product, node, redone[yardstick][i]);
  return seconds;
}

void Bounds::addComputing(const SpaceNode &node, size_t yardstick,
                          llvm::ArrayRef<ProductWays> ways,
                          llvm::ArrayRef<ComputeSeconds> attention,
                          Work &work) const {
  const StepWork &undivided = options.yardsticks[yardstick].work;
  double share = kernelShare(node.candidate.numStages());
  double kernels = share * undivided.kernelSeconds;
  work.computing = {kernels, kernels};
  work.behindLayers = share * undivided.kernelSecondsBehindLayers;
  work.ofLayers =
      facts.areLayersAlike ? share * undivided.kernelSecondsOfLayers : 0;
  for (size_t i = 0; i < facts.products.size(); ++i) {
    const ProductFacts &product = facts.products[i];
    ComputeSeconds seconds =
        product.isAttention
            ? attention[i]
            : productSeconds(product, ways[i], node, redone[yardstick][i]);
    work.computing.add(double(product.count), seconds);
    work.ofLayers += countInLayers(product.count) * seconds.alone;
    if (product.isBehindLayers)
      work.behindLayers += double(product.count) * seconds.alone;
  }
}

/// With stages, adds the time in which kernels add each micro-batch's gradients
/// to the sums: both are read, and the sums are written.
void Bounds::addSums(const SpaceNode &node, const Lasting &lasting,
                     int64_t microBatches, Work &work) const {
  if (!node.candidate.hasStages())
    return;
  auto seconds = [&](const Sums &sums) {
    return double(microBatches) *
           (2 * sums.of(microBatches, /*hasStages=*/true) + sums.asTheyCome) /
           memoryRate();
  };
  double all = seconds(lasting.byKernels);
  work.computing.add(1, {all, all});
  work.ofLayers +=
      facts.areLayersAlike ? seconds(lasting.byKernelsOfLayers) : 0;
}

//===----------------------------------------------------------------------===//
// Together
//===----------------------------------------------------------------------===//

/// The settings that the node's candidates may have.
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

/// The least share of one stage in the time of micro-batches on all stages
/// together. The header has the formula.
static double leastShare(int64_t stages, const Settings &settings) {
  double parts = double(settings.microBatches);
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (stages == 1 || !policy)
    return 1;
  // With split weights' gradients, nothing waits for the last micro-batch to
  // return. With several chunks, the first ones may have next to no work.
  if (policy->splitsWeights || settings.chunks > 1)
    return 1 / double(stages);
  return 1 / (parts * (1 - std::pow(1 - 1 / parts, double(stages))));
}

/// How many of `count` equal things belong to equal layers.
double Bounds::countInLayers(int64_t count) const {
  return facts.areLayersAlike ? double(count - count % facts.layers) : 0;
}

/// Seconds of the stage that ends last: its equal layers, and the work after
/// them. Of communication, layers have `inParts` seconds in micro-batches and
/// `atEnd` seconds after the last micro-batch.
double Bounds::longestStage(const Work &work, int64_t stages,
                            const Settings &settings, double inParts,
                            double atEnd) const {
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (stages == 1 || !policy || !facts.areLayersAlike)
    return work.ofLayers;
  double layers = double(facts.layers), parts = double(settings.microBatches);
  double layer = (work.ofLayers + inParts) / layers, once = atEnd / layers;
  int64_t chunks = stages * settings.chunks, more = facts.layers % chunks;
  auto layersOf = [&](int64_t chunk) {
    return double(facts.layers / chunks + (chunk < more ? 1 : 0));
  };
  double most = 0, before = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    double own = 0;
    for (int64_t chunk = stage; chunk < chunks; chunk += stages)
      own += layersOf(chunk);
    double behind = stage + 1 == stages ? work.behindLayers : 0;
    // Overlap may hide it under the last micro-batch.
    double hidden = options.overlaps ? (own * layer + behind) / parts : 0;
    most = std::max(most, own * layer + std::max(own * once - hidden, 0.0) +
                              before * layer / parts + behind);
    before += policy->splitsWeights ? 0 : layersOf(stage);
  }
  return most;
}

/// Seconds of the step if all communication hides that may hide.
double Bounds::hidingSeconds(const Work &work) const {
  ComputeSeconds computing = work.computing;
  computing.add(1, {work.update, work.update});
  return leastSeconds(computing, busiestLink(work.links()), cost.slowdown());
}

/// Seconds of a pipeline whose communication hides as far as possible. The
/// update waits for the last micro-batch, and reductions of gradients run under
/// it or later.
double Bounds::pipelineSeconds(const Work &work, const Settings &settings,
                               double share, double stages) const {
  double computing = work.computing.alone,
         last = computing / double(settings.microBatches),
         atEnd = std::max(work.update, busiestLink(work.data.atEnd) - last);
  return std::max({computing * share, (computing + atEnd) / stages,
                   busiestLink(work.links()) / stages,
                   busiestLink(work.model) * share});
}

Bound Bounds::boundOf(const Work &work, const SpaceNode &node,
                      const Settings &settings) const {
  int64_t numStages = node.candidate.numStages();
  double stages = double(numStages), share = leastShare(numStages, settings);
  double computing = work.computing.alone, model = work.model.serial;
  double withUpdate = computing + work.update;
  auto longest = [&](double inParts, double atEnd) {
    return longestStage(work, numStages, settings, inParts, atEnd);
  };
  Bound bound;
  bound.computing =
      std::max({computing * share, withUpdate / stages, longest(0, 0)});
  bound.data = work.data.all.serial / stages;
  bound.model = model * share;
  if (!options.overlaps)
    bound.seconds =
        std::max({(computing + model) * share,
                  withUpdate / stages + bound.data + model / stages,
                  longest(work.model.ofLayers, work.data.all.ofLayers)});
  else if (numStages > 1)
    bound.seconds = std::max(
        pipelineSeconds(work, settings, share, stages),
        longest(0, busiestShare(work.data.atEnd) * work.data.atEnd.ofLayers));
  else
    bound.seconds = std::max(bound.computing, hidingSeconds(work));
  return bound;
}

/// All work but computing.
Bounds::Work Bounds::workOf(const SpaceNode &node, const DataLinks &links,
                            int64_t microBatches) const {
  Work work;
  work.data = dataTime(node, links, microBatches);
  work.model = modelTime(node, microBatches);
  work.update = updateSeconds(node);
  return work;
}

/// A bound on all settings, whether or not they fit: links alone.
Bound Bounds::linksAlone(const SpaceNode &node) const {
  Work work = workOf(node, dataLinksOf(node), 1);
  double stages = double(node.candidate.numStages());
  Bound bound;
  bound.data = work.data.all.serial / stages;
  bound.model = work.model.serial / stages;
  bound.seconds = options.overlaps ? busiestLink(work.links()) / stages
                                   : bound.data + bound.model;
  return bound;
}

Bound Bounds::of(const SpaceNode &node) const {
  auto [known, isNew] = bounds.try_emplace(keyOf(node));
  if (isNew)
    known->second = findBound(node);
  return known->second;
}

namespace {
/// A map whose values are made when they are asked for first.
template <typename Key, typename Value> struct MadeOnce {
  std::map<Key, Value> known;

  Value &of(const Key &key, llvm::function_ref<Value()> make) {
    auto found = known.find(key);
    return found != known.end() ? found->second
                                : known.emplace(key, make()).first->second;
  }
};
} // namespace

/// Adds the step's bound to each of the settings that may fit. Settings share
/// what depends on fewer of them.
void Bounds::addBounds(const SpaceNode &node, const Lasting &lasting,
                       std::vector<SizedSettings> &settings) const {
  if (llvm::none_of(settings, [](const auto &each) { return each.mayFit; }))
    return;
  DataLinks links = dataLinksOf(node);
  MadeOnce<int64_t, Work> moving;
  MadeOnce<int64_t, std::vector<ProductWays>> ways;
  MadeOnce<size_t, std::vector<ComputeSeconds>> attention;
  MadeOnce<std::pair<int64_t, size_t>, Work> works;
  auto workWith = [&](int64_t parts, size_t yardstick) {
    Work work = moving.of(parts, [&] { return workOf(node, links, parts); });
    addComputing(
        node, yardstick,
        ways.of(parts, [&] { return waysOfProducts(node, parts); }),
        attention.of(yardstick,
                     [&] { return secondsOfAttention(node, yardstick); }),
        work);
    addSums(node, lasting, parts, work);
    return work;
  };
  for (SizedSettings &each : settings) {
    if (!each.mayFit)
      continue;
    int64_t parts = each.settings.microBatches;
    const Yardstick *known = yardstickOf(each.settings);
    size_t yardstick = known ? size_t(known - options.yardsticks.data()) : 0;
    const Work &work = works.of({parts, yardstick},
                                [&] { return workWith(parts, yardstick); });
    each.bound = boundOf(work, node, each.settings);
  }
}

Bound Bounds::findBound(const SpaceNode &node) const {
  std::vector<SizedSettings> all =
      sized(node, settingsOf(node), options.memoryLimit);
  const SizedSettings *fastest = nullptr;
  int64_t least = INT64_MAX;
  for (const SizedSettings &each : all) {
    least = std::min(least, each.bytes);
    if (each.mayFit &&
        (!fastest || each.bound.seconds < fastest->bound.seconds))
      fastest = &each;
  }
  Bound best = fastest ? fastest->bound : linksAlone(node);
  best.isPossible = !all.empty();
  best.bytes = best.isPossible ? least : 0;
  return best;
}
