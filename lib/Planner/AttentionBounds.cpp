// The least time of attention: its calls, and the communication of keys and
// heads.
#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace tpsp;
using namespace tpsp::planner;

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// The highest FLOP/s of a rank in calls of attention of this type, in these
/// passes: whether each is the gradient. 0 if it was not measured.
double Bounds::bestAttentionRate(const ProductFacts &product,
                                 llvm::ArrayRef<bool> passes) const {
  const Hardware &machine = cost.machine();
  double best = 0;
  if (const AttentionRates *rates = attentionRatesOf(machine, product.dtype))
    for (bool isGradient : passes)
      for (bool isCausal : {false, true})
        for (double rate :
             rates->tables[AttentionRates::tableOf(isGradient, isCausal)])
          best = std::max(best, rate);
  return best * (machine.isCpu() ? cost.coresPerRank() : 1);
}

/// The attention of some rows of queries.
static AttentionWork rowsOf(const AttentionWork &all, int64_t begin,
                            int64_t count) {
  AttentionWork rows = all;
  rows.queryStart = all.queryStart + begin;
  rows.queries = std::max<int64_t>(count, 1);
  return rows;
}

/// Seconds of `share` of these calls, forward and backward in one call each.
/// Assumes that heads and queries fill a device.
ComputeSeconds Bounds::callSeconds(const ProductFacts &product,
                                   const AttentionWork &work, double share,
                                   double again) const {
  PlanCommand call;
  call.kind = CommandKind::Attention;
  call.dtype = product.dtype;
  call.attention = work;
  auto seconds = [&](bool isGradient) {
    call.attention.isGradient = isGradient;
    CommandCost whole = cost.cost(call);
    auto ofRank = [&](double seconds) {
      double launch = whole.startSeconds;
      return launch + std::max(seconds - launch, 0.0) * share;
    };
    return ComputeSeconds{ofRank(whole.seconds),
                          ofRank(whole.slowedSeconds(cost.slowdown()))};
  };
  ComputeSeconds result;
  result.add(1 + again, seconds(/*isGradient=*/false));
  if (options.hasGradients && product.adjoints > 0)
    result.add(1, seconds(/*isGradient=*/true));
  return result;
}

/// Whether the axis is on the positions of queries, and does not divide heads
/// in their place.
static bool isOnQueries(const ProductFacts &product, const CandidateAxis &axis,
                        const ProgramFacts &facts) {
  bool isOn = false;
  product.forEachDim([&](const ProductFacts::Dim &dim) {
    isOn |=
        facts.classes[dim.index].isMixed && axis.use.activations == dim.index;
  });
  return isOn && !axis.use.heads;
}

/// The ranks of the ring around which the node's axes send the attention's
/// keys. Axes that may divide something else are left out. 1 if a ring is not
/// certain. Keys are gathered instead if all these axes together do not divide
/// their shards.
int64_t Bounds::ringSize(const ProductFacts &product,
                         const SpaceNode &node) const {
  if (!product.inOneCall || !product.mayRing || !node.isLeaf() ||
      !hasRing(node.candidate))
    return 1;
  int64_t ranks = 1, most = 1;
  for (const CandidateAxis &axis : node.candidate.axes) {
    ranks *= dividesQueries(product, axis) ? axis.size : 1;
    most *= isOnQueries(product, axis, facts) ? axis.size : 1;
  }
  int64_t shards = product.inOneCall->causal ? 2 * most : most;
  return product.inOneCall->queries % shards == 0 ? ranks : 1;
}

