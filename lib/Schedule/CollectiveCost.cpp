// The seconds of a collective alone, by its latency and its bytes on the
// slowest tier of links (CostModel::collectiveSeconds).
#include "SizeTable.h"
#include "tpsp/Schedule/CostModel.h"

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

/// Seconds of the steps over several nodes (NCCL's tuning model). A ring steps
/// from node to node once for each other node; its other steps stay within
/// nodes. A tree is a chain in each node, and has log2 levels over the nodes.
static double crossingLatency(const CollectiveRates &rates, GroupPlace place) {
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

double tpsp::seconds(const CollectiveRates &rates, double bytes,
                     int64_t group) {
  if (rates.measured.empty())
    return latencyOf(rates, group) +
           bytes * busFactor(rates.kind, group) / rates.busBandwidth;
  auto above = rates.measured.lower_bound(group);
  if (above == rates.measured.end())
    return secondsLike(rates, bytes, rates.measured.rbegin()->first, group);
  if (above->first == group)
    return measuredSeconds(rates, group, bytes);
  if (above == rates.measured.begin())
    return secondsLike(rates, bytes, above->first, group);
  int64_t below = std::prev(above)->first;
  double share = std::log(double(group) / double(below)) /
                 std::log(double(above->first) / double(below));
  return (1 - share) * secondsLike(rates, bytes, below, group) +
         share * secondsLike(rates, bytes, above->first, group);
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

/// Seconds of a collective between nodes, where the ranks of a node share the
/// load. A ring enters and leaves a node through each adapter, of which there
/// is one per rank. So data crosses nodes at the rate of `perNode` adapters,
/// and stays inside at the rate of the inner links. The slower of the two
/// decides.
double CostModel::crossingSeconds(const CollectiveRates &rates, double bytes,
                                  GroupPlace place) const {
  double latency = crossingLatency(rates, place);
  auto inside = [&](double size) {
    GroupPlace local{place.perNode, place.perNode, 1};
    return place.perNode == 1
               ? 0
               : fastestOnTier(hardware.insideTier, rates.kind, size, local);
  };
  double here = double(place.perNode) / double(place.group);
  switch (rates.kind) {
  case CollectiveKind::Permute:
    return latency + bytes / rates.busBandwidth;
  case CollectiveKind::AllToAll:
    return latency + std::max(bytes * (1 - here) / rates.busBandwidth,
                              inside(bytes * here));
  default:
    break;
  }
  double factor = busFactor(rates.kind, place.group);
  double across = bytes * factor / (rates.busBandwidth * double(place.perNode));
  double local = place.perNode == 1 ? 0
                                    : inside(bytes) * factor /
                                          busFactor(rates.kind, place.perNode);
  return latency + std::max(across, local);
}

double CostModel::fastestOnTier(llvm::StringRef tier, CollectiveKind kind,
                                double bytes, GroupPlace place) const {
  std::optional<double> best;
  for (const CollectiveRates &rates : hardware.collectives) {
    if (rates.kind != kind || rates.tier != tier)
      continue;
    if (rates.measuredGroupsOnly && !rates.measured.count(place.group))
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
