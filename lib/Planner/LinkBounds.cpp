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

/// A tensor that is stored divided is gathered, and its gradient scattered:
/// `bytes` of it, for each micro-batch, at these places.
double Bounds::storingSeconds(const TensorFacts &tensor, const SpaceNode &node,
                              llvm::ArrayRef<GroupPlace> places, double bytes,
                              int64_t microBatches) const {
  double largest =
      largestWith(bytes * double(node.remaining) / double(tensor.count));
  double gather =
      collectiveSeconds(CollectiveKind::AllGather, places, bytes, largest);
  double scatter =
      collectiveSeconds(CollectiveKind::ReduceScatter, places, bytes, largest);
  // One may be used last forward and first backward, on each stage.
  double count = double(tensor.count),
         twice = std::max(count - double(node.candidate.numStages()), 0.0);
  double again = options.regathers ? gather * twice / count : 0;
  return scatter + double(microBatches) * (gather + again);
}

using Subscripts = std::vector<std::vector<unsigned>>;

/// Whether one dimension is divided by all of these axes.
static bool haveOneDim(const Subscripts &dims, llvm::ArrayRef<unsigned> axes) {
  return llvm::any_of(dims, [&](const std::vector<unsigned> &onDim) {
    return llvm::all_of(
        axes, [&](unsigned axis) { return llvm::is_contained(onDim, axis); });
  });
}

/// Reductions of gradients along a data axis, and gathers of parameters: for
/// each micro-batch, where there are stages.
double Bounds::dataSeconds(const SpaceNode &node, unsigned axis,
                           int64_t microBatches) const {
  const AxisUse &use = node.candidate.axes[axis].use;
  if (!options.hasGradients || !use.activations)
    return 0;
  std::vector<GroupPlace> reducing = placesOf(
      node, axis, [](const AxisUse &other) { return bool(other.activations); });
  std::vector<GroupPlace> dividing =
      placesOf(node, axis, [](const AxisUse &other) {
        return other.storesParameters || other.storesState;
      });
  double seconds = 0, size = double(node.candidate.axes[axis].size);
  for (const TensorFacts &tensor : facts.tensors) {
    if (!isSummedOn(tensor, use))
      continue;
    double local = localBytes(tensor, node);
    double bytes = local / double(node.remaining);
    if (haveOneDim(subscriptsOf(tensor, node.candidate), axis)) {
      seconds +=
          storingSeconds(tensor, node, dividing, bytes * size, microBatches);
      continue;
    }
    double largest = largestWith(local / double(tensor.count));
    auto secondsOf = [&](CollectiveKind kind,
                         llvm::ArrayRef<GroupPlace> places) {
      return collectiveSeconds(kind, places, bytes, largest);
    };
    double whole = secondsOf(CollectiveKind::AllReduce, reducing);
    double divided = secondsOf(CollectiveKind::AllGather, dividing) +
                     secondsOf(CollectiveKind::ReduceScatter, dividing);
    seconds += use.storesState ? divided : std::min(whole, divided);
  }
  return seconds;
}

/// Where several axes store parameters, the last of a tensor's gathers makes it
/// whole. Along one dimension that is one collective for all axes. Else tensors
/// may have different orders: there may be a link for each set of axes.
double Bounds::storedSeconds(const SpaceNode &node,
                             int64_t microBatches) const {
  llvm::SmallVector<unsigned> storing;
  double size = 1;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i)
    if (node.candidate.axes[i].use.storesParameters) {
      storing.push_back(i);
      size *= double(node.candidate.axes[i].size);
    }
  if (!options.hasGradients || storing.size() < 2)
    return 0;
  std::vector<GroupPlace> places;
  for (unsigned axis : storing)
    llvm::append_range(places, placesOf(node, axis, [](const AxisUse &other) {
                         return other.storesParameters || other.storesState;
                       }));
  double together = 0, all = 0;
  for (const TensorFacts &tensor : facts.tensors) {
    Subscripts dims = subscriptsOf(tensor, node.candidate);
    auto isStored = [&](unsigned axis) {
      return isSummedOn(tensor, node.candidate.axes[axis].use) &&
             haveOneDim(dims, axis);
    };
    if (!llvm::all_of(storing, isStored))
      continue;
    double bytes = localBytes(tensor, node) * size / double(node.remaining);
    double seconds = storingSeconds(tensor, node, places, bytes, microBatches);
    all += seconds;
    if (haveOneDim(dims, storing))
      together += seconds;
  }
  double links = double((1u << storing.size()) - 1);
  return std::max(together, all / links);
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

