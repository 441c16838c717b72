// How long links are busy at least.
#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Of an axis: its size, and from one rank to the next.
struct Steps {
  int64_t size = 1, stride = 1;
};

} // namespace

/// Nodes of ranks that differ on these axes.
static int64_t numNodes(llvm::ArrayRef<Steps> axes, int64_t perNode) {
  std::vector<int64_t> members = {0};
  for (const Steps &axis : axes)
    for (size_t i = 0, before = members.size(); i < before; ++i)
      for (int64_t step = 1; step < axis.size; ++step)
        members.push_back(members[i] + step * axis.stride);
  std::set<int64_t> nodes;
  for (int64_t member : members)
    nodes.insert(member / perNode);
  return int64_t(nodes.size());
}

/// Where ranks lie that differ on these axes. Steps of whole nodes lead to
/// other nodes each, so that only steps within nodes are followed: devices are
/// many.
static GroupPlace placeOf(llvm::ArrayRef<Steps> axes, int64_t perNode) {
  GroupPlace place;
  place.group = place.nodes = 1;
  std::vector<Steps> within;
  for (Steps axis : axes) {
    place.group *= axis.size;
    int64_t span = axis.size * axis.stride;
    if (perNode > 0 && axis.stride % perNode == 0) {
      place.nodes *= axis.size;
    } else if (perNode > 0 && perNode % axis.stride == 0 &&
               span % perNode == 0) {
      place.nodes *= span / perNode;
      within.push_back({perNode / axis.stride, axis.stride});
    } else {
      within.push_back(axis);
    }
  }
  if (perNode > 0)
    place.nodes *= numNodes(within, perNode);
  place.perNode = (place.group + place.nodes - 1) / place.nodes;
  return place;
}

/// The axis alone, and with others that may go with it, among them those not
/// chosen yet: one collective may go over several, and between nodes it is
/// faster for it, as more of a node's adapters take part.
std::vector<GroupPlace>
Bounds::placesOf(const SpaceNode &node, unsigned axis,
                 llvm::function_ref<bool(const AxisUse &)> goesWith) const {
  const Hardware &machine = cost.machine();
  int64_t perNode = machine.isCpu() ? 0 : machine.devicesPerNode;
  int64_t stride = node.remaining;
  std::vector<Steps> others = {{node.remaining, 1}};
  Steps own;
  for (unsigned i = unsigned(node.candidate.axes.size()); i-- > 0;) {
    const CandidateAxis &each = node.candidate.axes[i];
    if (i == axis)
      own = {each.size, stride};
    else if (each.size > 1 && goesWith(each.use))
      others.push_back({each.size, stride});
    stride *= each.size;
  }
  bool isOneNode = perNode == 0 || options.devices <= perNode;
  if (isOneNode || node.remaining == 1)
    others.erase(others.begin());
  std::vector<GroupPlace> places;
  for (unsigned chosen = 0; chosen < (1u << others.size()); ++chosen) {
    std::vector<Steps> axes = {own};
    for (unsigned i = 0; i < others.size(); ++i)
      if (chosen >> i & 1)
        axes.push_back(others[i]);
    places.push_back(placeOf(axes, perNode));
  }
  return places;
}

double Bounds::secondsPerByte(CollectiveKind kind, GroupPlace place,
                              double largest) const {
  auto key = std::tuple(kind, place.group, place.perNode, place.nodes, largest);
  auto [found, isNew] = rates.try_emplace(key, 0);
  if (!isNew)
    return found->second;
  double best = cost.collectiveSeconds(kind, largest, place) / largest;
  for (double bytes = 1 << 10; bytes < largest; bytes *= 2)
    best = std::min(best, cost.collectiveSeconds(kind, bytes, place) / bytes);
  return found->second = best;
}

/// Of collectives along the axis that together have `bytes`, each `largest` at
/// most.
double Bounds::collectiveSeconds(CollectiveKind kind,
                                 llvm::ArrayRef<GroupPlace> places,
                                 double bytes, double largest) const {
  if (bytes <= 0)
    return 0;
  double best = 0;
  for (GroupPlace place : places)
    if (double each = secondsPerByte(kind, place, largest);
        best == 0 || each < best)
      best = each;
  return bytes * best;
}

/// The largest collective of a tensor: it may share a bucket.
double Bounds::largestWith(double bytes) const {
  return options.largestBucket < 0
             ? 1e12
             : std::max({bytes, double(options.largestBucket), 1024.0});
}

/// The largest collective of activations that have these bytes in all
/// micro-batches. Keys and values may go together, or two others that are ready
/// at once.
double Bounds::largestOf(double bytes, llvm::ArrayRef<ClassId> dims,
                         int64_t microBatches) const {
  bool isCut = options.microBatchIndex &&
               llvm::is_contained(dims, *options.microBatchIndex);
  return std::max(2 * bytes / double(isCut ? microBatches : 1), 1024.0);
}

