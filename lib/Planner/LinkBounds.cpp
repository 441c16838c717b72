// The least time for which links are busy.
#include "Choices.h"

#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

using namespace tpsp;
using namespace tpsp::planner;

/// Seconds for a tensor that is stored divided: `bytes` of it are gathered for
/// one micro-batch, and its gradient is scattered, at these places.
TensorTime Bounds::storingTime(const TensorFacts &tensor, const SpaceNode &node,
                               llvm::ArrayRef<GroupPlace> places,
                               double bytes) const {
  double largest =
      largestWith(bytes * double(node.remaining) / double(tensor.count));
  double gather =
      collectiveSeconds(CollectiveKind::AllGather, places, bytes, largest);
  TensorTime time;
  time.scattering =
      collectiveSeconds(CollectiveKind::ReduceScatter, places, bytes, largest);
  // On each stage, one tensor may be used last in the forward pass and first in
  // the backward pass; it is not gathered twice.
  double count = double(tensor.count),
         twice = std::max(count - double(node.candidate.numStages()), 0.0);
  double again = options.regathers ? gather * twice / count : 0;
  time.gathering = options.gathersOnce ? gather : gather + again;
  return time;
}

/// Whether all of these axes divide one dimension.
static bool haveOneDim(const Subscripts &dims, llvm::ArrayRef<unsigned> axes) {
  return llvm::any_of(dims, [&](const std::vector<unsigned> &onDim) {
    return llvm::all_of(
        axes, [&](unsigned axis) { return llvm::is_contained(onDim, axis); });
  });
}

bool Bounds::isStoredOn(const TensorFacts &tensor, const SpaceNode &node,
                        unsigned axis) const {
  return haveOneDim(subscriptsOf(tensor, node.candidate), axis);
}

/// Seconds for reductions of a gradient along a data axis, and for gathers of
/// the parameter for one micro-batch. Several if the compiler may choose.
TensorTimes Bounds::tensorTimes(const TensorFacts &tensor,
                                const SpaceNode &node,
                                const DataAxis &axis) const {
  const CandidateAxis &written = node.candidate.axes[axis.position];
  if (!isSummedOn(tensor, written.use))
    return {TensorTime()};
  double local = localBytes(tensor, node);
  double bytes = local / double(node.remaining);
  if (isStoredOn(tensor, node, axis.position))
    return {
        storingTime(tensor, node, axis.dividing, bytes * double(written.size))};
  double largest = largestWith(local / double(tensor.count));
  auto secondsOf = [&](CollectiveKind kind, llvm::ArrayRef<GroupPlace> places) {
    return collectiveSeconds(kind, places, bytes, largest);
  };
  TensorTime divided;
  divided.scattering = secondsOf(CollectiveKind::ReduceScatter, axis.dividing);
  divided.completing = secondsOf(CollectiveKind::AllGather, axis.dividing);
  if (written.use.storesState)
    return {divided};
  TensorTime whole;
  whole.completing = secondsOf(CollectiveKind::AllReduce, axis.reducing);
  return {divided, whole};
}

/// The least time of two, in each component.
static TensorTime leastOf(const TensorTime &a, const TensorTime &b) {
  return {std::min(a.gathering, b.gathering),
          std::min(a.scattering, b.scattering),
          std::min(a.completing, b.completing)};
}

/// Seconds for a tensor that these axes store, given by a set of
/// DataLinks::axes, and one micro-batch. It is gathered in steps: each step
/// along some of the axes, until the last step makes it whole. The search for
/// the least time goes from the last step to the first.
StoredTime Bounds::storedTime(const TensorFacts &tensor, const SpaceNode &node,
                              unsigned axes, const DataLinks &links) const {
  if (axes == 0)
    return {};
  double bytes = localBytes(tensor, node) / double(node.remaining);
  for (auto [i, axis] : llvm::enumerate(links.axes))
    if (axes >> i & 1)
      bytes *= double(node.candidate.axes[axis.position].size);
  std::optional<StoredTime> least;
  for (unsigned last = axes; last != 0; last = (last - 1) & axes) {
    const StoringPlaces &at = links.storingPlaces[last];
    TensorTime step = storingTime(tensor, node, at.places, bytes);
    StoredTime time = storedTime(tensor, node, axes & ~last, links);
    time.all += step;
    if (at.tier == LinkTier::Inside)
      time.inside += step;
    if (at.tier == LinkTier::Between)
      time.between += step;
    least = !least ? time
                   : StoredTime{leastOf(least->all, time.all),
                                leastOf(least->inside, time.inside),
                                leastOf(least->between, time.between)};
  }
  return *least;
}

