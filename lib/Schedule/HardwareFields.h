/// The fields of a machine's description as JSON (JsonReader.h): one line per
/// field of each struct of Hardware.h. The file's values are in units for
/// people, the members in SI units.
#ifndef TPSP_SCHEDULE_HARDWAREFIELDS_H
#define TPSP_SCHEDULE_HARDWAREFIELDS_H

#include "tpsp/Abi/JsonReader.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

inline constexpr Rule micro{1e-6};
/// Tables of times keep the seven digits that nccl-tests prints.
inline constexpr Rule measuredTimes{1e-6, 0, 1e30, /*isRequired=*/false, 7};
// Rates are above 0, because they are divisors.
inline constexpr Rule giga{1e9, 1e-9}, tera{1e12, 1e-9};
constexpr Rule countTo(int64_t most) { return {1, 1, double(most)}; }

template <>
inline constexpr std::array choices<Hardware::Kind> = {Hardware::Kind::Gpu,
                                                       Hardware::Kind::Cpu};
template <>
inline constexpr std::array choices<CollectiveAlgorithm> = {
    CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree,
    CollectiveAlgorithm::InNetwork};
template <>
inline constexpr std::array choices<CollectiveKind> = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather, CollectiveKind::AllToAll,
    CollectiveKind::Permute};

/// Ascending numbers.
struct Axis {
  std::vector<double> &points;
};

/// Nested lists of numbers, one level for each axis. An axis has a name for
/// messages and a number of entries. In `numbers` the last axis is fastest.
struct Grid {
  llvm::ArrayRef<std::pair<const char *, size_t>> axes;
  std::vector<double> &numbers;
};

template <typename Object> void fields(Object &field, Basis &basis) {
  field("measured", basis.measured, optional);
  field("published", basis.published, optional);
  field("derived", basis.derived, optional);
  field("assumed", basis.assumed, optional);
}

struct Tiers {
  Hardware &hardware;
};

template <typename Object> void fields(Object &field, KernelRates &kernel) {
  field("operations_gops", kernel.operations, giga);
  field("transcendentals_gops", kernel.transcendentals, giga);
  field("cache_gbs", kernel.cacheBandwidth, giga);
  field("scattered_gops", kernel.scattered, giga);
  field("start_us", kernel.startSeconds, micro);
  field("item_us", kernel.itemSeconds, micro);
  field("block_gbs", kernel.blockBandwidth, {1e9, 0, 1e30, false});
}

template <typename Object> void fields(Object &field, MatmulRates &rates) {
  field("peak_tflops", rates.peak, tera);
  field("sustained_tflops", rates.sustained, tera);
  field("m", Axis{rates.m});
  field("n", Axis{rates.n});
  field("k", Axis{rates.k});
  std::pair<const char *, size_t> axes[] = {
      {"m", rates.m.size()}, {"n", rates.n.size()}, {"k", rates.k.size()}};
  field("tflops", Grid{axes, rates.rates}, tera);
  field("relative_nn", Grid{axes, rates.relative[0]}, optional);
  field("relative_nt", Grid{axes, rates.relative[1]}, optional);
  field("relative_tn", Grid{axes, rates.relative[2]}, optional);
  field("relative_tt", Grid{axes, rates.relative[3]}, optional);
  field("relative_aligned", rates.aligned, optional);
  field("relative_grouped", rates.grouped, {1, 1e-3, 1, false});
}

template <typename Object> void fields(Object &field, AttentionRates &rates) {
  field("features", Axis{rates.features});
  field("keys", Axis{rates.keys});
  std::pair<const char *, size_t> axes[] = {
      {"of features", rates.features.size()}, {"of keys", rates.keys.size()}};
  field("forward_tflops", Grid{axes, rates.tables[0]}, tera);
  field("forward_causal_tflops", Grid{axes, rates.tables[1]}, tera);
  field("backward_tflops", Grid{axes, rates.tables[2]}, tera);
  field("backward_causal_tflops", Grid{axes, rates.tables[3]}, tera);
  field("relative_hidden_forward", rates.hiddenForward, {1, 1e-3, 1, false});
  field("relative_hidden_backward", rates.hiddenBackward, {1, 1e-3, 1, false});
}

/// Rates by element type.
template <typename Object, typename Rates>
void fields(Object &field, std::map<int64_t, Rates> &rates) {
  field.entry("bf16", rates, TPSP_RT_BF16);
  field.entry("f16", rates, TPSP_RT_F16);
  field.entry("f32", rates, TPSP_RT_F32);
  field.entry("f64", rates, TPSP_RT_F64);
}

