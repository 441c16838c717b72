// Puts times of nccl-tests into a description.
#include "tpsp/Calibrate/NcclTests.h"

#include "tpsp/Schedule/CrossingTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// Tables by ranks of a node and nodes, as in CollectiveRates::places.
using Places = std::map<int64_t, std::map<int64_t, SizeTable>>;

} // namespace

/// The time of a size is the median of its rows. A smaller collective takes at
/// most as long as a larger one; a longer time is noise, as of a first call.
static SizeTable tableOf(llvm::ArrayRef<const NcclRun *> runs) {
  std::map<double, std::vector<double>> bySize;
  for (const NcclRun *run : runs)
    for (const SizePoint &point : run->times)
      bySize[point.bytes].push_back(point.value);
  SizeTable table;
  for (auto &[bytes, times] : bySize) {
    auto middle = times.begin() + int64_t(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    table.push_back({bytes, *middle});
  }
  for (size_t i = table.size() - 1; i-- > 0;)
    table[i].value = std::min(table[i].value, table[i + 1].value);
  return table;
}

/// Returns why a run does not fit the machine, or "".
static std::string misfitOfRun(const NcclRun &run, const Hardware &hardware) {
  if (hardware.isCpu())
    return llvm::formatv("{0} describes a CPU; give --hardware the description "
                         "of GPUs that these links connect",
                         hardware.name);
  if (run.perNode > hardware.devicesPerNode)
    return llvm::formatv("the run has {0} ranks on a node, and {1} has {2} "
                         "devices there; give --hardware a description with "
                         "more \"devices_per_node\"",
                         run.perNode, hardware.name, hardware.devicesPerNode);
  if (run.nodes > 1 && hardware.nodes == 1)
    return llvm::formatv("the run has {0} nodes, and {1} has one; give "
                         "--hardware a description with more \"nodes\"",
                         run.nodes, hardware.name);
  int64_t adapters = hardware.adaptersPerNode.value_or(hardware.devicesPerNode);
  if (run.nodes > 1 && run.groups > 1 && adapters < hardware.devicesPerNode)
    return llvm::formatv("the run has {0} groups, which share {1} adapters of "
                         "a node; run it without NCCL_TESTS_SPLIT",
                         run.groups, adapters);
  return "";
}

/// Puts the table of a group inside a node into the entry for any group. It
/// replaces all tables of this group: NCCL chose the algorithm.
static void putInside(Hardware &hardware, CollectiveKind kind, int64_t group,
                      SizeTable table) {
  auto isOfKind = [&](const CollectiveRates &rates) {
    return rates.kind == kind && rates.tier == hardware.insideTier;
  };
  for (CollectiveRates &rates : hardware.collectives)
    if (isOfKind(rates))
      rates.measured.erase(group);
  // Without tables an entry for any group would compete with the new one.
  const CollectiveRates *kept = nullptr;
  for (const CollectiveRates &rates : hardware.collectives)
    if (isOfKind(rates) && !rates.measuredGroupsOnly &&
        (!kept || rates.measured.size() > kept->measured.size()))
      kept = &rates;
  std::vector<CollectiveRates> left;
  for (const CollectiveRates &rates : hardware.collectives) {
    bool isNeeded = rates.measuredGroupsOnly && !rates.measured.empty();
    if (!isOfKind(rates) || isNeeded || &rates == kept)
      left.push_back(rates);
    if (&rates == kept)
      left.back().measured[group] = std::move(table);
  }
  hardware.collectives = std::move(left);
}

/// The highest rate of an adapter in these tables, in bytes per second.
static double bestRate(CollectiveKind kind, const Places &places) {
  double best = 0;
  for (const auto &[perNode, tables] : places)
    for (const auto &[nodes, table] : tables)
      for (const SizePoint &point : table)
        best = std::max(best, acrossSeconds(kind, point.bytes,
                                            {nodes * perNode, perNode, nodes},
                                            point.value));
  return best;
}

static bool isBetween(const CollectiveRates &rates, CollectiveKind kind,
                      const Hardware &hardware) {
  return rates.kind == kind && rates.tier == hardware.betweenTier;
}

/// The description's rates of the kind between nodes that have the least
/// latency at the place.
static CollectiveRates promptest(const Hardware &hardware, CollectiveKind kind,
                                 GroupPlace place) {
  const CollectiveRates *best = nullptr;
  for (const CollectiveRates &rates : hardware.collectives)
    if (isBetween(rates, kind, hardware) &&
        (!best ||
         crossingLatency(rates, place) < crossingLatency(*best, place)))
      best = &rates;
  return *best;
}

/// Scales the latencies so that they are those of the smallest table, at
/// `place`. If adapters take much of its smallest size, only down: other places
/// then have the description's steps.
static void scaleLatency(CollectiveRates &rates, const SizePoint &smallest,
                         GroupPlace place) {
  double start = crossingLatency(rates, place);
  if (start <= 0)
    return;
  double sending =
      acrossSeconds(rates.kind, smallest.bytes, place, rates.busBandwidth);
  double factor = smallest.value / start;
  if (sending > 0.1 * smallest.value)
    factor = std::min(factor, 1.0);
  for (double *seconds : {&rates.latency, &rates.hop, &rates.insideHop})
    *seconds *= factor;
}

/// Replaces the description's rates of this kind between nodes.
static void putBetween(Hardware &hardware, CollectiveKind kind, Places places) {
  auto &[perNode, tables] = *places.begin();
  auto &[nodes, table] = *tables.begin();
  GroupPlace place{nodes * perNode, perNode, nodes};
  CollectiveRates rates = promptest(hardware, kind, place);
  rates.algorithm = CollectiveAlgorithm::Ring;
  rates.busBandwidth = bestRate(kind, places);
  scaleLatency(rates, table.front(), place);
  rates.measured.clear();
  rates.measuredGroupsOnly = false;
  rates.places = std::move(places);
  llvm::erase_if(hardware.collectives, [&](const CollectiveRates &each) {
    return isBetween(each, kind, hardware);
  });
  hardware.collectives.push_back(std::move(rates));
}

/// The tables of a kind that was not measured, from those of another. Both run
/// in rings, so their bytes take the same time. Their steps have the ratio that
/// they have in `base`.
static Places placesLike(const Hardware &base, CollectiveKind kind,
                         const CollectiveRates &from) {
  Places result;
  for (const auto &[perNode, tables] : from.places)
    for (const auto &[nodes, table] : tables) {
      GroupPlace place{nodes * perNode, perNode, nodes};
      double start = crossingLatency(from, place);
      double own = start *
                   crossingLatency(promptest(base, kind, place), place) /
                   crossingLatency(promptest(base, from.kind, place), place);
      double bytes =
          busFactor(kind, place.group) / busFactor(from.kind, place.group);
      for (const SizePoint &point : table)
        result[perNode][nodes].push_back(
            {point.bytes, own + std::max(0.0, point.value - start) * bytes});
    }
  return result;
}

/// Gives the kinds that were not measured between nodes the rates of those that
/// were. Returns which they are, in words.
static std::string deriveOthers(Hardware &hardware, const Hardware &base,
                                llvm::ArrayRef<CollectiveKind> measured) {
  using Kind = CollectiveKind;
  std::string words;
  auto ratesOf = [&](Kind kind) {
    return promptest(hardware, kind, {2, 1, 2});
  };
  double adapter = 0;
  for (Kind kind : measured)
    adapter = std::max(adapter, ratesOf(kind).busBandwidth);
  for (Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce,
                    Kind::AllToAll, Kind::Permute}) {
    if (llvm::is_contained(measured, kind))
      continue;
    bool isRing = kind != Kind::AllToAll && kind != Kind::Permute;
    const Kind rings[] = {Kind::AllGather, Kind::ReduceScatter,
                          Kind::AllReduce};
    const Kind *from = llvm::find_if(
        rings, [&](Kind other) { return llvm::is_contained(measured, other); });
    words += words.empty() ? "" : ", ";
    if (isRing && from != std::end(rings)) {
      putBetween(hardware, kind, placesLike(base, kind, ratesOf(*from)));
      words += llvm::formatv("{0} by {1}", nameOf(kind), nameOf(*from));
      continue;
    }
    double best = 0;
    for (const CollectiveRates &rates : base.collectives)
      if (isBetween(rates, kind, base))
        best = std::max(best, rates.busBandwidth);
    for (CollectiveRates &rates : hardware.collectives)
      if (isBetween(rates, kind, hardware))
        rates.busBandwidth *= std::min(1.0, adapter / best);
    words += llvm::formatv("{0} by the adapters' rate", nameOf(kind));
  }
  return words;
}

