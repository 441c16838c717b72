#include "CallTimes.h"

#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/World.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

using namespace tpsp;
using namespace tpsp::run;
using Clock = std::chrono::steady_clock;

double tpsp::run::lowerQuartile(std::vector<double> values) {
  auto at = values.begin() + values.size() / 4;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double tpsp::run::median(std::vector<double> values) {
  auto at = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

namespace {

/// Kernels for GPUs have one for CPUs beside them, which is not called here.
void noHostKernel(void *const *, const int64_t *, int64_t, int64_t) {}

/// A call as the runtime takes it. Not copied: its address is its identity.
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
      if (rt::Status status = rank.result(spec.call(rank.handle(), &command));
          !status.ok())
        return status;
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

using PreparedCalls = std::vector<std::unique_ptr<PreparedCall>>;

} // namespace

struct CallTimer::Ranks {
  /// Of every list that was timed: the runtime knows calls by their addresses,
  /// which must not come to be another call's.
  std::vector<PreparedCalls> lists;
  std::unique_ptr<rt::World> world;

  const PreparedCalls &prepare(const std::vector<CallSpec> &specs) {
    PreparedCalls &calls = lists.emplace_back();
    for (const CallSpec &spec : specs)
      calls.push_back(
          std::make_unique<PreparedCall>(spec, int64_t(calls.size())));
    return calls;
  }
};

CallTimer::CallTimer(std::unique_ptr<Ranks> ranks) : ranks(std::move(ranks)) {}
CallTimer::CallTimer(CallTimer &&) = default;
CallTimer::~CallTimer() = default;

/// 1.0 and a little, as bf16 and as f32: no zeros, and no denormals, whose
/// arithmetic is slow.
static void fill(void *memory, int64_t bytes) {
  auto *values = static_cast<uint16_t *>(memory);
  for (int64_t i = 0; i < bytes / 2; ++i)
    values[i] = 0x3f80 + (i / 2) % 0x60;
}

static rt::Status fillArena(rt::Rank &rank, int64_t bytes) {
  if (void *memory = rank.hostAddress(0)) {
    fill(memory, bytes);
    return {};
  }
  std::vector<char> block(std::min<int64_t>(bytes, 16 << 20));
  fill(block.data(), int64_t(block.size()));
  for (int64_t at = 0, some = 0; at < bytes; at += some) {
    some = std::min(bytes - at, int64_t(block.size()));
    if (rt::Status s = rank.write(at, block.data(), some); !s.ok())
      return s;
  }
  return {};
}

int64_t CallTimer::numRanks() const { return ranks->world->numRanks(); }

llvm::Expected<CallTimer> CallTimer::create(const std::vector<int64_t> &mesh,
                                            int64_t arenaBytes,
                                            const std::string &backend) {
  if (rt::Status s = rt::loadBackend(backend); !s.ok())
    return llvm::createStringError(s.message());
  rt::WorldConfig config;
  config.backend = backend;
  config.cuda.graphs = rt::GraphUse::Off;
  for (int64_t size : mesh)
    config.mesh.push_back({fmt::format("axis{}", config.mesh.size()), size});
  config.arenaBytes = arenaBytes;
  config.threadsPerRank = 1;
  config.numStreams = 2;
  config.numEvents = 2;
  auto made = std::make_unique<Ranks>();
  rt::Status status = rt::World::create(config, made->world);
  if (status.ok())
    status = made->world->run(
        [&](rt::Rank &rank) { return fillArena(rank, arenaBytes); });
  if (!status.ok())
    return llvm::createStringError(status.message());
  return CallTimer(std::move(made));
}

llvm::Expected<std::vector<double>>
CallTimer::time(const std::vector<CallSpec> &specs, int rounds) {
  const PreparedCalls &calls = ranks->prepare(specs);
  int64_t numRanks = ranks->world->numRanks();
  std::vector<std::vector<double>> samples(specs.size());
  // Of a round, by rank and call.
  std::vector<std::vector<double>> seconds(numRanks,
                                           std::vector<double>(specs.size()));
  auto timeOne = [&](rt::Rank &rank) -> rt::Status {
    for (size_t i = 0; i < calls.size(); ++i) {
      auto begin = Clock::now();
      if (rt::Status status = calls[i]->run(rank); !status.ok())
        return status;
      seconds[rank.number()][i] =
          std::chrono::duration<double>(Clock::now() - begin).count() /
          specs[i].repeats;
    }
    return {};
  };
  for (int round = -1; round < rounds; ++round) {
    if (rt::Status status = ranks->world->run(timeOne); !status.ok())
      return llvm::createStringError(status.message());
    for (size_t i = 0; i < calls.size() && round >= 0; ++i) {
      double sum = 0;
      for (const std::vector<double> &rank : seconds)
        sum += rank[i];
      samples[i].push_back(sum / double(numRanks));
    }
  }
  std::vector<double> result;
  for (std::vector<double> &each : samples)
    result.push_back(lowerQuartile(std::move(each)));
  return result;
}

llvm::Expected<double>
CallTimer::timeStep(const std::vector<CallSpec> &specs, int rounds,
                    double (*pick)(std::vector<double>)) {
  const PreparedCalls &calls = ranks->prepare(specs);
  std::vector<double> samples;
  for (int round = -1; round < rounds; ++round) {
    auto begin = Clock::now();
    rt::Status status = ranks->world->run([&](rt::Rank &rank) -> rt::Status {
      for (const auto &call : calls)
        if (rt::Status status = call->run(rank); !status.ok())
          return status;
      return {};
    });
    if (!status.ok())
      return llvm::createStringError(status.message());
    if (round >= 0)
      samples.push_back(
          std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return pick(std::move(samples));
}

llvm::Expected<double> CallTimer::timeRound(const CallSpec &spec, int repeats,
                                            int rounds) {
  CallSpec repeated = spec;
  repeated.repeats = repeats;
  const PreparedCalls &calls = ranks->prepare({repeated});
  std::vector<double> samples;
  for (int round = -1; round < rounds; ++round) {
    auto begin = Clock::now();
    rt::Status status = ranks->world->run(
        [&](rt::Rank &rank) { return calls.front()->run(rank); });
    if (!status.ok())
      return llvm::createStringError(status.message());
    if (round >= 0)
      samples.push_back(
          std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return median(std::move(samples));
}

llvm::Expected<double> CallTimer::timeOnDevice(const CallSpec &spec,
                                               const DeviceTiming &timing) {
  constexpr double shortest = 1e-9;
  auto empty = timeRound(spec, 0, timing.rounds);
  if (!empty)
    return empty.takeError();
  int repeats = 1;
  for (;;) {
    bool isLast = repeats >= timing.most;
    auto total = timeRound(spec, repeats, isLast ? timing.rounds : 1);
    if (!total)
      return total.takeError();
    double calls = *total - *empty;
    if (!isLast && calls < timing.least) {
      // The first guess is of one call, which says little.
      double wanted = 1.2 * timing.least / std::max(calls, shortest);
      repeats = int(std::min(double(timing.most),
                             repeats * std::clamp(wanted, 2.0, 64.0)));
      continue;
    }
    if (!isLast)
      if (total = timeRound(spec, repeats, timing.rounds); !total)
        return total.takeError();
    return std::max(shortest, (*total - *empty) / repeats);
  }
}

llvm::Expected<double> CallTimer::timeIssue(const CallSpec &spec, int rounds) {
  CallSpec repeated = spec;
  repeated.repeats = 100;
  const PreparedCalls &calls = ranks->prepare({repeated});
  std::vector<double> samples(rounds + 1);
  for (double &sample : samples) {
    rt::Status status = ranks->world->run([&](rt::Rank &rank) {
      auto begin = Clock::now();
      rt::Status issued = calls.front()->run(rank);
      if (rank.number() == 0)
        sample = std::chrono::duration<double>(Clock::now() - begin).count();
      return issued;
    });
    if (!status.ok())
      return llvm::createStringError(status.message());
  }
  samples.erase(samples.begin());
  return median(std::move(samples)) / repeated.repeats;
}
