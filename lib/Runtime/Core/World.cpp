#include "tpsp/Runtime/World.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "ProcessGroup.h"
#include "RankContext.h"
#include "WorkerThread.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace tpsp::rt {
namespace {

/// Ranks failures by how much they tell about the cause. A timeout is often the
/// consequence of another failure; ABORTED always is.
int causeRank(const Status &status) {
  if (status.ok())
    return 0;
  if (status.code() == TPSP_RT_ABORTED)
    return 1;
  return status.code() == TPSP_RT_TIMEOUT ? 2 : 3;
}

/// Keeps the earliest of the failures that tell most. Thread-safe.
class FirstFailure {
public:
  void report(int64_t rank, const Status &status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (causeRank(status) <= causeRank(worst))
      return;
    worst = Status(status.code(),
                   fmt::format("rank {}: {}", rank, status.message()));
  }

  /// Returns the failure and forgets it.
  Status take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(worst, Status());
  }

private:
  std::mutex mutex;
  Status worst;
};

Status checkConfig(const WorldConfig &config) {
  auto invalid = [](const char *what, auto value) -> Status {
    return rt::invalid("a world cannot have {} = {}", what, value);
  };
  if (config.arenaBytes < 0)
    return invalid("arenaBytes", config.arenaBytes);
  if (config.numStreams < 1 || config.numStreams > maxStreams)
    return invalid("numStreams", config.numStreams);
  if (config.numEvents < 0 || config.numEvents > (int64_t(1) << 24))
    return invalid("numEvents", config.numEvents);
  if (config.threadsPerRank < 0)
    return invalid("threadsPerRank", config.threadsPerRank);
  if (!(config.timeoutSeconds > 0) || !std::isfinite(config.timeoutSeconds))
    return invalid("timeoutSeconds", config.timeoutSeconds);
  return {};
}

/// `ranks` is the number of ranks on this host.
int coresPerRank(int64_t ranks) {
  int64_t cores = std::thread::hardware_concurrency();
  return static_cast<int>(std::max<int64_t>(1, cores / ranks));
}

/// Runs `body` for one rank and turns exceptions into a Status.
template <typename Body> Status guarded(const Body &body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return {TPSP_RT_INTERNAL, fmt::format("exception: {}", error.what())};
  } catch (...) {
    return {TPSP_RT_INTERNAL, "exception"};
  }
}

} // namespace

/// A function for a rank's thread; its argument is the rank's number in this
/// process.
using RankJob = std::function<void(int64_t)>;

// Members are destroyed from the last to the first. So the threads, which are
// idle by then, end before the members that they used are destroyed.
struct World::Impl {
  BackendContext context;
  std::atomic<bool> aborted{false};
  FirstFailure failure;
  /// The other processes; null if there are none.
  std::unique_ptr<ProcessGroup> processes;
  std::unique_ptr<Backend> backend;
  /// The ranks of this process.
  std::vector<std::unique_ptr<tpsp_rt_rank>> ranks;
  std::vector<std::unique_ptr<WorkerThread<const RankJob *>>> threads;
  bool failed = false;

  ~Impl() {
    // Each rank's part of the backend is destroyed on the thread that made it.
    runOnThreads([this](int64_t i) {
      if (i < static_cast<int64_t>(ranks.size()))
        ranks[i].reset();
    });
  }

