// The places of collectives along axes, and the least time that they take.
#include "DecidingSizes.h"

#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// An axis as its size, and the distance from one rank to the next.
struct Steps {
  int64_t size = 1, stride = 1;
};

} // namespace

/// The number of nodes of ranks that differ on these axes.
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

/// The place of ranks that differ on these axes. Steps of whole nodes always
/// lead to other nodes, so only steps within nodes are followed, because
/// devices are many.
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

/// The axes that the devices without an axis may become, of which a collective
/// may run over one; first, none. More ranks of a node are faster, so all of
/// these devices stand for parts of them. Tables of places may say otherwise:
/// then all parts are there. Steps of one node stand for those of several.
static std::vector<Steps> stepsToChoose(const Hardware &machine,
                                        int64_t devices, int64_t remaining) {
  std::vector<Steps> steps = {{1, 1}};
  if (machine.isCpu() || devices <= machine.devicesPerNode || remaining == 1)
    return steps;
  if (llvm::all_of(machine.collectives, [](const CollectiveRates &rates) {
        return rates.places.empty();
      })) {
    steps.push_back({remaining, 1});
    return steps;
  }
  int64_t node = machine.devicesPerNode;
  for (int64_t stride = 1; stride <= remaining / 2; ++stride) {
    if (remaining % stride != 0 || (stride > node && stride % node == 0))
      continue;
    for (int64_t size = 2; size <= remaining / stride; ++size)
      if (remaining / stride % size == 0)
        steps.push_back({size, stride});
  }
  return steps;
}

/// The steps of each of the node's axes.
static std::vector<Steps> stepsOf(const SpaceNode &node) {
  std::vector<Steps> steps(node.candidate.axes.size());
  int64_t stride = node.remaining;
  for (size_t i = steps.size(); i-- > 0;) {
    steps[i] = {node.candidate.axes[i].size, stride};
    stride *= steps[i].size;
  }
  return steps;
}

static int64_t devicesPerNode(const Hardware &machine) {
  return machine.isCpu() ? 0 : machine.devicesPerNode;
}

/// The places of the axis alone and together with other axes, including axes
/// not chosen yet. One collective may run over several axes. Between nodes it
/// is then faster, because more of a node's adapters take part.
std::vector<SharedPlace>
Bounds::sharedPlaces(const SpaceNode &node, unsigned axis,
                     llvm::function_ref<bool(const AxisUse &)> goesWith) const {
  const Hardware &machine = cost.machine();
  std::vector<Steps> steps = stepsOf(node);
  std::vector<unsigned> others;
  for (unsigned i = unsigned(steps.size()); i-- > 0;)
    if (i != axis && steps[i].size > 1 && goesWith(node.candidate.axes[i].use))
      others.push_back(i);
  std::vector<SharedPlace> places;
  for (const Steps &toChoose :
       stepsToChoose(machine, options.devices, node.remaining))
    for (unsigned chosen = 0; chosen < (1u << others.size()); ++chosen) {
      std::vector<Steps> axes = {steps[axis], toChoose};
      SharedPlace &shared = places.emplace_back();
      for (unsigned i = 0; i < others.size(); ++i) {
        if (!(chosen >> i & 1))
          continue;
        axes.push_back(steps[others[i]]);
        shared.others.push_back(others[i]);
      }
      shared.place = placeOf(axes, devicesPerNode(machine));
    }
  return places;
}

/// Finds the places of collectives along each set of the axes that store
/// parameters.
void Bounds::addStoringPlaces(const SpaceNode &node, DataLinks &links) const {
  if (links.storing < 2)
    return;
  const Hardware &machine = cost.machine();
  std::vector<Steps> steps = stepsOf(node),
                     mayJoin = stepsToChoose(machine, options.devices,
                                             node.remaining);
  links.storingPlaces.resize(1u << links.axes.size());
  for (unsigned set = 1; set < links.storingPlaces.size(); ++set) {
    StoringPlaces &at = links.storingPlaces[set];
    std::vector<Steps> along = {Steps()};
    for (auto [i, axis] : llvm::enumerate(links.axes))
      if (set >> i & 1)
        along.push_back(steps[axis.position]);
    for (const Steps &toChoose : mayJoin) {
      along.front() = toChoose;
      at.places.push_back(placeOf(along, devicesPerNode(machine)));
    }
    at.tier = tierOf(at.places);
  }
}

