#include "CallTimes.h"

#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/World.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <random>

using namespace tpsp;
using namespace tpsp::calibration;
using Clock = std::chrono::steady_clock;

double tpsp::calibration::lowerQuartile(std::vector<double> values) {
  if (values.empty())
    return 1;
  auto at = values.begin() + values.size() / 4;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double tpsp::calibration::median(std::vector<double> values) {
  if (values.empty())
    return 1;
  auto at = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double tpsp::calibration::withoutLaunch(double seconds, double launch) {
  return std::max(seconds * 0.2, seconds - launch);
}

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

namespace {

/// A command's kernel for GPUs comes with a kernel for CPUs, which is never
/// called here.
void noHostKernel(void *const *, const int64_t *, int64_t, int64_t) {}

/// A call in the runtime's form. It cannot be copied, because its address is
/// its identity.
struct PreparedCall {
  PreparedCall(const CallSpec &given, int64_t id) : spec(given) {
    describe(first, spec.params, id);
    describe(second, spec.paramsInTurn, id);
  }
  PreparedCall(const PreparedCall &) = delete;

  rt::Status run(rt::Rank &rank) const {
    for (int i = 0; i < spec.repeats; ++i) {
      bool isSecond = i % 2 == 1 && !spec.paramsInTurn.empty();
      const tpsp_rt_command &command = isSecond ? second : first;
      TPSP_TRY(rank.result(spec.call(rank.handle(), &command)));
    }
    return {};
  }

  const CallSpec spec;

private:
  void describe(tpsp_rt_command &command, const rt::Params &params,
                int64_t id) const {
    command.id = id;
    command.stream = spec.stream;
    command.params = params.data();
    command.num_params = int64_t(params.size());
    command.buffers = spec.buffers.data();
    command.num_buffers = int64_t(spec.buffers.size());
    command.kernel = spec.device ? noHostKernel : nullptr;
    command.device = spec.device;
    command.name = "calibration";
  }

  tpsp_rt_command first = {}, second = {};
};

struct PreparedCalls : std::vector<std::unique_ptr<PreparedCall>> {
  /// Its address identifies the step of all calls.
  std::unique_ptr<char> identity = std::make_unique<char>();
};

} // namespace

struct CallTimer::Ranks {
  Measurement &measurement;
  int64_t count = 1;
  /// Every list that was timed. The runtime knows calls by their addresses, so
  /// an address must not be used again.
  std::deque<PreparedCalls> lists = {};
  /// Null after a failure.
  std::unique_ptr<rt::World> world = nullptr;

  const PreparedCalls &prepare(const std::vector<CallSpec> &specs) {
    PreparedCalls &calls = lists.emplace_back();
    for (const CallSpec &spec : specs)
      calls.push_back(
          std::make_unique<PreparedCall>(spec, int64_t(calls.size())));
    return calls;
  }

  /// Runs `program` on all ranks; false if any rank failed.
  bool run(llvm::function_ref<rt::Status(rt::Rank &)> program) {
    return !measurement.hasFailed() &&
           measurement.isFine(
               world->run([&](rt::Rank &rank) { return program(rank); }));
  }
};

/// Fills memory with numbers between -2 and 2 in any floating-point type. They
/// look random: if numbers are alike, a GPU draws less power and is clocked
/// faster than in any program. None is zero or denormal, because denormal
/// arithmetic is slow on CPUs.
static void fill(void *memory, int64_t bytes) {
  auto *values = static_cast<uint16_t *>(memory);
  std::minstd_rand random;
  for (int64_t i = 0; i < bytes / 2; ++i) {
    uint32_t bits = random() >> 8;
    values[i] = uint16_t((bits & 0x83ff) | 0x3c00);
  }
}

static rt::Status fillArena(rt::Rank &rank, int64_t bytes) {
  constexpr int64_t most = 16 << 20;
  std::vector<char> staging;
  for (int64_t at = 0; at < bytes; at += most) {
    int64_t some = std::min(bytes - at, most);
    TPSP_TRY(rank.fill(at, some, staging, [&](void *memory) {
      fill(memory, some);
      return rt::Status();
    }));
  }
  return {};
}

CallTimer::CallTimer(Measurement &measurement, const std::vector<int64_t> &mesh,
                     int64_t arenaBytes, const std::string &backend)
    : ranks(new Ranks{measurement}) {
  rt::WorldConfig config;
  config.backend = backend;
  for (int64_t size : mesh) {
    config.mesh.push_back({fmt::format("axis{}", config.mesh.size()), size});
    ranks->count *= size;
  }
  config.arenaBytes = arenaBytes;
  config.threadsPerRank = 1;
  config.numStreams = 2;
  config.numEvents = 2;
  if (!measurement.hasFailed() &&
      measurement.isFine(rt::loadBackend(backend)) &&
      measurement.isFine(rt::World::create(config, ranks->world)))
    ranks->run([&](rt::Rank &rank) { return fillArena(rank, arenaBytes); });
}

CallTimer::~CallTimer() = default;

int64_t CallTimer::numRanks() const { return ranks->count; }

std::vector<double> CallTimer::time(const std::vector<CallSpec> &specs,
                                    int rounds) {
  const PreparedCalls &calls = ranks->prepare(specs);
  std::vector<std::vector<double>> samples(specs.size());
  // Seconds of a round, by rank and call.
  std::vector<std::vector<double>> seconds(numRanks(),
                                           std::vector<double>(specs.size()));
  auto timeOne = [&](rt::Rank &rank) -> rt::Status {
    for (size_t i = 0; i < calls.size(); ++i) {
      auto begin = Clock::now();
      TPSP_TRY(calls[i]->run(rank));
      seconds[rank.number()][i] = secondsSince(begin) / specs[i].repeats;
    }
    return {};
  };
  for (int round = -1; round < rounds && ranks->run(timeOne); ++round)
    for (size_t i = 0; i < calls.size() && round >= 0; ++i) {
      double sum = 0;
      for (const std::vector<double> &rank : seconds)
        sum += rank[i];
      samples[i].push_back(sum / double(numRanks()));
    }
  std::vector<double> result;
  for (std::vector<double> &each : samples)
    result.push_back(lowerQuartile(std::move(each)));
  return result;
}

double CallTimer::timeStep(const std::vector<CallSpec> &specs, int rounds,
                           double (*pick)(std::vector<double>)) {
  const PreparedCalls &calls = ranks->prepare(specs);
  auto makeAll = [&](rt::Rank &rank) -> rt::Status {
    auto issue = [&](tpsp_rt_rank *) -> tpsp_rt_status {
      for (const auto &call : calls)
        if (rt::Status made = call->run(rank); !made.ok())
          return made.code();
      return TPSP_RT_OK;
    };
    return rank.step(calls.identity.get(), issue);
  };
  std::vector<double> samples;
  // In the first round commands prepare their caches. In the second round a
  // backend may record the step.
  for (int round = -2; round < rounds; ++round) {
    auto begin = Clock::now();
    if (!ranks->run(makeAll))
      return 1;
    if (round >= 0)
      samples.push_back(secondsSince(begin));
  }
  return pick(std::move(samples));
}

double CallTimer::timeOnDevice(const CallSpec &spec,
                               const DeviceTiming &timing) {
  constexpr double shortest = 1e-9;
  auto timeRounds = [&](int repeats, int rounds) {
    CallSpec repeated = spec;
    repeated.repeats = repeats;
    return timeStep({repeated}, rounds, median);
  };
  double empty = timeRounds(0, timing.rounds);
  for (int repeats = 1;;) {
    bool isLast = repeats >= timing.most;
    double calls = timeRounds(repeats, isLast ? timing.rounds : 1) - empty;
    if (!isLast && calls < timing.least) {
      // The first guess is based on one call, so it is clamped.
      double wanted = 1.2 * timing.least / std::max(calls, shortest);
      repeats = int(std::min(double(timing.most),
                             repeats * std::clamp(wanted, 2.0, 64.0)));
      continue;
    }
    if (!isLast)
      calls = timeRounds(repeats, timing.rounds) - empty;
    return std::max(shortest, calls / repeats);
  }
}

double CallTimer::timeIssue(const CallSpec &spec, int rounds) {
  CallSpec repeated = spec;
  repeated.repeats = 100;
  std::vector<double> samples(rounds + 1);
  for (double &sample : samples) {
    const PreparedCalls &calls = ranks->prepare({repeated});
    ranks->run([&](rt::Rank &rank) { return calls.front()->run(rank); });
    // A step that the runtime does not know yet is issued, not replayed.
    ranks->run([&](rt::Rank &rank) {
      return rank.step(calls.identity.get(), [&](tpsp_rt_rank *) {
        auto begin = Clock::now();
        rt::Status issued = calls.front()->run(rank);
        if (rank.number() == 0)
          sample = secondsSince(begin);
        return issued.code();
      });
    });
  }
  samples.erase(samples.begin());
  return median(std::move(samples)) / repeated.repeats;
}