  Status startThreads(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      auto thread = std::make_unique<WorkerThread<const RankJob *>>(
          [i](const RankJob *job) { (*job)(i); });
      TPSP_TRY(thread->start("a rank"));
      threads.push_back(std::move(thread));
    }
    return {};
  }

  /// Returns when all threads have run `job`, which must not throw.
  void runOnThreads(const RankJob &job) {
    for (const auto &thread : threads)
      thread->enqueue(&job);
    for (const auto &thread : threads)
      thread->drain();
  }

  int64_t firstRank() const { return processes ? processes->rank() : 0; }
  int64_t numLocalRanks() const {
    return processes ? 1 : context.mesh.numRanks();
  }

  std::string activityOf(int64_t rank) {
    int64_t local = rank - firstRank();
    if (local < 0 || local >= numLocalRanks())
      return "in another process";
    return ranks[local]->activity();
  }

  /// The failure, with the action of a stage that the rank is issuing.
  Status placed(int64_t rank, const Status &status) const {
    std::string action = ranks[size_t(rank - firstRank())]->action();
    if (action.empty() || status.code() == TPSP_RT_ABORTED)
      return status;
    return {status.code(),
            fmt::format("{}; the rank is {}", status.message(), action)};
  }

  void fail(int64_t rank, const Status &failed) {
    Status status = placed(rank, failed);
    if (processes)
      processes->announce(rank, status);
    failure.report(rank, status);
    aborted.store(true);
    backend->abort();
  }

  /// Calls `body` on every rank's thread, and stops the other ranks on a
  /// failure.
  Status runOnAll(const std::function<Status(tpsp_rt_rank &)> &body) {
    runOnThreads([&](int64_t i) {
      Status status = guarded([&] { return body(*ranks[i]); });
      if (!status.ok())
        fail(ranks[i]->number, status);
    });
    return failure.take();
  }

  /// Runs `body` on the ranks of this process, and waits for the commands it
  /// enqueues.
  Status runHere(const std::function<Status(Rank &)> &body) {
    if (failed)
      return invalid("an earlier run of this world failed; create a new world");
    Status status = runOnAll([&](tpsp_rt_rank &rankContext) {
      Rank rank(rankContext);
      Status result = guarded([&] { return body(rank); });
      // The streams run the plan's commands, and the plan may be unloaded after
      // this function. So the failure is reported before waiting for the
      // streams.
      if (!result.ok())
        fail(rankContext.number, result);
      Status end = rankContext.backend->synchronize();
      if (end.ok())
        return end;
      // Commands that still run use memory of the world. The backend ends them
      // when it is told of the failure.
      fail(rankContext.number, end);
      (void)rankContext.backend->synchronize();
      return end;
    });
    backend->runFinished();
    failed = !status.ok();
    return status;
  }
};

World::World(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
World::~World() = default;

int64_t World::numRanks() const { return mesh().numRanks(); }
const RankMesh &World::mesh() const { return impl->context.mesh; }
bool World::hasFirstRank() const { return impl->firstRank() == 0; }

Status World::create(const WorldConfig &config, std::unique_ptr<World> &out) {
  out.reset();
  TPSP_TRY(checkConfig(config));
  BackendFactory factory;
  TPSP_TRY(findBackend(config.backend, factory));

  auto impl = std::make_unique<Impl>();
  BackendContext &context = impl->context;
  context.config = config;
  TPSP_TRY(RankMesh::create(config.mesh, context.mesh));
  if (config.transport)
    TPSP_TRY(ProcessGroup::create(config, context.mesh, impl->processes));
  int64_t ranks = impl->numLocalRanks();
  if (config.threadsPerRank == 0)
    context.config.threadsPerRank = coresPerRank(
        config.transport ? config.transport->ranksOnHost() : ranks);
  context.activity = [world = impl.get()](int64_t rank) {
    return world->activityOf(rank);
  };
  context.failed = [world = impl.get()](int64_t rank, const Status &failure) {
    world->fail(rank, failure);
  };
  TPSP_TRY(factory(context, impl->backend));
  for (int64_t i = 0; i < ranks; ++i)
    impl->ranks.push_back(std::make_unique<tpsp_rt_rank>(
        context, impl->aborted, impl->firstRank() + i));
  TPSP_TRY(impl->startThreads(ranks));
  Status status = impl->runOnAll([&](tpsp_rt_rank &rank) {
    return impl->backend->createRank(rank.number, rank.backend);
  });
  if (status.ok())
    out.reset(new World(std::move(impl)));
  return status;
}

Status World::run(const std::function<Status(Rank &)> &body) {
  Status status = impl->runHere(body);
  if (!status.ok() || !impl->processes)
    return status;
  status = impl->processes->meet();
  impl->failed = !status.ok();
  return status;
}

Status World::inspect(
    int64_t offset, int64_t bytes,
    const std::function<bool(int64_t rank)> &wanted,
    const std::function<Status(int64_t rank, const void *memory)> &body) {
  auto show = [&](Rank &rank) -> Status {
    if (!wanted(rank.number()) && !(impl->processes && rank.number() == 0))
      return {};
    std::vector<char> copy;
    return rank.inspect(offset, bytes, copy, [&](void *memory) {
      return impl->processes
                 ? impl->processes->collect(memory, bytes, wanted, body)
                 : body(rank.number(), memory);
    });
  };
  // Passed by reference: a std::function with all these captures would
  // allocate.
  return impl->runHere(std::ref(show));
}

Status World::sumOverProcesses(int64_t &value) {
  return impl->processes ? impl->processes->sum(value) : Status();
}

Status World::waitForFirst() {
  return impl->processes ? impl->processes->waitForFirst() : Status();
}

} // namespace tpsp::rt