/// The times of a tensor's commands for one micro-batch.
TensorLinks Bounds::tensorLinks(const TensorFacts &tensor,
                                const SpaceNode &node,
                                const DataLinks &links) const {
  TensorLinks result;
  unsigned storing = 0;
  llvm::SmallVector<unsigned> positions;
  for (auto [i, axis] : llvm::enumerate(links.axes)) {
    result.times.push_back(tensorTimes(tensor, node, axis));
    if (isSummedOn(tensor, node.candidate.axes[axis.position].use) &&
        isStoredOn(tensor, node, axis.position)) {
      storing |= 1u << i;
      positions.push_back(axis.position);
    }
  }
  if (positions.size() < 2)
    return result;
  result.stored = storedTime(tensor, node, storing, links);
  result.isStoredTogether =
      positions.size() == links.storing &&
      haveOneDim(subscriptsOf(tensor, node.candidate), positions);
  return result;
}

/// Adds the seconds along each axis, and along all axes that store the tensor.
/// Axes on one dimension share one collective. Other commands are counted
/// separately: a gradient is first scattered and then completed along other
/// axes. The compiler's choices along the axes are those of the least time.
void Bounds::addTensor(const TensorFacts &tensor, const TensorLinks &given,
                       int64_t microBatches, DataSums &sums) const {
  double gathers = options.gathersOnce ? 1 : double(microBatches);
  auto inAll = [&](TensorTime time) {
    time.gathering *= gathers;
    return time;
  };
  llvm::SmallVector<size_t> counts;
  for (auto [axis, times] : llvm::zip_equal(sums.axes, given.times)) {
    counts.push_back(times.size());
    TensorTime least = inAll(times.front());
    for (const TensorTime &each : times)
      if (inAll(each).seconds() < least.seconds())
        least = inAll(each);
    axis.seconds += least.seconds();
    axis.atEnd += least.atEnd();
  }
  StoredTime stored = {inAll(given.stored.all), inAll(given.stored.inside),
                       inAll(given.stored.between)};
  sums.stored += stored.all.seconds();
  sums.storedTogether += given.isStoredTogether ? stored.all.seconds() : 0;
  std::optional<TensorTime> least;
  TimeByTier leastOn;
  Choices choices(counts);
  do {
    TensorTime most = stored.all;
    TimeByTier mostOn;
    mostOn.of(LinkTier::Inside) = stored.inside;
    mostOn.of(LinkTier::Between) = stored.between;
    for (auto [i, axis] : llvm::enumerate(sums.axes))
      mostOn.of(axis.tier).raiseTo(inAll(given.times[i][choices[i]]));
    for (LinkTier tier : linkTiers) {
      const TensorTime &time = mostOn.of(tier);
      most.raiseTo(time);
      if (!least || time.seconds() < leastOn.of(tier).seconds())
        leastOn.of(tier) = time;
    }
    if (!least || most.seconds() < least->seconds())
      least = most;
  } while (choices.next());
  bool isOfLayers = facts.isOfLayers(tensor);
  for (LinkTier tier : linkTiers) {
    sums.time.all.add(leastOn.of(tier).seconds(), tier);
    sums.time.atEnd.add(leastOn.of(tier).atEnd(), tier);
  }
  double seconds = least->seconds(), atEnd = least->atEnd();
  sums.time.all.addSerial(seconds, isOfLayers ? seconds : 0);
  sums.time.atEnd.addSerial(atEnd, isOfLayers ? atEnd : 0);
}