/// Seconds of a ring of `ranks`, of which each has 1 / `parts` of the
/// attention. Counts the calls of all hops, and reads the results of each hop.
/// Under a causal mask shards are in halves (AttentionRing.cpp).
ComputeSeconds Bounds::ringSeconds(const ProductFacts &product, int64_t ranks,
                                   double parts, double again) const {
  const AttentionWork &all = *product.inOneCall;
  double share = double(ranks) / parts;
  AttentionWork hop = all;
  static_cast<PositionMask &>(hop) = {};
  int64_t shards = all.causal ? 2 * ranks : ranks;
  hop.queries /= shards;
  hop.keys /= shards;
  hop.queryStart = 0;
  ComputeSeconds seconds;
  seconds.add(double(all.causal ? 2 * ranks - 1 : ranks),
              callSeconds(product, hop, share, again));
  if (all.causal) {
    hop.causal = true;
    seconds.add(2, callSeconds(product, hop, share, again));
  }
  double rows = double(all.heads) * double(all.queries) *
                double(product.elementBytes) / parts;
  double bytes = (1 + again) * rows * double(all.valueFeatures);
  if (options.hasGradients && product.adjoints > 0)
    bytes += rows * double(all.features);
  double reading = double(ranks) * bytes / memoryRate();
  seconds.add(1, {reading, reading});
  return seconds;
}

/// Seconds forward and backward in the calls of a ring's hops, whose rates are
/// those of any mask and any number of keys. All ranks have equal work. 0 if
/// rates were not measured.
double Bounds::hopsSeconds(const ProductFacts &product, double parts,
                           double again) const {
  auto seconds = [&](bool isGradient) {
    AttentionWork work = *product.inOneCall;
    work.isGradient = isGradient;
    double rate = bestAttentionRate(product, isGradient);
    return rate > 0 ? work.flops() / rate / parts : 0;
  };
  double forward = (1 + again) * seconds(/*isGradient=*/false);
  return options.hasGradients && product.adjoints > 0
             ? forward + seconds(/*isGradient=*/true)
             : forward;
}

/// Whether the axis divides queries if it divides attention at all. A data axis
/// on positions does. A model axis may divide another index instead.
bool Bounds::dividesQueries(const ProductFacts &product,
                            const CandidateAxis &axis) const {
  bool beside = axis.use.isOpen();
  product.forEachDim([&](const ProductFacts::Dim &dim) {
    beside |= !facts.classes[dim.index].isMixed && axis.use.isOn(dim.index);
  });
  return isOnQueries(product, axis, facts) &&
         (axis.use.role == AxisRole::Data || !beside);
}

/// Whether attention may be in hops of a ring, along the node's axes or along
/// those that it still lacks.
bool Bounds::mayHop(const SpaceNode &node) const {
  return options.alwaysRings || hasRing(node.candidate) ||
         (options.mayRing && !node.isLeaf());
}

/// Seconds of the busiest of the ranks that divide queries into `shards`, if
/// each has 1 / `parts` of the attention on average. Under a causal mask it is
/// the rank with the last queries. If ranks exchange halves of their queries,
/// all have as many early rows as late ones.
ComputeSeconds Bounds::rowsSeconds(const ProductFacts &product,
                                   const SpaceNode &node, int64_t shards,
                                   double parts, double again) const {
  const AttentionWork &all = *product.inOneCall;
  double share = double(shards) / parts;
  auto seconds = [&](int64_t begin, int64_t rows) {
    return callSeconds(product, rowsOf(all, begin, rows), share, again);
  };
  int64_t rows = all.queries / shards, half = rows / 2;
  ComputeSeconds last = seconds(all.queries - rows, rows);
  if (shards == 1 || half == 0 || !all.causal || !options.balancesAttention)
    return last;
  ComputeSeconds balanced = seconds(0, half);
  balanced.add(1, seconds(all.queries - half, half));
  double exchange = exchangeSeconds(product, node, again, parts);
  balanced.add(1, {exchange, exchange});
  last.lowerTo(balanced);
  return last;
}

