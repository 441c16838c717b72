// Adds more layers to a chunk's work.
#include "tpsp/Schedule/ChunkWork.h"

#include <algorithm>

using namespace tpsp;

using Bytes = std::map<int64_t, int64_t>;

static int64_t totalOf(const Bytes &bytes) {
  int64_t total = 0;
  for (auto [argument, size] : bytes)
    total += size;
  return total;
}

/// The increase for `layers` more layers. An additional layer makes nothing
/// smaller.
template <typename Number>
static Number more(Number base, Number deeper, int64_t layers) {
  return Number(layers) * std::max<Number>(deeper - base, 0);
}

static void addTimes(ChunkWork &sum, const ChunkWork &base,
                     const ChunkWork &deeper, int64_t layers, bool receives) {
  for (double ChunkWork::*part :
       {&ChunkWork::forward, &ChunkWork::backward, &ChunkWork::update,
        &ChunkWork::reductions, &ChunkWork::sums, &ChunkWork::sumsInProducts,
        &ChunkWork::flops})
    sum.*part += more(base.*part, deeper.*part, layers);
  // If no gradient is sent, nobody waits for the backward pass.
  if (!receives) {
    sum.weights += more(base.backward, deeper.backward, layers);
    return;
  }
  for (double ChunkWork::*part : {&ChunkWork::input, &ChunkWork::weights})
    sum.*part += more(base.*part, deeper.*part, layers);
}

/// The increase of the peak per layer. In a shallow chunk the peak may be
/// elsewhere, but with many layers it includes their saved values.
static int64_t morePeak(int64_t base, int64_t deeper, int64_t saved) {
  return std::max(saved, deeper - base);
}

static void addPeaks(ChunkWork &sum, const ChunkWork &base,
                     const ChunkWork &deeper, int64_t layers, bool receives) {
  int64_t saved = more(base.saved, deeper.saved, layers);
  int64_t held = more(base.heldForWeights, deeper.heldForWeights, layers);
  sum.saved += saved;
  sum.peakForward += morePeak(base.peakForward, deeper.peakForward, saved);
  sum.peakBackward += morePeak(base.peakBackward, deeper.peakBackward, saved);
  sum.peakUpdate += more(base.peakUpdate, deeper.peakUpdate, layers);
  if (!receives) {
    for (int64_t ChunkWork::*part :
         {&ChunkWork::heldForWeights, &ChunkWork::peakInput,
          &ChunkWork::peakWeights})
      sum.*part += saved;
    return;
  }
  sum.heldForWeights += held;
  sum.peakInput +=
      morePeak(base.peakInput, deeper.peakInput, std::max(saved, held));
  sum.peakWeights += morePeak(base.peakWeights, deeper.peakWeights, held);
}

/// If no gradient is sent, the whole backward pass is of weights' gradients.
static unsigned momentsOfAdded(unsigned moments, bool receives) {
  unsigned input = bitOf(ChunkMoment::Input);
  if (receives || !(moments & input))
    return moments;
  return (moments & ~input) | bitOf(ChunkMoment::Weights);
}

static void addPassed(ChunkWork &sum, const ChunkWork &base,
                      const ChunkWork &deeper, int64_t layers, bool receives) {
  for (auto [moments, bytes] : deeper.passed) {
    auto before = base.passed.find(moments);
    int64_t added =
        more(before == base.passed.end() ? 0 : before->second, bytes, layers);
    if (added > 0)
      sum.passed[momentsOfAdded(moments, receives)] += added;
  }
  sum.scratch += more(base.scratch, deeper.scratch, layers);
  int64_t ChunkWork::*inParts =
      receives ? &ChunkWork::scratchInParts : &ChunkWork::scratch;
  sum.scratchInParts += more(base.*inParts, deeper.*inParts, layers);
}

void tpsp::addLayers(ChunkWork &sum, const ChunkWork &base,
                     const ChunkWork &deeper, int64_t layers, bool receives) {
  addTimes(sum, base, deeper, layers, receives);
  addPeaks(sum, base, deeper, layers, receives);
  addPassed(sum, base, deeper, layers, receives);
  for (int64_t ChunkWork::*part : {&ChunkWork::inputs, &ChunkWork::outputs})
    sum.*part += more(base.*part, deeper.*part, layers);
  for (Bytes ChunkWork::*part :
       {&ChunkWork::parameters, &ChunkWork::state, &ChunkWork::gradients})
    (sum.*part)[-1] += more(totalOf(base.*part), totalOf(deeper.*part), layers);
}