/// Keys and values along a data axis on positions, and their gradients back.
double Bounds::gatherSeconds(const SpaceNode &node, unsigned axis) const {
  const AxisUse &use = node.candidate.axes[axis].use;
  if (!options.gathersKeys || use.role != AxisRole::Data || !use.activations)
    return 0;
  std::vector<GroupPlace> places =
      placesOf(node, axis, [&](const AxisUse &other) {
        return other.activations == use.activations;
      });
  double seconds = 0;
  for (const WholeOperand &operand : facts.wholeOperands) {
    if (operand.index != *use.activations)
      continue;
    double local = double(operand.bytes);
    for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
      const CandidateAxis &other = node.candidate.axes[i];
      if (i != axis && llvm::any_of(operand.dims, [&](ClassId id) {
            return other.use.isOn(id);
          }))
        local /= double(other.size);
    }
    double bytes = local / double(node.remaining);
    // Keys and values may go together.
    double largest = largestWith(2 * local);
    double each =
        collectiveSeconds(CollectiveKind::AllGather, places, bytes, largest);
    if (options.hasGradients && operand.hasGradient)
      each += collectiveSeconds(CollectiveKind::ReduceScatter, places, bytes,
                                largest);
    seconds += double(operand.count) * each;
  }
  return seconds;
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

/// Completions of sums along a model axis, forward and backward. Where the axis
/// divides no activations, all ranks need the sum. Where it does, each keeps a
/// part, and the products on the other side gather it: operands of products
/// forward, whose gradients are completed, and gradients of sums backward.
double Bounds::modelSeconds(const SpaceNode &node, unsigned axis) const {
  const AxisUse &use = node.candidate.axes[axis].use;
  // What is summed goes with what is summed, and what is gathered with what is
  // gathered along the same index.
  std::vector<GroupPlace> places =
      placesOf(node, axis, [&](const AxisUse &other) {
        return other.role == AxisRole::Model ||
               (!other.activations && !other.storesParameters &&
                other.role != AxisRole::Stage) ||
               (use.activations && other.activations == use.activations);
      });
  double seconds = 0, narrowest = narrowestBytes(use);
  for (const Completion &completion : facts.completions) {
    bool sums = llvm::any_of(completion.sums, [&](ClassId id) {
      return llvm::is_contained(use.parameters, id);
    });
    if (!sums || (completion.isBackward && !options.hasGradients))
      continue;
    double bytes = completionBytes(completion, node, axis);
    if (completion.isBackward)
      bytes = std::min(bytes, narrowest);
    // Two that are ready at once may go together.
    double largest = largestWith(2 * bytes * double(node.remaining));
    auto secondsOf = [&](CollectiveKind kind) {
      return collectiveSeconds(kind, places, bytes, largest);
    };
    double scatter = secondsOf(CollectiveKind::ReduceScatter),
           gather = secondsOf(CollectiveKind::AllGather);
    bool isGathered = options.hasGradients && completion.hasGradient;
    double each =
        use.activations
            ? scatter + (isGathered ? gather : 0)
            : std::min(secondsOf(CollectiveKind::AllReduce), scatter + gather);
    seconds += double(completion.count) * each;
  }
  return seconds;
}