std::vector<GroupPlace>
Bounds::placesOf(const SpaceNode &node, unsigned axis,
                 llvm::function_ref<bool(const AxisUse &)> goesWith) const {
  std::vector<GroupPlace> places;
  for (const SharedPlace &each : sharedPlaces(node, axis, goesWith))
    places.push_back(each.place);
  return places;
}

LinkTier Bounds::tierOf(llvm::ArrayRef<GroupPlace> places) {
  auto crosses = [](const GroupPlace &place) { return place.nodes > 1; };
  return llvm::all_of(places, crosses)    ? LinkTier::Between
         : llvm::none_of(places, crosses) ? LinkTier::Inside
                                          : LinkTier::Unknown;
}

std::vector<double> tpsp::planner::decidingSizes(const Hardware &machine) {
  std::vector<double> sizes;
  for (double bytes = 1 << 10; bytes < 1e12; bytes *= 2)
    sizes.push_back(bytes);
  auto add = [&](const std::map<int64_t, SizeTable> &tables) {
    for (const auto &[number, table] : tables)
      for (const SizePoint &point : table)
        sizes.push_back(point.bytes);
  };
  for (const CollectiveRates &rates : machine.collectives) {
    add(rates.measured);
    for (const auto &[perNode, tables] : rates.places)
      add(tables);
  }
  llvm::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

double Bounds::secondsPerByte(CollectiveKind kind, GroupPlace place,
                              double largest) const {
  auto key = std::tuple(kind, place.group, place.perNode, place.nodes, largest);
  auto [found, isNew] = rates.try_emplace(key, 0);
  if (!isNew)
    return found->second;
  // The launch counts as in the largest collective: with it, the best size may
  // lie between two measured ones.
  double launch = cost.collectiveSeconds(kind, 0, place);
  auto sending = [&](double bytes) {
    return (cost.collectiveSeconds(kind, bytes, place) - launch) / bytes;
  };
  double best = sending(largest);
  for (double bytes : sizes) {
    if (bytes >= largest)
      break;
    best = std::min(best, sending(bytes));
  }
  return found->second = best + launch / largest;
}

/// Seconds of collectives along the axis that have `bytes` together, and at
/// most `largest` each.
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

/// Seconds of a collective of activations with these dimensions, of which the
/// other axes leave `bytes`. If it also runs along some of the other axes, its
/// bytes are those before their division.
double Bounds::activationSeconds(CollectiveKind kind,
                                 llvm::ArrayRef<SharedPlace> places,
                                 const SpaceNode &node,
                                 llvm::ArrayRef<ClassId> dims, double bytes,
                                 double largest) const {
  double best = std::numeric_limits<double>::infinity();
  for (const SharedPlace &each : places) {
    double times = 1;
    for (unsigned i : each.others) {
      const CandidateAxis &other = node.candidate.axes[i];
      if (other.use.activations &&
          llvm::is_contained(dims, *other.use.activations))
        times *= double(other.size);
    }
    best = std::min(best, collectiveSeconds(kind, each.place, bytes * times,
                                            largest * times));
  }
  return best;
}

/// The largest collective of a tensor of these bytes, which may share a bucket.
double Bounds::largestWith(double bytes) const {
  return options.largestBucket < 0
             ? 1e12
             : std::max({bytes, double(options.largestBucket), 1024.0});
}

/// The largest collective of activations that have these bytes in all
/// micro-batches. Two tensors that are ready at once, such as keys and values,
/// may share a collective.
double Bounds::largestOf(double bytes, llvm::ArrayRef<ClassId> dims,
                         int64_t microBatches) const {
  bool isCut = options.microBatchIndex &&
               llvm::is_contained(dims, *options.microBatchIndex);
  return std::max(2 * bytes / double(isCut ? microBatches : 1), 1024.0);
}
