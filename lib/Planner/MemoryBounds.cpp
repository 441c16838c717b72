// The least memory of a rank.
#include "tpsp/Planner/Bounds.h"

#include "tpsp/Schedule/PipelineProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

using namespace tpsp;
using namespace tpsp::planner;

/// Bytes of a rank's part, as divided by the axes so far.
double Bounds::localBytes(const TensorFacts &tensor,
                          const SpaceNode &node) const {
  double bytes = double(tensor.bytes());
  for (const std::vector<unsigned> &axes : subscriptsOf(tensor, node.candidate))
    for (unsigned axis : axes)
      bytes /= double(node.candidate.axes[axis].size);
  return bytes;
}

/// `local`: bytes of the rank's part of the parameter. Gradients that are
/// results are counted elsewhere.
Bounds::Sums Bounds::sumsOf(const TensorFacts &tensor, const SpaceNode &node,
                            double local) const {
  if (!options.hasGradients || !tensor.isTrained)
    return {};
  double bytes = local;
  Subscripts dims = subscriptsOf(tensor, node.candidate);
  for (const std::vector<unsigned> &axes : dims)
    for (unsigned axis : axes)
      if (const CandidateAxis &each = node.candidate.axes[axis];
          options.reducesOnce && each.use.storesParameters &&
          isSummedOn(tensor, each.use))
        bytes *= double(each.size);
  double result = options.keepsGradients ? local : 0;
  double summed = tensor.elementBytes == 2
                      ? bytes * double(options.sums.narrowBytes) / 2
                      : bytes;
  return {bytes - result, summed - result};
}

/// Whether a product may add the parameter's gradient to its sum.
bool Bounds::mayAddInProduct(const TensorFacts &parameter) const {
  bool isWide = parameter.elementBytes != 2 || options.sums.areWide();
  return options.sums.inProducts && isWide && !parameter.contracted.empty();
}

Bounds::Lasting Bounds::lastingBytes(const SpaceNode &node) const {
  Lasting result;
  double stateShare = double(options.stateBytes) /
                      double(std::max<int64_t>(facts.parameterBytes(), 1));
  double stateAxes = 1, parts = double(node.remaining);
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.storesState)
      stateAxes *= double(axis.size);
  for (const TensorFacts &tensor : facts.tensors) {
    // A tensor that the program places itself may be on any axis, so it is
    // skipped.
    if (tensor.kind != TensorFacts::Kind::Parameter || !tensor.isFree)
      continue;
    double local = localBytes(tensor, node) / parts, bytes = local;
    if (options.keepsGradients && tensor.isTrained)
      bytes += local;
    if (tensor.isTrained)
      bytes += local * stateShare / stateAxes;
    Sums sums = sumsOf(tensor, node, local);
    result.all += bytes;
    result.sums += sums;
    bool isByKernel = !mayAddInProduct(tensor);
    if (isByKernel)
      result.byKernels += sums;
    if (facts.isOfLayers(tensor)) {
      result.ofLayers += bytes;
      result.sumsOfLayers += sums;
      if (isByKernel)
        result.byKernelsOfLayers += sums;
    }
  }
  return result;
}

/// Whether there is a layer for each chunk. The first number of chunks is
/// always accepted. Other numbers must make chunks equal or, if none does,
/// nearly equal.
bool Bounds::hasChunks(const SpaceNode &node, int64_t perStage) const {
  int64_t stages = node.candidate.numStages(), chunks = stages * perStage;
  if (stages == 1 || options.stageSettings.empty())
    return true;
  bool isFirst = perStage == options.stageSettings.front().chunks,
       areAlike = facts.layers % chunks == 0,
       mayBeAlike = facts.layers % stages == 0;
  return chunks <= facts.layers &&
         (isFirst || areAlike ||
          (!mayBeAlike && llvm::isPowerOf2_64(uint64_t(perStage))));
}

