#include "CalibrationCalls.h"

#include "tpsp/Schedule/CostModel.h"

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::calibration;

CallSpec tpsp::calibration::matmulCall(int64_t dtype, int64_t m, int64_t n,
                                       int64_t k, Transposes transposes) {
  rt::MatmulCommand command;
  command.dtype = dtype;
  command.m = m;
  command.n = n;
  command.k = k;
  command.transposeA = transposes.a;
  command.transposeB = transposes.b;
  command.lda = transposes.a ? m : k;
  command.ldb = transposes.b ? k : n;
  command.ldc = n;
  CallSpec spec;
  spec.call = tpsp_rt_matmul;
  spec.params = command.encode();
  return spec;
}

rt::Params tpsp::calibration::collectiveParams(CollectiveKind kind,
                                               int64_t bytes, int64_t group,
                                               int64_t axis) {
  int64_t elements = bytes / 4;
  if (kind == CollectiveKind::AllReduce) {
    rt::AllReduceCommand command;
    command.axes = {axis};
    command.counts = {elements};
    return command.encode();
  }
  if (kind == CollectiveKind::AllToAll) {
    rt::AllToAllCommand command;
    command.axes = {axis};
    command.c = elements / group;
    return command.encode();
  }
  if (kind == CollectiveKind::Permute) {
    rt::PermuteCommand command;
    command.axes = {axis};
    command.count = elements;
    for (int64_t rank = 0; rank < group; ++rank)
      command.source.push_back((rank + 1) % group);
    return command.encode();
  }
  rt::ShardCommand command;
  command.axes = {axis};
  command.chunk = elements / group;
  return command.encode();
}

CallSpec tpsp::calibration::collectiveCall(CollectiveKind kind, int64_t bytes,
                                           int64_t group) {
  static const std::map<CollectiveKind, decltype(CallSpec::call)> calls = {
      {CollectiveKind::AllReduce, tpsp_rt_all_reduce},
      {CollectiveKind::ReduceScatter, tpsp_rt_reduce_scatter},
      {CollectiveKind::AllGather, tpsp_rt_all_gather},
      {CollectiveKind::AllToAll, tpsp_rt_all_to_all},
      {CollectiveKind::Permute, tpsp_rt_permute}};
  CallSpec spec;
  spec.call = calls.at(kind);
  spec.params = collectiveParams(kind, bytes, group, /*axis=*/0);
  return spec;
}

void tpsp::calibration::addCollectives(Hardware &hardware) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
        CollectiveKind::AllGather, CollectiveKind::AllToAll,
        CollectiveKind::Permute}) {
    CollectiveRates &rates = hardware.collectives.emplace_back();
    rates.kind = kind;
    rates.tier = hardware.insideTier;
  }
}

void tpsp::calibration::addTime(CollectiveRates &rates, int64_t group,
                                int64_t bytes, double seconds) {
  SizeTable &table = rates.measured[group];
  // A larger collective takes at least as long; a shorter time is noise.
  double before = table.empty() ? 0 : table.back().value;
  table.push_back({double(bytes), std::max(before, seconds)});
}

void tpsp::calibration::summarize(Hardware &hardware, int64_t group) {
  for (CollectiveRates &rates : hardware.collectives) {
    const SizeTable &table = rates.measured.at(group);
    rates.latency = table.front().value;
    rates.busBandwidth =
        table.back().bytes * busFactor(rates.kind, group) / table.back().value;
  }
}