/// A tensor that is stored divided is gathered, and its gradient scattered:
/// `bytes` of it, for each micro-batch, at these places.
Bounds::TensorTime Bounds::storingTime(const TensorFacts &tensor,
                                       const SpaceNode &node,
                                       llvm::ArrayRef<GroupPlace> places,
                                       double bytes,
                                       int64_t microBatches) const {
  double largest =
      largestWith(bytes * double(node.remaining) / double(tensor.count));
  double gather =
      collectiveSeconds(CollectiveKind::AllGather, places, bytes, largest);
  TensorTime time;
  time.scattering =
      collectiveSeconds(CollectiveKind::ReduceScatter, places, bytes, largest);
  // One may be used last forward and first backward, on each stage.
  double count = double(tensor.count),
         twice = std::max(count - double(node.candidate.numStages()), 0.0);
  double again = options.regathers ? gather * twice / count : 0;
  time.gathering = double(microBatches) * (gather + again);
  return time;
}

using Subscripts = std::vector<std::vector<unsigned>>;

/// Whether one dimension is divided by all of these axes.
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

/// Reductions of a gradient along a data axis, and gathers of the parameter:
/// for each micro-batch, where there are stages.
Bounds::TensorTime Bounds::tensorTime(const TensorFacts &tensor,
                                      const SpaceNode &node,
                                      const DataAxis &axis,
                                      int64_t microBatches) const {
  const CandidateAxis &written = node.candidate.axes[axis.position];
  if (!isSummedOn(tensor, written.use))
    return {};
  double local = localBytes(tensor, node);
  double bytes = local / double(node.remaining);
  if (isStoredOn(tensor, node, axis.position))
    return storingTime(tensor, node, axis.dividing,
                       bytes * double(written.size), microBatches);
  double largest = largestWith(local / double(tensor.count));
  auto secondsOf = [&](CollectiveKind kind, llvm::ArrayRef<GroupPlace> places) {
    return collectiveSeconds(kind, places, bytes, largest);
  };
  TensorTime divided;
  divided.scattering = secondsOf(CollectiveKind::ReduceScatter, axis.dividing);
  divided.completing = secondsOf(CollectiveKind::AllGather, axis.dividing);
  TensorTime whole;
  whole.completing = secondsOf(CollectiveKind::AllReduce, axis.reducing);
  bool isDivided =
      written.use.storesState || divided.seconds() < whole.seconds();
  return isDivided ? divided : whole;
}

/// Of its gathers along several axes the last makes it whole.
Bounds::TensorTime Bounds::storedTime(const TensorFacts &tensor,
                                      const SpaceNode &node,
                                      llvm::ArrayRef<const DataAxis *> storing,
                                      int64_t microBatches) const {
  double bytes = localBytes(tensor, node) / double(node.remaining);
  std::vector<GroupPlace> places;
  for (const DataAxis *axis : storing) {
    bytes *= double(node.candidate.axes[axis->position].size);
    llvm::append_range(places, axis->dividing);
  }
  return storingTime(tensor, node, places, bytes, microBatches);
}

/// Around attention whose rows a rank has a share of: queries come and results
/// go, and for gradients queries and the result's gradient come. Where the
/// forward pass is not redone, results come again. All are copied into halves,
/// and halves are sent, along an axis that divides them at least.
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
    if (!dividesMask(product, axis))
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

/// Adds what goes along each axis, and along all that store. Along one
/// dimension these have one collective. What has another command is apart: a
/// gradient that is scattered is then completed along other axes.
void Bounds::addTensor(const TensorFacts &tensor, const SpaceNode &node,
                       int64_t microBatches, DataLinks &links) const {
  TensorTime most;
  std::vector<const DataAxis *> storing;
  llvm::SmallVector<unsigned> positions;
  for (DataAxis &axis : links.axes) {
    TensorTime time = tensorTime(tensor, node, axis, microBatches);
    axis.seconds += time.seconds();
    most.raiseTo(time);
    if (isSummedOn(tensor, node.candidate.axes[axis.position].use) &&
        isStoredOn(tensor, node, axis.position)) {
      storing.push_back(&axis);
      positions.push_back(axis.position);
    }
  }
  if (storing.size() > 1) {
    TensorTime time = storedTime(tensor, node, storing, microBatches);
    most.raiseTo(time);
    links.stored += time.seconds();
    if (storing.size() == links.storing &&
        haveOneDim(subscriptsOf(tensor, node.candidate), positions))
      links.storedTogether += time.seconds();
  }
  links.serial += most.seconds();
  if (facts.isOfLayers(tensor))
    links.ofLayers += most.seconds();
}

/// Keys and values along data axes on positions, and their gradients back.
void Bounds::addWhole(const WholeOperand &operand, const SpaceNode &node,
                      int64_t microBatches, DataLinks &links) const {
  double most = 0;
  for (DataAxis &axis : links.axes) {
    if (node.candidate.axes[axis.position].use.activations != operand.index)
      continue;
    double seconds = gatherSeconds(operand, node, axis, microBatches);
    axis.seconds += double(operand.count) * seconds;
    most = std::max(most, seconds);
  }
  links.serial += double(operand.count) * most;
  links.ofLayers += countInLayers(operand.count) * most;
}

