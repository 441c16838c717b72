/// A world is the ranks of a mesh. Each rank has an arena of memory and a
/// thread that runs the functions it is given. The ranks are threads of one
/// process, or each has its own process (WorldConfig::transport). All processes
/// make the same calls of World in the same order.
///
///     WorldConfig config;
///     config.mesh = {{"tp", 4}};
///     config.arenaBytes = plan.arenaBytes;
///     std::unique_ptr<World> world;
///     TPSP_TRY(World::create(config, world));
///     return world->run([&](Rank &rank) -> Status {
///       TPSP_TRY(rank.write(0, x, bytes));
///       TPSP_TRY(rank.step(step));
///       return rank.read(offset, y, bytes);
///     });
///
/// Backends must be registered first (BuiltinBackends.h).
#ifndef TPSP_RUNTIME_WORLD_H
#define TPSP_RUNTIME_WORLD_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tpsp::rt {

/// One rank, as the function given to World::run sees it. The world owns it,
/// and only the rank's own thread uses it.
class Rank {
public:
  explicit Rank(tpsp_rt_rank &context) : context(context) {}

  /// From 0 to World::numRanks() - 1, row-major over the mesh.
  int64_t number() const;

  /// This rank's coordinate on each axis of the mesh.
  const std::vector<int64_t> &coordinates() const;
  int64_t coordinate(int64_t axis) const { return coordinates()[axis]; }

  /// Runs one step of a plan, whose function is `issue`: its segments in their
  /// order, repeated ones for each micro-batch. This is the normal way to run
  /// plans. A backend that can record (CUDA graphs) records the second step and
  /// replays it from then on, with equal results. If the step cannot be
  /// recorded, later steps are issued like the first, and WorldConfig::warn is
  /// called once. `issue` identifies the step: a plan issues the same commands
  /// each time, and outlives the world.
  using StepFunction = tpsp_rt_status (*)(tpsp_rt_rank *, int64_t segment);
  Status step(StepFunction issue, const Plan &plan);
  /// The same for a step that is not a plan's; `identity` identifies it.
  Status step(const void *identity,
              const std::function<tpsp_rt_status(tpsp_rt_rank *)> &issue);

  /// Waits until all issued commands have run or failed. World::run ends with
  /// it.
  Status synchronize();

  /// The handle that compiled plans take. Commands issued outside step() run as
  /// they come.
  tpsp_rt_rank *handle() { return &context; }

  /// Turns the code that a plan's step returned into a Status, with the rank's
  /// recorded message if the step failed.
  Status result(tpsp_rt_status code) const;

  /// Copies `bytes` bytes into or out of the arena at byte `offset`, after all
  /// commands issued so far. INVALID if the range is not inside the arena.
  Status write(int64_t offset, const void *source, int64_t bytes);
  Status read(int64_t offset, void *destination, int64_t bytes);

  /// The address of byte `offset`. Null if the offset is outside the arena or
  /// the backend's memory is not host memory. Valid as long as the world
  /// exists.
  void *hostAddress(int64_t offset);

  /// Calls body(memory) -> Status with `bytes` bytes of the arena. In host
  /// memory they are passed in place, without waiting for commands issued so
  /// far. Otherwise `body` gets a copy in `staging`.
  template <typename Body>
  Status inspect(int64_t offset, int64_t bytes, std::vector<char> &staging,
                 const Body &body) {
    void *memory = hostAddress(offset);
    if (!memory) {
      memory = stage(bytes, staging);
      TPSP_TRY(read(offset, memory, bytes));
    }
    return body(memory);
  }
  /// The same for bytes that `body` writes; it must write all of them.
  template <typename Body>
  Status fill(int64_t offset, int64_t bytes, std::vector<char> &staging,
              const Body &body) {
    if (void *memory = hostAddress(offset))
      return body(memory);
    TPSP_TRY(body(stage(bytes, staging)));
    return write(offset, staging.data(), bytes);
  }

private:
  static void *stage(int64_t bytes, std::vector<char> &staging) {
    if (int64_t(staging.size()) < bytes)
      staging.resize(bytes);
    return staging.data();
  }

  tpsp_rt_rank &context;
};

class World {
public:
  /// Starts the ranks. Fails with a sentence if the mesh or a figure of
  /// `config` is wrong, the backend is unknown, or the memory is not available.
  static Status create(const WorldConfig &config, std::unique_ptr<World> &out);

  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World();

  /// The number of ranks in all processes.
  int64_t numRanks() const;
  const RankMesh &mesh() const;

  /// Whether rank 0 is in this process.
  bool hasFirstRank() const;

  /// Calls `body` for every rank at once, each on the rank's own thread and in
  /// its own process. Returns when all calls have returned. If one fails,
  /// pending and later commands of the others return TPSP_RT_ABORTED. The
  /// result is the failure that came first; it is a timeout or ABORTED only if
  /// there is no other. A world whose run failed refuses further runs. Must not
  /// be called from `body`, or from two threads at once.
  Status run(const std::function<Status(Rank &)> &body);

  /// In the process with rank 0, calls `body` with the bytes [offset, offset +
  /// bytes) of the arena of each rank that is `wanted`. Calls for that
  /// process's ranks are concurrent, on the ranks' threads; those for other
  /// processes' ranks follow one after another. Other processes do not call
  /// `body`. Fails as run() does.
  Status
  inspect(int64_t offset, int64_t bytes,
          const std::function<bool(int64_t rank)> &wanted,
          const std::function<Status(int64_t rank, const void *memory)> &body);

  /// Replaces `value` by its sum over the processes, modulo 2^64, in each of
  /// them.
  Status sumOverProcesses(int64_t &value);

  /// Returns when all processes have called it, however long that takes. It
  /// lets the others wait for work that only the process with rank 0 does.
  /// ABORTED if a process fails meanwhile.
  Status waitForFirst();

private:
  struct Impl;
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_WORLD_H
