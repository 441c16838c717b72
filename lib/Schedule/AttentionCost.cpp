#include "GridPosition.h"

#include "tpsp/Schedule/CostModel.h"

#include "llvm/Support/MathExtras.h"

using namespace tpsp;

/// Queries and keys per block, as libraries cut them for tensor cores.
static constexpr int64_t blockQueries = 128;

/// Whether a window hides keys.
static bool hasWindow(const AttentionWork &work) {
  return work.mostKeys(work.keys) < work.keys;
}

/// The rate, interpolated in the logarithms of features and keys. For rows
/// shorter than the grid, the rate keeps falling with the last slope. In other
/// directions outside the grid, it is the rate at the grid's edge.
static double rateOnGrid(const AttentionRates &rates,
                         const AttentionWork &work) {
  // The rows of a window are as long as rows without a mask, but for the first.
  size_t table =
      AttentionRates::tableOf(work.isGradient, work.causal && !hasWindow(work));
  GridPosition feature = positionOn(rates.features, double(work.features));
  GridPosition key = positionOn(rates.keys, double(work.mostKeys(work.keys)));
  feature.share = std::clamp(feature.share, 0.0, 1.0);
  key.share = std::min(key.share, 1.0);
  double sum = 0;
  for (size_t f : {0, 1})
    for (size_t k : {0, 1}) {
      double weight = (f ? feature.share : 1 - feature.share) *
                      (k ? key.share : 1 - key.share);
      if (weight != 0)
        sum += weight * std::log(rates.at(table, feature.low + f, key.low + k));
    }
  return std::exp(sum);
}

/// The part of whole blocks that the extent fills.
static double filled(int64_t extent, int64_t block) {
  return double(extent) / double(llvm::divideCeil(extent, block) * block);
}

/// On a GPU, parallelism is limited by the number of blocks of queries. Blocks
/// of queries and of keys are computed whole. A window reaches into one more
/// block of keys.
double CostModel::attentionRate(const AttentionRates &rates,
                                const AttentionWork &work) const {
  double rate = rateOnGrid(rates, work);
  if (work.hidesKeys)
    rate *= work.isGradient ? rates.hiddenBackward : rates.hiddenForward;
  if (hardware.isCpu())
    return rate * coresPerRank();
  double blocks =
      double(work.heads) * double(llvm::divideCeil(work.queries, blockQueries));
  double seen = double(work.mostKeys(work.keys));
  double reach = hasWindow(work) ? seen / (seen + blockQueries)
                                 : filled(work.keys, blockQueries);
  return rate * std::min(1.0, blocks / double(hardware.cores)) *
         filled(work.queries, blockQueries) * reach;
}

/// Seconds of attention on a machine where it was not measured. Its products
/// run at the rate of products of whole heads. The exponentials are charged
/// after the products, as epilogues are. Scores are not in memory.
double CostModel::unmeasuredAttentionSeconds(const AttentionWork &work,
                                             int64_t dtype) const {
  MatmulWork product;
  product.m = work.queries;
  product.n = work.mostKeys(work.keys);
  product.k = work.features;
  product.batch = work.heads;
  EpilogueWork weights;
  weights.transcendentals = work.pairs();
  return work.flops() / productRate(product, dtype) + epilogueSeconds(weights);
}

AttentionWork CostModel::attentionDone(const AttentionWork &work) const {
  AttentionWork done = work;
  if (hardware.isCpu() || !hasWindow(work) ||
      !(work.hidesKeys || work.softcap > 0))
    return done;
  done.keys = std::min(work.keys, work.queryStart + work.queries);
  static_cast<PositionMask &>(done) = {};
  done.hidesKeys = true;
  done.queryStart = 0;
  return done;
}

CommandCost CostModel::attentionCost(const AttentionWork &wanted, int64_t dtype,
                                     double bytes) const {
  AttentionWork work = attentionDone(wanted);
  if (work.flops() <= 0)
    return withLaunch(0, 0);
  const AttentionRates *rates = attentionRatesOf(hardware, dtype);
  double seconds = rates ? work.flops() / attentionRate(*rates, work)
                         : unmeasuredAttentionSeconds(work, dtype);
  return withLaunch(seconds, memorySeconds(bytes));
}