bool Bounds::canCut(const SpaceNode &node, const Settings &settings) const {
  int64_t parts = settings.microBatches;
  if (parts < node.candidate.numStages() || !hasChunks(node, settings.chunks) ||
      !options.reader.takesSettings(node.candidate, settings, facts))
    return false;
  if (!options.microBatchIndex || parts == 1)
    return true;
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.activations == options.microBatchIndex)
      parts *= axis.size;
  return facts.classes[*options.microBatchIndex].extent % parts == 0;
}

/// Bytes of the first stage's layers. `unit`: bytes saved by each unit that the
/// schedule allows.
double Bounds::firstStageBytes(const Lasting &lasting, const SpaceNode &node,
                               const Settings &settings, double unit) const {
  PipelineProblem problem;
  problem.stages = node.candidate.numStages();
  problem.chunksPerStage = settings.chunks;
  problem.parts = settings.microBatches;
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  int64_t units = std::min(policy->bound(problem, 0),
                           settings.microBatches * settings.chunks);
  double sums =
      lasting.sumsOfLayers.of(settings.microBatches, /*hasStages=*/true);
  return layersOfFirst(node) * (lasting.ofLayers + sums) /
             double(facts.layers) +
         double(units) * unit;
}

/// Bytes that a chunk of `layers` layers saves of a micro-batch.
double Bounds::unitBytes(const SpaceNode &node, const Settings &settings,
                         double layers) const {
  const Yardstick *yardstick = yardstickOf(settings);
  double ranks = double(options.devices / node.candidate.numStages());
  return yardstick ? layers / double(facts.layers) *
                         double(yardstick->savedByLayers) / ranks /
                         double(settings.microBatches)
                   : 0;
}

/// The least bytes of a unit. The result of its last layer is sent on, and the
/// chunk that uses it saves it.
double Bounds::leastUnitBytes(const SpaceNode &node,
                              const Settings &settings) const {
  double layers = settings.chunks == 1
                      ? layersOfFirst(node)
                      : double(facts.layers /
                               (node.candidate.numStages() * settings.chunks));
  double handedOn = 0;
  for (const TensorFacts &tensor : facts.tensors)
    if (tensor.kind == TensorFacts::Kind::Boundary)
      handedOn += double(tensor.bytes());
  double parts = double(options.devices / node.candidate.numStages()) *
                 double(settings.microBatches);
  return std::max(unitBytes(node, settings, layers) - handedOn / parts, 0.0);
}

/// The number of layers of the first stage, which has the most.
double Bounds::layersOfFirst(const SpaceNode &node) const {
  int64_t stages = node.candidate.numStages();
  return double((facts.layers + stages - 1) / stages);
}

int64_t Bounds::bytesWith(const Lasting &lasting, const SpaceNode &node,
                          const Settings &settings) const {
  const Yardstick *yardstick = yardstickOf(settings);
  double parts = double(options.devices) * double(settings.microBatches);
  double saved = yardstick ? double(yardstick->savedBytes) / parts : 0;
  double stages = double(node.candidate.numStages());
  double average = (lasting.all + lasting.sums.of(settings.microBatches,
                                                  node.candidate.hasStages())) /
                       stages +
                   saved;
  // The first stage saves all units that the schedule allows: it can start as
  // many before the first micro-batch returns. If weights' gradients wait and
  // there are several chunks, it may save a few less.
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (!policy || !facts.areLayersAlike ||
      (policy->splitsWeights && settings.chunks > 1))
    return int64_t(average);
  return int64_t(
      std::max(average, firstStageBytes(lasting, node, settings,
                                        leastUnitBytes(node, settings))));
}