/// Dividing an index further never adds work to the busiest rank.
ComputeSeconds Bounds::attentionSeconds(const ProductFacts &product,
                                        const SpaceNode &node,
                                        double again) const {
  double parts = double(node.remaining);
  int64_t ofQueries = 1;
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool divides = axis.use.isOpen();
    product.forEachDim([&](const ProductFacts::Dim &dim) {
      divides |= axis.use.isOn(dim.index);
    });
    parts *= divides ? double(axis.size) : 1;
    ofQueries *= dividesQueries(product, axis) ? axis.size : 1;
  }
  bool calls = product.inOneCall && options.callsAttention;
  if (calls && !mayHop(node))
    return rowsSeconds(product, node, ofQueries, parts, again);
  if (int64_t ranks = ringSize(product, node); calls && ranks > 1)
    return ringSeconds(product, ranks, parts, again);
  double times =
      1 + again + (options.hasGradients ? double(product.adjoints) : 0);
  double rate = std::max(bestRate(), bestAttentionRate(product, {false, true}));
  double seconds = times * product.flops / rate / parts;
  if (calls)
    seconds = std::max(seconds, hopsSeconds(product, parts, again));
  return {seconds, seconds};
}

/// Seconds of the exchange of halves around attention, if ranks share its rows.
/// Queries are received and results sent; for gradients, queries and the
/// result's gradient are received. If the forward pass is not redone, results
/// are received again. All are copied into halves, and halves are sent along at
/// least one axis that divides them.
double Bounds::exchangeSeconds(const ProductFacts &product,
                               const SpaceNode &node, double again,
                               double parts) const {
  const AttentionWork &work = *product.inOneCall;
  double tensor = double(work.heads) * double(work.queries) *
                  double(product.elementBytes) / parts;
  double d = double(work.features), e = double(work.valueFeatures);
  double bytes = tensor * (d + e);
  if (options.hasGradients && product.adjoints > 0)
    bytes += tensor * (d + (again > 0 ? e : 2 * e));
  double sending = std::numeric_limits<double>::infinity();
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    if (!dividesQueries(product, axis))
      continue;
    std::vector<GroupPlace> places =
        placesOf(node, i, [&](const AxisUse &other) {
          return other.activations == axis.use.activations;
        });
    double largest = tensor / 2 * std::max(d, e) * double(node.remaining);
    sending = std::min(sending, collectiveSeconds(CollectiveKind::Permute,
                                                  places, bytes / 2, largest));
  }
  return 2 * bytes / memoryRate() + (options.overlaps ? 0 : sending);
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// Seconds of a gather of the part that axes other than `along` leave. Another
/// `kind` exchanges or hands on a rank's share of it. Includes the way back of
/// the gradient.
double Bounds::movingSeconds(CollectiveKind kind, const WholeOperand &operand,
                             const SpaceNode &node,
                             llvm::ArrayRef<SharedPlace> places,
                             llvm::ArrayRef<unsigned> along,
                             int64_t microBatches) const {
  bool sendsShare = kind != CollectiveKind::AllGather;
  double local = double(operand.bytes);
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    bool divides = llvm::any_of(operand.dims, [&](ClassId id) {
      return axis.use.isOn(id) || axis.use.heads == id;
    });
    if (divides && (sendsShare || !llvm::is_contained(along, i)))
      local /= double(axis.size);
  }
  double bytes = local / double(node.remaining);
  double largest = largestOf(local, operand.dims, microBatches);
  auto secondsOf = [&](CollectiveKind each) {
    return activationSeconds(each, places, node, operand.dims, bytes, largest);
  };
  double seconds = secondsOf(kind);
  if (options.hasGradients && operand.hasGradient)
    seconds += secondsOf(sendsShare ? kind : CollectiveKind::ReduceScatter);
  return seconds;
}

