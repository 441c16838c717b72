/// A world: the ranks of a mesh, each with its arena of memory and a thread
/// that runs what it is given. They are threads of one process, or there is a
/// process for each (WorldConfig::transport). Each process makes and uses its
/// world as the others do: same calls, same order.
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
/// Backends must have been registered before (BuiltinBackends.h).
#ifndef TPSP_RUNTIME_WORLD_H
#define TPSP_RUNTIME_WORLD_H

#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tpsp::rt {

/// One rank, as the function given to World::run sees it. Owned by the world
/// and used on the rank's own thread only.
class Rank {
public:
  explicit Rank(tpsp_rt_rank &context) : context(context) {}

  /// 0 .. World::numRanks() - 1, row-major over the mesh.
  int64_t number() const;

  /// This rank's coordinate on each axis of the mesh.
  const std::vector<int64_t> &coordinates() const;
  int64_t coordinate(int64_t axis) const { return coordinates()[axis]; }

  /// Runs one step of a plan, whose function is `issue`: the way to run plans.
  /// A backend that can record does so with the second step, and replays it
  /// from then on (CUDA graphs), with equal results. If the step cannot be
  /// recorded, steps go on as before, and WorldConfig::warn is told once.
  /// `issue` is the step's identity: a plan issues the same commands each time,
  /// and outlives the world.
  using StepFunction = tpsp_rt_status (*)(tpsp_rt_rank *);
  Status step(StepFunction issue);
  /// The same for a step that is no function; `identity` stands for it.
  Status step(const void *identity,
              const std::function<tpsp_rt_status(tpsp_rt_rank *)> &issue);

  /// Waits until all that has been issued has run, or has failed. A run ends
  /// with it.
  Status synchronize();

  /// What compiled plans take. Commands that are issued by themselves, and not
  /// in step(), run as they come.
  tpsp_rt_rank *handle() { return &context; }

  /// Turns what a plan's step returned into a Status, with the rank's recorded
  /// message if it failed.
  Status result(tpsp_rt_status code) const;

  /// Copies `bytes` bytes into or out of the arena at byte `offset`, after all
  /// commands issued so far. INVALID if the range is not inside the arena.
  Status write(int64_t offset, const void *source, int64_t bytes);
  Status read(int64_t offset, void *destination, int64_t bytes);

  /// The address of byte `offset`, or null if it is outside the arena or the
  /// backend's memory is not host memory. Valid as long as the world.
  void *hostAddress(int64_t offset);

  /// Calls body(memory) -> Status with `bytes` bytes of the arena. They are in
  /// place, or a copy in `staging` where the backend's memory is not host
  /// memory. In place there is no waiting for commands issued so far.
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
  /// The same for what `body` writes, all of it.
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
  /// `config` is wrong, the backend is unknown, or the memory cannot be had.
  static Status create(const WorldConfig &config, std::unique_ptr<World> &out);

  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World();

  /// Ranks of all processes.
  int64_t numRanks() const;
  const RankMesh &mesh() const;

  /// Whether rank 0 is in this process.
  bool hasFirstRank() const;

  /// Calls `body` for every rank at once, each on the rank's own thread and in
  /// its own process, and returns when all have returned. If one fails, the
  /// others' pending and later commands return TPSP_RT_ABORTED. The result is
  /// the failure that came first; it is a timeout or ABORTED only if there is
  /// no other. A world whose run failed refuses further runs. Not to be called
  /// from `body`, nor from two threads at once.
  Status run(const std::function<Status(Rank &)> &body);

  /// Shows `body` the bytes [offset, offset + bytes) of the arena of every rank
  /// that is `wanted`, in the process that has rank 0. Its own ranks' are shown
  /// at once, on their threads, other processes' one after another. In other
  /// processes `body` is not called. Fails as run() does.
  Status
  inspect(int64_t offset, int64_t bytes,
          const std::function<bool(int64_t rank)> &wanted,
          const std::function<Status(int64_t rank, const void *memory)> &body);

  /// The sum over the processes, modulo 2^64, in each of them.
  Status sumOverProcesses(int64_t &value);

  /// Returns when all processes have called it, however long that takes: for
  /// what the process with rank 0 does alone. ABORTED if one fails meanwhile.
  Status waitForFirst();

private:
  struct Impl;
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_WORLD_H