DataLinks Bounds::dataLinksOf(const SpaceNode &node) const {
  DataLinks links;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    if (axis.size == 1 || axis.use.role != AxisRole::Data ||
        !axis.use.activations)
      continue;
    DataAxis &each = links.axes.emplace_back();
    each.position = i;
    each.reducing = placesOf(
        node, i, [](const AxisUse &other) { return bool(other.activations); });
    each.dividing = placesOf(node, i, [](const AxisUse &other) {
      return other.storesParameters || other.storesState;
    });
    each.gathering = sharedPlaces(node, i, [&](const AxisUse &other) {
      return other.activations == axis.use.activations;
    });
    std::vector<GroupPlace> places = each.reducing;
    llvm::append_range(places, each.dividing);
    for (const SharedPlace &shared : each.gathering)
      places.push_back(shared.place);
    each.tier = tierOf(places);
    links.storing += axis.use.storesParameters ? 1 : 0;
  }
  addStoringPlaces(node, links);
  if (options.hasGradients)
    for (const TensorFacts &tensor : facts.tensors)
      links.tensors.push_back(tensorLinks(tensor, node, links));
  return links;
}

DataTime Bounds::dataTime(const SpaceNode &node, const DataLinks &links,
                          int64_t microBatches) const {
  DataSums sums;
  for (const DataAxis &axis : links.axes)
    sums.axes.push_back({axis.tier});
  for (auto [tensor, times] : llvm::zip(facts.tensors, links.tensors))
    addTensor(tensor, times, microBatches, sums);
  for (const WholeOperand &operand : facts.wholeOperands)
    addWhole(operand, node, microBatches, links, sums);
  for (const WholeOperand &tensor : facts.exchanged)
    addExchange(tensor, node, microBatches, links, sums);
  DataTime time = sums.time;
  // Tensors may have different orders of axes, so each set of the storing axes
  // may have links of its own.
  double sets = double((1u << links.storing) - 1);
  time.all.ofAxis =
      std::max(sums.storedTogether, sums.stored / std::max(sets, 1.0));
  for (const AxisSums &axis : sums.axes) {
    time.all.ofAxis = std::max(time.all.ofAxis, axis.seconds);
    time.atEnd.ofAxis = std::max(time.atEnd.ofAxis, axis.atEnd);
  }
  return time;
}

/// Whether the axis divides parameters along an index of the tensor. If so, the
/// tensor may be divided along it, too.
static bool mayFollowParameters(const Completion &completion,
                                const AxisUse &use) {
  return llvm::any_of(completion.dims, [&](ClassId id) {
    return llvm::is_contained(use.parameters, id);
  });
}

/// The bytes of a rank's part if only the other axes divide it.
double Bounds::completionBytes(const Completion &completion,
                               const SpaceNode &node, unsigned axis) const {
  double bytes = double(completion.bytes) / double(node.remaining);
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &other = node.candidate.axes[i];
    bool divides = other.use.activations &&
                   llvm::is_contained(completion.dims, *other.use.activations);
    if (i != axis && (divides || mayFollowParameters(completion, other.use)))
      bytes /= double(other.size);
  }
  return bytes;
}

/// The least bytes at which a pending gradient may be completed. A gradient may
/// stay a pending sum on its way back to parameters that the axis does not
/// divide. It is completed at the smallest tensor that products read or make on
/// the way. Infinite if the axis divides all matrices, because tensors that
/// meet them are complete.
double Bounds::narrowestBytes(const AxisUse &use) const {
  double least = std::numeric_limits<double>::infinity();
  if (llvm::all_of(facts.tensors, [&](const TensorFacts &tensor) {
        return !tensor.isTrained || tensor.dims.size() < 2 ||
               llvm::any_of(tensor.dims, [&](ClassId id) {
                 return llvm::is_contained(use.parameters, id);
               });
      }))
    return least;
  auto extent = [](const std::vector<ProductFacts::Dim> &dims) {
    double result = 1;
    for (const ProductFacts::Dim &dim : dims)
      result *= double(dim.extent);
    return result;
  };
  for (const ProductFacts &product : facts.products) {
    if (product.isAttention)
      continue;
    double m = extent(product.m), n = extent(product.n), k = extent(product.k);
    least = std::min(least, std::min({m * k, n * k, m * n}) *
                                extent(product.batch) *
                                double(product.elementBytes));
  }
  return least / double(options.devices);
}

