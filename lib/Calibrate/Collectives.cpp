#include "CalibrationCalls.h"

#include "tpsp/Schedule/CostModel.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

constexpr int64_t groups[] = {2, 4, 8};
constexpr int64_t largest = 16 << 20;
/// Nearly an empty collective.
constexpr int64_t smallest = 4 << 10;

/// A call on the first axis of the timer's mesh.
CallSpec callOf(CollectiveKind kind, int64_t bytes, int64_t group) {
  CallSpec spec = collectiveCall(kind, bytes, group);
  spec.buffers = {0, largest};
  return spec;
}

std::vector<int64_t> sizes() {
  std::vector<int64_t> list;
  for (int64_t bytes = smallest; bytes <= largest; bytes *= 4)
    list.push_back(bytes);
  return list;
}

} // namespace

/// The mesh on which groups of `group` ranks are measured. Its ranks outnumber
/// the cores, as they do in CPU runs: while one rank waits, a core can run
/// another. If that takes several groups, the mesh has two axes of size
/// `group`, and collectives alternate between them. Otherwise groups would
/// drift apart, which they seldom can in a program.
static std::vector<int64_t> meshFor(int64_t group, int64_t cores) {
  if (group >= 2 * cores)
    return {group};
  return {group, group, (2 * cores + group * group - 1) / (group * group)};
}

/// Measures each kind's table for groups of `group` ranks, into `rates`. The
/// measured time is divided by the number of groups, which share the cores.
static void measureGroup(CallTimer &timer, int64_t group,
                         std::vector<CollectiveRates> &rates) {
  std::vector<CallSpec> calls;
  for (CollectiveRates &each : rates)
    for (int64_t bytes : sizes()) {
      calls.push_back(callOf(each.kind, bytes, group));
      if (timer.numRanks() > group)
        calls.back().paramsInTurn =
            collectiveParams(each.kind, bytes, group, /*axis=*/1);
      calls.back().repeats = bytes <= (1 << 20) ? 20 : 4;
    }
  std::vector<double> seconds = timer.time(calls, /*rounds=*/9);
  auto next = seconds.begin();
  for (CollectiveRates &each : rates)
    for (int64_t bytes : sizes())
      addTime(each, group, bytes,
              *next++ * double(group) / double(timer.numRanks()));
}

/// The share of a core that a running collective takes from computing. 1 if a
/// rank's streams share its core, 0 if a collective needs no core.
static double collectiveCores(Measurement &measurement, int64_t ranks) {
  CallTimer timer(measurement, {ranks}, 2 * largest);
  CallSpec gather = callOf(CollectiveKind::AllGather, 1 << 20, ranks);
  gather.repeats = 200;
  rt::MatmulCommand product;
  product.m = product.n = product.k = 256;
  product.lda = product.ldb = product.ldc = 256;
  CallSpec matmul{
      tpsp_rt_matmul, product.encode(), {}, {0, 1 << 20, 2 << 20}, 40};
  double communicating = timer.timeStep({gather}, /*rounds=*/25);
  double computing = timer.timeStep({matmul}, /*rounds=*/25);
  gather.stream = 1;
  double both = timer.timeStep({gather, matmul}, /*rounds=*/25);
  return std::clamp((both - computing) / communicating, 0.0, 1.0);
}

/// How much longer a collective takes, in seconds, if every rank has a core,
/// which sleeps while its rank waits.
static double wakeSeconds(Measurement &measurement, const Hardware &hardware,
                          int64_t ranks) {
  CallTimer timer(measurement, {ranks}, 2 * largest);
  CallSpec gather = callOf(CollectiveKind::AllGather, smallest, ranks);
  gather.repeats = 20;
  double asleep = timer.time({gather}, /*rounds=*/15).front();
  for (const CollectiveRates &rates : hardware.collectives)
    if (rates.kind == CollectiveKind::AllGather)
      return std::max(0.0, asleep - seconds(rates, double(smallest), ranks));
  return 0;
}

/// Seconds until a sleeping stream continues. Measured with two streams that
/// wait for each other in turn.
static double handoffSeconds(Measurement &measurement, int64_t cores) {
  constexpr int turns = 100;
  int64_t ranks = 2 * cores;
  CallTimer timer(measurement, {ranks}, 1 << 20);
  auto event = [](bool isRecord, int64_t number, int64_t stream) {
    rt::EventCommand command;
    command.event = number;
    CallSpec spec;
    spec.call = isRecord ? tpsp_rt_event_record : tpsp_rt_event_wait;
    spec.params = command.encode();
    spec.stream = stream;
    return spec;
  };
  std::vector<CallSpec> calls;
  for (int turn = 0; turn < turns; ++turn) {
    calls.push_back(event(/*isRecord=*/true, 0, 0));
    calls.push_back(event(/*isRecord=*/false, 0, 1));
    calls.push_back(event(/*isRecord=*/true, 1, 1));
    calls.push_back(event(/*isRecord=*/false, 1, 0));
  }
  double seconds = timer.timeStep(calls, /*rounds=*/15);
  return seconds / (2.0 * turns) * double(cores) / double(ranks);
}

void tpsp::calibration::measureCollectives(Measurement &measurement,
                                           Hardware &hardware) {
  addCollectives(hardware);
  for (int64_t group : groups) {
    measurement.phase(fmt::format("collectives of {} ranks", group));
    CallTimer timer(measurement, meshFor(group, hardware.cores), 2 * largest);
    measureGroup(timer, group, hardware.collectives);
    hardware.stepSeconds =
        timer.timeStep({}, /*rounds=*/49) / double(timer.numRanks());
  }
  summarize(hardware, groups[0]);
  measurement.phase("two streams");
  int64_t ranks = std::max<int64_t>(2, hardware.cores);
  hardware.collectiveCores = collectiveCores(measurement, ranks);
  hardware.wakeSeconds = wakeSeconds(measurement, hardware, ranks);
  hardware.handoffSeconds = handoffSeconds(measurement, hardware.cores);
}
