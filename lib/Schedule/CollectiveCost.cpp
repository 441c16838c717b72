// The seconds of a collective alone, by its latency and its bytes on the
// slowest tier of links (CostModel::collectiveSeconds).
#include "SizeTable.h"
#include "tpsp/Schedule/CrossingTime.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;

double tpsp::busFactor(CollectiveKind kind, int64_t group) {
  double others = double(group - 1) / double(group);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * others;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return others;
  case CollectiveKind::Permute:
  case CollectiveKind::Transfer:
    return 1;
  case CollectiveKind::Slice:
    return 0;
  }
  return 0;
}

/// The number of consecutive steps of an algorithm over a group in one node.
static double stepsOf(const CollectiveRates &rates, int64_t group) {
  bool isAllReduce = rates.kind == CollectiveKind::AllReduce;
  if (rates.algorithm == CollectiveAlgorithm::InNetwork ||
      rates.kind == CollectiveKind::Permute)
    return 1;
  return double(group - 1) * (isAllReduce ? 2 : 1);
}

static double latencyOf(const CollectiveRates &rates, int64_t group) {
  return rates.latency + rates.hop * stepsOf(rates, group);
}

double tpsp::crossingLatency(const CollectiveRates &rates, GroupPlace place) {
  double across = stepsOf(rates, place.nodes);
  double inside = stepsOf(rates, place.group) - across;
  if (rates.algorithm == CollectiveAlgorithm::Tree) {
    across = 2 * std::ceil(std::log2(double(place.nodes)));
    inside = 2 * double(place.perNode - 1);
  }
  return rates.latency + rates.hop * across + rates.insideHop * inside;
}

static double measuredSeconds(const CollectiveRates &rates, int64_t measured,
                              double bytes) {
  return secondsAt(rates.measured.at(measured), bytes,
                   latencyOf(rates, measured));
}

/// Seconds for a group that was not measured. It sends at the rate of the
/// nearest measured group, scaled by the bus factors, and has the steps of its
/// own size.
static double secondsLike(const CollectiveRates &rates, double bytes,
                          int64_t measured, int64_t group) {
  double start = latencyOf(rates, measured);
  double sending =
      std::max(0.0, measuredSeconds(rates, measured, bytes) - start);
  return latencyOf(rates, group) + sending * busFactor(rates.kind, group) /
                                       busFactor(rates.kind, measured);
}

namespace {

/// The measured numbers next to a number, and the share of `above` in it. They
/// are equal if the number was measured, or lies outside.
struct Neighbours {
  int64_t below = 0, above = 0;
  double share = 0;
};

} // namespace

static Neighbours neighboursOf(const std::map<int64_t, SizeTable> &measured,
                               int64_t number) {
  auto above = measured.lower_bound(number);
  if (above == measured.end())
    --above;
  Neighbours result{above->first, above->first};
  if (above->first <= number || above == measured.begin())
    return result;
  result.below = std::prev(above)->first;
  result.share = std::log(double(number) / double(result.below)) /
                 std::log(double(result.above) / double(result.below));
  return result;
}

/// The value for a number from `like`, which gives the value by a measured
/// number.
static double interpolated(const Neighbours &next,
                           llvm::function_ref<double(int64_t)> like) {
  if (next.below == next.above)
    return like(next.below);
  return (1 - next.share) * like(next.below) + next.share * like(next.above);
}

double tpsp::seconds(const CollectiveRates &rates, double bytes,
                     int64_t group) {
  if (rates.measured.empty())
    return latencyOf(rates, group) +
           bytes * busFactor(rates.kind, group) / rates.busBandwidth;
  return interpolated(
      neighboursOf(rates.measured, group), [&](int64_t measured) {
        return measured == group ? measuredSeconds(rates, group, bytes)
                                 : secondsLike(rates, bytes, measured, group);
      });
}