/// Seconds to complete a sum along a model axis. If the axis divides no
/// activations, all ranks need the sum. If it does, each rank keeps a part, and
/// products on the other side gather it. Forward, these are operands of
/// products, whose gradients are completed; backward, gradients of sums. A
/// parameter's gradient gathers the operand again. If the parameters are
/// divided along an index of the operand, an exchange is enough, which is not
/// counted.
double Bounds::completionSeconds(const Completion &completion,
                                 const SpaceNode &node, const ModelAxis &axis,
                                 int64_t microBatches) const {
  const AxisUse &use = node.candidate.axes[axis.position].use;
  bool sums = llvm::any_of(completion.sums, [&](ClassId id) {
    return llvm::is_contained(use.parameters, id);
  });
  if (!sums || (completion.isBackward && !options.hasGradients))
    return 0;
  double bytes = completionBytes(completion, node, axis.position);
  if (completion.isBackward)
    bytes = std::min(bytes, axis.narrowest);
  double largest =
      largestOf(bytes * double(node.remaining), completion.dims, microBatches);
  auto secondsOf = [&](CollectiveKind kind) {
    // All-reduces share buckets.
    bool isWhole = kind == CollectiveKind::AllReduce;
    return activationSeconds(kind, axis.places, node, completion.dims, bytes,
                             isWhole ? largestWith(largest) : largest);
  };
  double scatter = secondsOf(CollectiveKind::ReduceScatter),
         gather = secondsOf(CollectiveKind::AllGather);
  int gathers = options.hasGradients && completion.hasGradient;
  gathers += options.regathers && completion.isReadAgain;
  if (mayFollowParameters(completion, use))
    gathers = 0;
  return use.activations
             ? scatter + gathers * gather
             : std::min(secondsOf(CollectiveKind::AllReduce), scatter + gather);
}

std::vector<ModelAxis> Bounds::modelAxesOf(const SpaceNode &node) const {
  std::vector<ModelAxis> result;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const auto &[name, size, use] = node.candidate.axes[i];
    if (size == 1 || use.role != AxisRole::Model)
      continue;
    ModelAxis &axis = result.emplace_back();
    axis.position = i;
    axis.narrowest = narrowestBytes(use);
    // Sums may share a collective with sums, and gathers with gathers along the
    // same index.
    axis.places = sharedPlaces(node, i, [&use = use](const AxisUse &other) {
      return other.role == AxisRole::Model ||
             (!other.activations && !other.storesParameters &&
              other.role != AxisRole::Stage) ||
             (use.activations && other.activations == use.activations);
    });
    axis.tier = tierOf(llvm::map_to_vector(
        axis.places, [](const SharedPlace &shared) { return shared.place; }));
  }
  return result;
}

/// Seconds of model axes. One collective may complete a sum along several axes.
LinkTime Bounds::modelTime(const SpaceNode &node, int64_t microBatches) const {
  std::vector<ModelAxis> axes = modelAxesOf(node);
  std::vector<double> busy(axes.size(), 0);
  LinkTime time;
  for (const Completion &completion : facts.completions) {
    double most = 0;
    std::map<LinkTier, double> mostOn;
    for (auto [axis, seconds] : llvm::zip_equal(axes, busy)) {
      double each = completionSeconds(completion, node, axis, microBatches);
      seconds += double(completion.count) * each;
      most = std::max(most, each);
      mostOn[axis.tier] = std::max(mostOn[axis.tier], each);
    }
    for (auto [tier, seconds] : mostOn)
      time.add(double(completion.count) * seconds, tier);
    time.addSerial(double(completion.count) * most,
                   countInLayers(completion.count) * most);
  }
  for (double seconds : busy)
    time.ofAxis = std::max(time.ofAxis, seconds);
  return time;
}

/// Seconds of the busiest link. On a GPU's links the collectives of all axes
/// add up. If their tier is unknown, the busier tier has at least half of all.
double Bounds::busiestLink(const LinkTime &time) const {
  return cost.machine().isCpu()
             ? time.ofAxis
             : std::max({time.inside, time.between, time.serial / 2});
}

/// The least share of the busiest link in any part of this time.
double Bounds::busiestShare(const LinkTime &time) const {
  double least = cost.machine().isCpu() ? 0 : 0.5;
  return time.serial > 0 && busiestLink(time) >= time.serial ? 1 : least;
}