/// The expected bytes of the first stage, which are not a bound.
double Bounds::expectedBytes(const Lasting &lasting, const SpaceNode &node,
                             const Settings &settings) const {
  double least = double(bytesWith(lasting, node, settings));
  if (!findPolicy(settings.schedule) || !facts.areLayersAlike)
    return least;
  double layers = layersOfFirst(node) / double(settings.chunks);
  return std::max(least, firstStageBytes(lasting, node, settings,
                                         unitBytes(node, settings, layers)));
}

int64_t Bounds::bytesWith(const SpaceNode &node,
                          const Settings &settings) const {
  return bytesWith(lastingBytes(node), node, settings);
}

std::vector<SizedSettings> Bounds::sized(const SpaceNode &node,
                                         llvm::ArrayRef<Settings> all,
                                         int64_t limit) const {
  Lasting lasting = lastingBytes(node);
  std::vector<SizedSettings> result;
  // With stages, the first settings of the present rematerialisation.
  const SizedSettings *first = nullptr;
  result.reserve(all.size());
  for (const Settings &each : all) {
    // More axes never make a batch easier to cut.
    if (!canCut(node, each))
      continue;
    int64_t bytes = bytesWith(lasting, node, each);
    bool isBehind = first && each.schedule == first->settings.schedule &&
                    each.rematerialize == first->settings.rematerialize;
    if (isBehind && !first->mayFit)
      bytes = std::max(bytes, first->bytes);
    result.push_back({each, bytes, limit <= 0 || bytes <= limit, {}});
    if (!isBehind)
      first = each.schedule.empty() ? nullptr : &result.back();
  }
  addBounds(node, lasting, result);
  return result;
}

/// Removes settings slower than `longest`. Returns the least seconds among the
/// removed settings.
static double leaveOutSlower(std::vector<SizedSettings> &settings,
                             double longest) {
  double leftOut = std::numeric_limits<double>::infinity();
  auto isSlower = [&](const SizedSettings &each) {
    return each.bound.seconds > longest;
  };
  for (const SizedSettings &each : settings)
    if (isSlower(each))
      leftOut = std::min(leftOut, each.bound.seconds);
  llvm::erase_if(settings, isSlower);
  return leftOut;
}

SettingsToTry Bounds::settingsToTry(const Candidate &candidate,
                                    llvm::ArrayRef<Settings> all, int64_t limit,
                                    double longest) const {
  std::vector<SizedSettings> known = sized({candidate, 1}, all, limit);
  const Settings *smallest = &all.back();
  int64_t least = INT64_MAX;
  for (const SizedSettings &each : known)
    if (each.bytes <= least)
      std::tie(smallest, least) = std::tuple(&each.settings, each.bytes);
  Settings fallback = *smallest;
  llvm::erase_if(known, [](const SizedSettings &each) { return !each.mayFit; });
  SettingsToTry result;
  if (candidate.hasStages()) {
    result.leftOut = leaveOutSlower(known, longest);
    sortByPromise(known, candidate, all, limit);
  }
  for (const SizedSettings &each : known)
    result.settings.push_back(each.settings);
  if (known.empty() && result.isAll())
    result.settings.push_back(fallback);
  return result;
}

/// Sorts by rematerialisation, in the order of `all`, and then by promise.
void Bounds::sortByPromise(std::vector<SizedSettings> &settings,
                           const Candidate &candidate,
                           llvm::ArrayRef<Settings> all, int64_t limit) const {
  llvm::SmallVector<llvm::StringRef> inOrder;
  for (const Settings &each : all)
    inOrder.push_back(each.rematerialize);
  Lasting lasting = lastingBytes({candidate, 1});
  auto key = [&](const SizedSettings &each) {
    double bytes = expectedBytes(lasting, {candidate, 1}, each.settings);
    double excess = limit > 0 ? std::max(bytes - double(limit), 0.0) : 0;
    return std::tuple(llvm::find(inOrder, each.settings.rematerialize), excess,
                      each.bound.promise());
  };
  llvm::stable_sort(
      settings, [&](const auto &a, const auto &b) { return key(a) < key(b); });
}