template <typename Object> void fields(Object &field, CollectiveRates &rates) {
  field("kind", rates.kind);
  field("algorithm", rates.algorithm);
  field("tier", rates.tier);
  field("latency_us", rates.latency, micro);
  field("hop_us", rates.hop, micro);
  field("inside_hop_us", rates.insideHop,
        {1e-6, 0, 1e30, /*isRequired=*/false});
  field("bus_gbs", rates.busBandwidth, giga);
  field("measured_groups_only", rates.measuredGroupsOnly, optional);
  field("measured_us", rates.measured, measuredTimes);
  field("measured_places_us", rates.places, measuredTimes);
}

template <typename Object> void fields(Object &field, Tiers &tiers) {
  field("inside_node", tiers.hardware.insideTier);
  field("between_nodes", tiers.hardware.betweenTier,
        tiers.hardware.nodes > 1 ? Rule() : optional);
}

/// The missing collective, or "". Every kind needs an algorithm for any group
/// on every tier, except on a machine of one device.
inline std::string missingCollective(const Hardware &hardware) {
  if (!hardware.isCpu() && hardware.devicesPerNode * hardware.nodes == 1)
    return "";
  for (const std::string &tier : {hardware.insideTier, hardware.betweenTier})
    for (CollectiveKind kind : choices<CollectiveKind>) {
      bool found = tier.empty();
      for (const CollectiveRates &rates : hardware.collectives)
        found |= rates.tier == tier && rates.kind == kind &&
                 !rates.measuredGroupsOnly;
      if (!found)
        return std::string("there is no ") + nameOf(kind) +
               " for any group on tier '" + tier + "'";
    }
  return "";
}

/// The problem of a collective on an unknown tier, or "".
inline std::string unknownTier(const Hardware &hardware) {
  for (size_t i = 0; i < hardware.collectives.size(); ++i)
    if (const std::string &tier = hardware.collectives[i].tier;
        tier != hardware.insideTier && tier != hardware.betweenTier)
      return "entry " + std::to_string(i) + " is on tier '" + tier +
             "', which tiers does not have; it has '" + hardware.insideTier +
             (hardware.betweenTier.empty() ? ""
                                           : "' and '" + hardware.betweenTier) +
             "'";
  return "";
}

/// The problem of a table of times on a tier for which it is not, or "".
inline std::string misplacedTable(const Hardware &hardware) {
  if (hardware.insideTier == hardware.betweenTier)
    return "";
  for (size_t i = 0; i < hardware.collectives.size(); ++i) {
    const CollectiveRates &rates = hardware.collectives[i];
    std::string entry = "entry " + std::to_string(i) + " has ";
    if (rates.tier == hardware.betweenTier && !rates.measured.empty())
      return entry + "measured_us, which is of groups inside a node; between "
                     "nodes write measured_places_us";
    if (rates.tier == hardware.insideTier && !rates.places.empty())
      return entry + "measured_places_us, which is between nodes; inside a "
                     "node write measured_us";
  }
  return "";
}

template <typename Object> void fields(Object &field, Hardware &hardware) {
  field("name", hardware.name);
  field("basis", hardware.basis, optional);
  field("kind", hardware.kind);
  field("cores", hardware.cores, countTo(1 << 20));
  field("memory_bytes", hardware.memoryBytes, countTo(int64_t(1) << 52));
  field("devices_per_node", hardware.devicesPerNode, countTo(1 << 16));
  field("nodes", hardware.nodes, countTo(1 << 20));
  field("adapters_per_node", hardware.adaptersPerNode,
        {1, 1, 1 << 16, /*isRequired=*/false});
  field("launch_us", hardware.launchSeconds, micro);
  field("issue_us", hardware.issueSeconds, micro);
  field("step_us", hardware.stepSeconds, micro);
  field("wake_us", hardware.wakeSeconds, micro);
  field("handoff_us", hardware.handoffSeconds, micro);
  field("memory_gbs", hardware.memory, giga);
  field("kernel", hardware.kernel);
  field("matmul", hardware.matmul);
  field.refuseIf(hardware.matmul.empty(), "matmul",
                 "expected at least one of bf16, f16, f32, f64");
  field("attention", hardware.attention, optional);
  field("tiers", Tiers{hardware});
  field("collectives", hardware.collectives);
  std::string missing = missingCollective(hardware);
  field.refuseIf(!missing.empty(), "collectives", missing);
  std::string unknown = unknownTier(hardware);
  field.refuseIf(!unknown.empty(), "collectives", unknown);
  std::string misplaced = misplacedTable(hardware);
  field.refuseIf(!misplaced.empty(), "collectives", misplaced);
  double cores = double(hardware.cores);
  field("collective_cores", hardware.collectiveCores, {1, 0, cores});
  field.refuseIf(!hardware.isCpu() && hardware.collectiveCores >= cores,
                 "collective_cores", "expected fewer than cores");
}

} // namespace tpsp

#endif // TPSP_SCHEDULE_HARDWAREFIELDS_H