GroupPlace CostModel::placeOf(llvm::ArrayRef<AxisId> axes) const {
  GroupPlace place;
  place.group = mesh.groupSize(axes);
  place.perNode = place.group;
  if (hardware.isCpu() || mesh.numRanks() <= hardware.devicesPerNode)
    return place;
  // All groups over the same axes are shifts of rank 0's group. If nodes do not
  // hold whole numbers of groups, rank 0's group stands for all.
  llvm::SmallVector<int64_t, 16> members = {0};
  int64_t stride = 1;
  for (AxisId axis = mesh.numAxes(); axis-- > 0;) {
    if (llvm::is_contained(axes, axis)) {
      size_t before = members.size();
      for (int64_t i = 1; i < mesh.size(axis); ++i)
        for (size_t j = 0; j < before; ++j)
          members.push_back(members[j] + i * stride);
    }
    stride *= mesh.size(axis);
  }
  llvm::SmallVector<int64_t, 4> nodes;
  for (int64_t member : members)
    nodes.push_back(member / hardware.devicesPerNode);
  llvm::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  place.nodes = nodes.size();
  place.perNode = (place.group + place.nodes - 1) / place.nodes;
  return place;
}

std::string CostModel::linksOf(llvm::ArrayRef<AxisId> axes) const {
  if (!hardware.isCpu())
    return tierOf(placeOf(axes)).str();
  llvm::SmallVector<AxisId> inOrder(axes);
  llvm::sort(inOrder);
  return mesh.names(inOrder);
}

/// The share of a group's ranks that are in one node.
static double shareInNode(GroupPlace place) {
  return double(place.perNode) / double(place.group);
}

double tpsp::acrossSeconds(CollectiveKind kind, double bytes, GroupPlace place,
                           double rate) {
  if (kind == CollectiveKind::Permute)
    return bytes / rate;
  if (kind == CollectiveKind::AllToAll)
    return bytes * (1 - shareInNode(place)) / rate;
  return bytes * busFactor(kind, place.group) / (rate * double(place.perNode));
}

double CostModel::localSeconds(CollectiveKind kind, double bytes,
                               GroupPlace place) const {
  if (place.perNode == 1 || kind == CollectiveKind::Permute)
    return 0;
  GroupPlace local{place.perNode, place.perNode, 1};
  auto inside = [&](double size) {
    return fastestOnTier(hardware.insideTier, kind, size, local);
  };
  if (kind == CollectiveKind::AllToAll)
    return inside(bytes * shareInNode(place));
  return inside(bytes) * busFactor(kind, place.group) /
         busFactor(kind, place.perNode);
}

double CostModel::adapterShare() const {
  double devices = double(hardware.devicesPerNode);
  return double(hardware.adaptersPerNode.value_or(hardware.devicesPerNode)) /
         devices;
}

/// The ranks of a lone group have all adapters of the node, if they are few. A
/// permute along a ring leaves a node from one rank.
double CostModel::adapterShareAlone(CollectiveKind kind,
                                    int64_t perNode) const {
  double ranks = kind == CollectiveKind::Permute ? 1 : double(perNode);
  double most = adapterShare() * double(hardware.devicesPerNode) / ranks;
  return std::min(most, std::max(1.0, adapterShare()));
}

/// Seconds of a collective between nodes, where the ranks of a node share the
/// load. Data crosses nodes at the rate of the adapters of `perNode` ranks, and
/// stays inside at the rate of the inner links. The slower of the two decides.
double CostModel::crossingSeconds(const CollectiveRates &rates, double bytes,
                                  GroupPlace place) const {
  if (!rates.places.empty())
    return secondsByPlaces(rates, bytes, place);
  double across = acrossSeconds(rates.kind, bytes, place,
                                rates.busBandwidth * adapterShare());
  return crossingLatency(rates, place) +
         std::max(across, localSeconds(rates.kind, bytes, place));
}

/// The tables of the measured number of ranks in a node that is nearest.
static const std::pair<const int64_t, std::map<int64_t, SizeTable>> &
nearestTables(const CollectiveRates &rates, int64_t perNode) {
  return *llvm::min_element(rates.places, [&](const auto &a, const auto &b) {
    auto distance = [&](int64_t measured) {
      return std::abs(std::log(double(measured) / double(perNode)));
    };
    return distance(a.first) < distance(b.first);
  });
}