/// Adds a clause to one of the basis' texts.
static void addClause(std::string &text, const std::string &clause) {
  text += (text.empty() ? "" : "; ") + clause;
}

llvm::Expected<Hardware>
tpsp::calibration::withNcclRuns(Hardware hardware,
                                llvm::ArrayRef<NcclRun> runs) {
  using Place = std::pair<int64_t, int64_t>;
  std::map<CollectiveKind, std::map<Place, std::vector<const NcclRun *>>> all;
  for (const NcclRun &run : runs) {
    if (std::string problem = misfitOfRun(run, hardware); !problem.empty())
      return llvm::createStringError(run.origin + ": " + problem);
    all[run.kind][{run.perNode, run.nodes}].push_back(&run);
  }
  const Hardware base = hardware;
  std::vector<CollectiveKind> between;
  std::string words;
  for (const auto &[kind, byPlace] : all) {
    Places places;
    for (const auto &[place, ofPlace] : byPlace) {
      auto [perNode, nodes] = place;
      words += llvm::formatv("{0}{1} of {2}x{3}", words.empty() ? "" : ", ",
                             nameOf(kind), nodes, perNode);
      if (nodes == 1)
        putInside(hardware, kind, perNode, tableOf(ofPlace));
      else
        places[perNode][nodes] = tableOf(ofPlace);
    }
    if (places.empty())
      continue;
    between.push_back(kind);
    putBetween(hardware, kind, std::move(places));
  }
  hardware.name += " with measured links";
  addClause(hardware.basis.measured,
            "nccl-tests, in place of other figures: " + words);
  if (between.empty() || between.size() == 5)
    return hardware;
  addClause(hardware.basis.derived,
            "between nodes " + deriveOthers(hardware, base, between));
  return hardware;
}