/// Adds the gathers of keys and values along data axes on positions, and the
/// reductions of their gradients. The last of several gathers makes them whole.
/// Along an axis on heads they are exchanged instead, and around a ring they
/// are handed on.
void Bounds::addWhole(const WholeOperand &operand, const SpaceNode &node,
                      int64_t microBatches, const DataLinks &links,
                      DataSums &sums) const {
  addExchange(operand, node, microBatches, links, sums);
  if (hasRing(node.candidate))
    return addHops(operand, node, microBatches, links, sums);
  if (!options.gathersKeys)
    return;
  std::vector<SharedPlace> places;
  llvm::SmallVector<unsigned> along;
  llvm::SmallVector<LinkTier> tiers;
  for (auto [axis, own] : llvm::zip_equal(links.axes, sums.axes)) {
    const AxisUse &use = node.candidate.axes[axis.position].use;
    if (use.activations != operand.index || use.heads)
      continue;
    own.seconds += double(operand.count) *
                   movingSeconds(CollectiveKind::AllGather, operand, node,
                                 axis.gathering, axis.position, microBatches);
    along.push_back(axis.position);
    tiers.push_back(axis.tier);
    for (const SharedPlace &each : axis.gathering)
      places.push_back({each.place, {}});
  }
  if (along.empty())
    return;
  double whole = movingSeconds(CollectiveKind::AllGather, operand, node, places,
                               along, microBatches);
  sums.time.all.add(double(operand.count) * whole, commonTier(tiers));
  sums.time.all.addSerial(double(operand.count) * whole,
                          countInLayers(operand.count) * whole);
}

/// The only axis whose use is so; null if there is none, or several.
const DataAxis *
Bounds::onlyAxis(const DataLinks &links, const SpaceNode &node,
                 llvm::function_ref<bool(const AxisUse &)> isSo) {
  const DataAxis *only = nullptr;
  for (const DataAxis &axis : links.axes) {
    if (!isSo(node.candidate.axes[axis.position].use))
      continue;
    if (only)
      return nullptr;
    only = &axis;
  }
  return only;
}

/// Adds collectives of all tensors like this one, each of `seconds`.
void Bounds::addMoving(const WholeOperand &tensor, double seconds,
                       const DataAxis &axis, const DataLinks &links,
                       DataSums &sums) const {
  double all = double(tensor.count) * seconds;
  sums.axes[&axis - links.axes.data()].seconds += all;
  sums.time.all.add(all, axis.tier);
  sums.time.all.addSerial(all, countInLayers(tensor.count) * seconds);
}

/// Adds the exchange of attention's tensor, and of its gradient, along an axis
/// on heads. An exchange along several such axes is not counted.
void Bounds::addExchange(const WholeOperand &tensor, const SpaceNode &node,
                         int64_t microBatches, const DataLinks &links,
                         DataSums &sums) const {
  const DataAxis *only =
      onlyAxis(links, node, [](const AxisUse &use) { return bool(use.heads); });
  if (!only ||
      node.candidate.axes[only->position].use.activations != tensor.index)
    return;
  addMoving(tensor,
            movingSeconds(CollectiveKind::AllToAll, tensor, node,
                          only->gathering, only->position, microBatches),
            *only, links, sums);
}

/// Adds the hops of keys or values around a ring, and of their gradients. An
/// attention that cannot use the ring gathers instead. A ring of several axes
/// is not counted, nor that the backward pass hands keys on again.
void Bounds::addHops(const WholeOperand &operand, const SpaceNode &node,
                     int64_t microBatches, const DataLinks &links,
                     DataSums &sums) const {
  const DataAxis *only = onlyAxis(links, node, [&](const AxisUse &use) {
    return use.activations == operand.index && !use.heads;
  });
  if (!only)
    return;
  auto moving = [&](CollectiveKind kind) {
    return movingSeconds(kind, operand, node, only->gathering, only->position,
                         microBatches);
  };
  double hops = double(node.candidate.axes[only->position].size - 1);
  addMoving(operand,
            std::min(hops * moving(CollectiveKind::Permute),
                     moving(CollectiveKind::AllGather)),
            *only, links, sums);
}
