// What a rank needs at least.
#include "tpsp/Planner/Bounds.h"

#include "tpsp/Schedule/PipelineProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

/// The rank's part, as far as the axes so far divide it.
double Bounds::localBytes(const TensorFacts &tensor,
                          const SpaceNode &node) const {
  double bytes = double(tensor.bytes());
  for (const std::vector<unsigned> &axes : subscriptsOf(tensor, node.candidate))
    for (unsigned axis : axes)
      bytes /= double(node.candidate.axes[axis].size);
  return bytes;
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
    // What is written as it is, may be on any axis.
    if (tensor.kind != TensorFacts::Kind::Parameter || !tensor.isFree)
      continue;
    double local = localBytes(tensor, node) / parts, bytes = local, sums = 0;
    if (options.keepsGradients && tensor.isTrained)
      bytes += local;
    if (tensor.isTrained)
      bytes += local * stateShare / stateAxes;
    // In f32, unless gradients are results, and then counted.
    if (options.hasGradients && tensor.isTrained)
      sums = local * ((tensor.elementBytes == 2 ? 2 : 1) -
                      (options.keepsGradients ? 1 : 0));
    result.all += bytes;
    result.sums += sums;
    if (facts.isOfLayers(tensor)) {
      result.ofLayers += bytes;
      result.sumsOfLayers += sums;
    }
  }
  return result;
}

bool Bounds::canCut(const SpaceNode &node, const Settings &settings) const {
  int64_t parts = settings.microBatches;
  if (parts < node.candidate.numStages())
    return false;
  if (!options.microBatchIndex || parts == 1)
    return true;
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.activations == options.microBatchIndex)
      parts *= axis.size;
  return facts.classes[*options.microBatchIndex].extent % parts == 0;
}

/// Of the first stage, the part that its layers have. It has most of them, and
/// saves all units that there may be: until the first micro-batch is back, it
/// has time to send on as many.
double Bounds::firstStageBytes(const Lasting &lasting, const SpaceNode &node,
                               const Settings &settings) const {
  const PipelinePolicy *policy = findPolicy(settings.schedule);
  if (!policy || !facts.areLayersAlike)
    return 0;
  PipelineProblem problem;
  problem.stages = node.candidate.numStages();
  problem.parts = settings.microBatches;
  double units =
      double(std::min(policy->bound(problem, 0), settings.microBatches));
  double own = double((facts.layers + problem.stages - 1) / problem.stages);
  const Yardstick *yardstick = yardstickOf(settings);
  double saved = yardstick ? double(yardstick->savedByLayers) : 0;
  double ranks = double(options.devices / problem.stages);
  // What the last of them makes is sent on, and saved by who uses it.
  double kept = (own - 1) * units * saved / ranks;
  return (own * (lasting.ofLayers + lasting.sumsOfLayers) +
          kept / double(settings.microBatches)) /
         double(facts.layers);
}

int64_t Bounds::bytesWith(const Lasting &lasting, const SpaceNode &node,
                          const Settings &settings) const {
  const Yardstick *yardstick = yardstickOf(settings);
  double parts = double(options.devices) * double(settings.microBatches);
  double saved = yardstick ? double(yardstick->savedBytes) / parts : 0;
  double stages = double(node.candidate.numStages());
  if (!node.candidate.hasStages())
    return int64_t(lasting.all) + int64_t(saved);
  double average = (lasting.all + lasting.sums) / stages + saved;
  return int64_t(std::max(average, firstStageBytes(lasting, node, settings)));
}

int64_t Bounds::bytesWith(const SpaceNode &node,
                          const Settings &settings) const {
  return bytesWith(lastingBytes(node), node, settings);
}