Bounds::DataLinks Bounds::dataLinksOf(const SpaceNode &node) const {
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
    each.gathering = placesOf(node, i, [&](const AxisUse &other) {
      return other.activations == axis.use.activations;
    });
    links.storing += axis.use.storesParameters ? 1 : 0;
  }
  return links;
}

Bounds::LinkTime Bounds::dataTime(const SpaceNode &node,
                                  int64_t microBatches) const {
  DataLinks links = dataLinksOf(node);
  if (options.hasGradients)
    for (const TensorFacts &tensor : facts.tensors)
      addTensor(tensor, node, microBatches, links);
  if (options.gathersKeys)
    for (const WholeOperand &operand : facts.wholeOperands)
      addWhole(operand, node, microBatches, links);
  LinkTime time;
  time.serial = links.serial;
  time.ofLayers = links.ofLayers;
  // Tensors may have different orders: there may be a link for each set of the
  // axes that store.
  double sets = double((1u << links.storing) - 1);
  time.busiest =
      std::max(links.storedTogether, links.stored / std::max(sets, 1.0));
  for (const DataAxis &axis : links.axes)
    time.busiest = std::max(time.busiest, axis.seconds);
  return time;
}

double Bounds::gatherSeconds(const WholeOperand &operand, const SpaceNode &node,
                             const DataAxis &axis, int64_t microBatches) const {
  double local = double(operand.bytes);
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &other = node.candidate.axes[i];
    if (i != axis.position && llvm::any_of(operand.dims, [&](ClassId id) {
          return other.use.isOn(id);
        }))
      local /= double(other.size);
  }
  double bytes = local / double(node.remaining);
  double largest = largestOf(local, operand.dims, microBatches);
  double each = collectiveSeconds(CollectiveKind::AllGather, axis.gathering,
                                  bytes, largest);
  if (options.hasGradients && operand.hasGradient)
    each += collectiveSeconds(CollectiveKind::ReduceScatter, axis.gathering,
                              bytes, largest);
  return each;
}

/// The rank's part, as far as other axes divide it.
double Bounds::completionBytes(const Completion &completion,
                               const SpaceNode &node, unsigned axis) const {
  double bytes = double(completion.bytes) / double(node.remaining);
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &other = node.candidate.axes[i];
    if (i != axis && other.use.activations &&
        llvm::is_contained(completion.dims, *other.use.activations))
      bytes /= double(other.size);
  }
  return bytes;
}

/// A gradient that is a sum may stay one on the way back to parameters that the
/// axis does not divide, and be completed where least is on the way: of what
/// products read and make, this. Infinite where the axis divides all matrices,
/// because what meets them is complete.
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

/// A sum along a model axis is completed. Where the axis divides no
/// activations, all ranks need the sum. Where it does, each keeps a part, and
/// the products on the other side gather it: operands of products forward,
/// whose gradients are completed, and gradients of sums backward. A parameter's
/// gradient gathers the operand again.
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
    return collectiveSeconds(kind, axis.places, bytes,
                             isWhole ? largestWith(largest) : largest);
  };
  double scatter = secondsOf(CollectiveKind::ReduceScatter),
         gather = secondsOf(CollectiveKind::AllGather);
  int gathers = options.hasGradients && completion.hasGradient;
  gathers += options.regathers && completion.isReadAgain;
  return use.activations
             ? scatter + gathers * gather
             : std::min(secondsOf(CollectiveKind::AllReduce), scatter + gather);
}

std::vector<Bounds::ModelAxis>
Bounds::modelAxesOf(const SpaceNode &node) const {
  std::vector<ModelAxis> result;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const auto &[name, size, use] = node.candidate.axes[i];
    if (size == 1 || use.role != AxisRole::Model)
      continue;
    ModelAxis &axis = result.emplace_back();
    axis.position = i;
    axis.narrowest = narrowestBytes(use);
    // What is summed goes with what is summed, and what is gathered with what
    // is gathered along the same index.
    axis.places = placesOf(node, i, [&use = use](const AxisUse &other) {
      return other.role == AxisRole::Model ||
             (!other.activations && !other.storesParameters &&
              other.role != AxisRole::Stage) ||
             (use.activations && other.activations == use.activations);
    });
  }
  return result;
}

/// One collective may complete a sum along several axes.
Bounds::LinkTime Bounds::modelTime(const SpaceNode &node,
                                   int64_t microBatches) const {
  std::vector<ModelAxis> axes = modelAxesOf(node);
  std::vector<double> busy(axes.size(), 0);
  LinkTime time;
  for (const Completion &completion : facts.completions) {
    double most = 0;
    for (auto [axis, seconds] : llvm::zip_equal(axes, busy)) {
      double each = completionSeconds(completion, node, axis, microBatches);
      seconds += double(completion.count) * each;
      most = std::max(most, each);
    }
    time.serial += double(completion.count) * most;
    time.ofLayers += countInLayers(completion.count) * most;
  }
  for (double seconds : busy)
    time.busiest = std::max(time.busiest, seconds);
  return time;
}