/// The measured sizes next to `bytes`, at which `secondsOf` gives the time. At
/// most two points, and at least one.
static SizeTable
pointsAround(double bytes, llvm::ArrayRef<const SizeTable *> tables,
             llvm::function_ref<double(double size)> secondsOf) {
  double below = 0, above = 0;
  for (const SizeTable *table : tables) {
    auto next = llvm::partition_point(
        *table, [&](const SizePoint &point) { return point.bytes <= bytes; });
    if (next != table->begin())
      below = std::max(below, std::prev(next)->bytes);
    if (next != table->end() && (above == 0 || next->bytes < above))
      above = next->bytes;
  }
  SizeTable points;
  for (double size : {below, above})
    if (size > 0)
      points.push_back({size, secondsOf(size)});
  return points;
}

/// A measured place has the times of its table. Others send at the rate of the
/// nearest places, scaled by what each adapter carries, and have the steps of
/// their own. They are computed at the measured sizes and interpolated like a
/// table. So the least time of a byte is at a measured size, as bounds need.
double CostModel::secondsByPlaces(const CollectiveRates &rates, double bytes,
                                  GroupPlace place) const {
  const auto &[perNode, tables] = nearestTables(rates, place.perNode);
  Neighbours next = neighboursOf(tables, place.nodes);
  double alone = adapterShareAlone(rates.kind, perNode);
  double latency = crossingLatency(rates, place);
  auto secondsLike = [&, &perNode = perNode, &tables = tables](double size,
                                                               int64_t nodes) {
    GroupPlace measured{nodes * perNode, perNode, nodes};
    double start = crossingLatency(rates, measured);
    double time = secondsAt(tables.at(nodes), size, start);
    bool isMeasured = measured.group == place.group && nodes == place.nodes;
    if (isMeasured && alone == adapterShare())
      return time;
    double load = acrossSeconds(rates.kind, 1, place, adapterShare()) /
                  acrossSeconds(rates.kind, 1, measured, alone);
    double sending = std::max(0.0, time - start) * load;
    // With more ranks in a node, the links inside it may become the slower
    // ones.
    if (place.perNode > perNode)
      sending = std::max(sending, localSeconds(rates.kind, size, place));
    return latency + sending;
  };
  SizeTable points =
      pointsAround(bytes, {&tables.at(next.below), &tables.at(next.above)},
                   [&](double size) {
                     return interpolated(next, [&](int64_t nodes) {
                       return secondsLike(size, nodes);
                     });
                   });
  return secondsAt(points, bytes, latency);
}

static bool isMeasured(const CollectiveRates &rates, GroupPlace place) {
  auto tables = rates.places.find(place.perNode);
  return place.nodes > 1
             ? tables != rates.places.end() && tables->second.count(place.nodes)
             : rates.measured.count(place.group) > 0;
}

double CostModel::fastestOnTier(llvm::StringRef tier, CollectiveKind kind,
                                double bytes, GroupPlace place) const {
  std::optional<double> best;
  for (const CollectiveRates &rates : hardware.collectives) {
    if (rates.kind != kind || rates.tier != tier)
      continue;
    if (rates.measuredGroupsOnly && !isMeasured(rates, place))
      continue;
    double time = place.nodes > 1 ? crossingSeconds(rates, bytes, place)
                                  : tpsp::seconds(rates, bytes, place.group);
    if (!best || time < *best)
      best = time;
  }
  return best.value_or(0);
}

double CostModel::transferSeconds(CollectiveKind kind, double bytes,
                                  GroupPlace place) const {
  if (place.group <= 1 || bytes <= 0 || kind == CollectiveKind::Slice)
    return 0;
  // Two ranks of the group send and receive, as all of them do in a permute.
  if (kind == CollectiveKind::Transfer)
    kind = CollectiveKind::Permute;
  return fastestOnTier(tierOf(place), kind, bytes, place);
}

double CostModel::collectiveSeconds(CollectiveKind kind, double bytes,
                                    GroupPlace place) const {
  double seconds = transferSeconds(kind, bytes, place);
  // Groups were measured one at a time, but on a CPU all groups share the
  // cores.
  if (hardware.isCpu()) {
    seconds *= double(mesh.numRanks()) / double(place.group);
    if (place.group > 1 && mesh.numRanks() <= hardware.cores)
      seconds += hardware.wakeSeconds;
  }
  return launchSeconds() + seconds;
}
