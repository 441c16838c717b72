#include "CallTimes.h"

#include "tpsp/Runtime/BuiltinBackends.h"
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

namespace {

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

int64_t CallTimer::numRanks() const { return ranks->world->numRanks(); }

llvm::Expected<CallTimer> CallTimer::create(const std::vector<int64_t> &mesh,
                                            int64_t arenaBytes) {
  rt::registerBuiltinBackends();
  rt::WorldConfig config;
  for (int64_t size : mesh)
    config.mesh.push_back({fmt::format("axis{}", config.mesh.size()), size});
  config.arenaBytes = arenaBytes;
  config.threadsPerRank = 1;
  config.numStreams = 2;
  config.numEvents = 2;
  auto made = std::make_unique<Ranks>();
  rt::Status status = rt::World::create(config, made->world);
  if (status.ok())
    status = made->world->run([&](rt::Rank &rank) -> rt::Status {
      fill(rank.hostAddress(0), arenaBytes);
      return {};
    });
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

llvm::Expected<double> CallTimer::timeStep(const std::vector<CallSpec> &specs,
                                           int rounds) {
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
  return lowerQuartile(std::move(samples));
}
