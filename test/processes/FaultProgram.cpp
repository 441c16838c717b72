/// A program of some collectives on two streams, in which one process fails.
///
///     mpirun -n 4 TpspProcessFaults FAULT RANK
///
/// FAULT is none, or the fault of rank RANK in its third step:
///   dies it exits without a message missing it never comes to the collective
///   fails it reports a failure of its own differs it makes another collective
///   cuts it cuts the link of scripts/two-hosts
#include "common/Launch.h"

#include "tpsp/Abi/Commands.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/World.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

constexpr int64_t chunk = 1 << 16;

/// Gathers every rank's number on stream 1, and makes stream 0 wait for it.
class GatherPlan {
public:
  explicit GatherPlan(int64_t elements) {
    ShardCommand gather;
    gather.axes = {0};
    gather.chunk = elements;
    gatherParams = gather.encode();
    eventParams = EventCommand().encode();
    auto command = [](int64_t id, int64_t stream, const Params &params,
                      const int64_t *buffers, int64_t count, const char *name) {
      return tpsp_rt_command{
          id,      stream, params.data(), int64_t(params.size()),
          buffers, count,  nullptr,       0,
          nullptr, 0,      nullptr,       nullptr,
          name};
    };
    gatherCommand = command(0, 1, gatherParams, buffers, 2, "%gathered");
    record = command(1, 1, eventParams, nullptr, 0, "%record");
    wait = command(2, 0, eventParams, nullptr, 0, "%wait");
  }

  Status step(Rank &rank) const {
    for (auto [call, command] : {std::pair(&tpsp_rt_all_gather, &gatherCommand),
                                 {&tpsp_rt_event_record, &record},
                                 {&tpsp_rt_event_wait, &wait}})
      if (Status s = rank.result(call(rank.handle(), command)); !s.ok())
        return s;
    return {};
  }

private:
  Params gatherParams, eventParams;
  int64_t buffers[2] = {0, chunk * 4};
  tpsp_rt_command gatherCommand, record, wait;
};

Status doFault(const std::string &fault, Rank &rank, const GatherPlan &other) {
  if (fault == "dies")
    std::raise(SIGKILL);
  if (fault == "missing")
    std::this_thread::sleep_for(std::chrono::seconds(120));
  if (fault == "cuts")
    return std::system("ip link set near down") == 0
               ? Status()
               : Status(TPSP_RT_INTERNAL, "the link cannot be cut");
  if (fault == "fails")
    return {TPSP_RT_INTERNAL, "the disk is full"};
  return other.step(rank);
}

Status checkGathered(Rank &rank, int64_t ranks) {
  std::vector<float> got(ranks * chunk);
  if (Status s = rank.read(chunk * 4, got.data(), ranks * chunk * 4); !s.ok())
    return s;
  for (int64_t i = 0; i < ranks * chunk; ++i)
    if (got[i] != float(i / chunk))
      return {TPSP_RT_INTERNAL, fmt::format("element {} is {}", i, got[i])};
  return {};
}

Status runSteps(Transport &transport, const std::string &fault,
                int64_t faulty) {
  WorldConfig config;
  config.mesh = {{"x", transport.size()}};
  config.arenaBytes = (transport.size() + 1) * chunk * 4;
  config.numStreams = 2;
  config.numEvents = 1;
  // A short timeout only if nothing else ends the wait, so that a slow machine
  // does not fail the others.
  bool isEndedByTime =
      fault == "missing" || fault == "cuts" || fault == "differs";
  config.timeoutSeconds = isEndedByTime ? 10 : 1e6;
  config.transport = &transport;
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  GatherPlan plan(chunk), other(chunk / 2);
  for (int step = 0; step < 5; ++step) {
    Status status = world->run([&](Rank &rank) -> Status {
      std::vector<float> mine(chunk, float(rank.number()));
      if (Status s = rank.write(0, mine.data(), chunk * 4); !s.ok())
        return s;
      if (step == 2 && rank.number() == faulty)
        if (Status s = doFault(fault, rank, other); !s.ok())
          return s;
      if (Status s = plan.step(rank); !s.ok())
        return s;
      return checkGathered(rank, transport.size());
    });
    if (!status.ok()) {
      // Leaks the world, because pending communication may still use its
      // memory.
      (void)world.release();
      return status;
    }
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  tool::Launch launch("TpspProcessFaults");
  if (Status status = launch.join(); !status.ok())
    return launch.fail(status);
  if (argc != 3 || !launch.transport())
    return launch.fail("usage: mpirun -n N TpspProcessFaults FAULT RANK");
  registerBuiltinBackends();
  std::string fault = argv[1];
  Status status = runSteps(*launch.transport(), fault,
                           fault == "none" ? -1 : atoi(argv[2]));
  if (!status.ok())
    return launch.fail(status);
  if (launch.isFirst())
    fmt::print("all gathered\n");
  return launch.finish(0);
}
