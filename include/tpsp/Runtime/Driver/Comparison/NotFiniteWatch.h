/// Finds the first command of a step, on any rank, that writes a NaN or an
/// infinity.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_NOTFINITEWATCH_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_NOTFINITEWATCH_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/World.h"

#include <atomic>
#include <string>
#include <vector>

namespace tpsp::rt {

/// Passes every command on to another observer. Between begin() and end() it
/// also reads what each command has written. That costs about as much as a step
/// of memory-bound kernels.
///
///   NotFiniteWatch watch(plan, &timeline);  // into the WorldConfig
///   watch.begin(*world);
///   world->run(step);
///   lines = watch.end();
class NotFiniteWatch final : public CommandObserver {
public:
  /// The caller owns both; `next` may be null.
  NotFiniteWatch(const Plan &plan, CommandObserver *next)
      : plan(plan), next(next) {}

  /// Begins to watch this process's ranks. Returns false, and watches nothing,
  /// if the host cannot read their memory (GPUs).
  bool begin(World &world);

  /// Stops watching. Returns a line for the first command that wrote a NaN, and
  /// one for the first that wrote an infinity; empty if there was none. Such a
  /// line is "rank 2: kernel log (f.mlir:8:8) is the first command that writes
  /// a NaN".
  std::vector<std::string> end();

  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override;

private:
  /// The first commands of one rank that wrote a NaN and an infinity, by their
  /// numbers. The plan's end if there is none.
  struct First {
    std::atomic<int64_t> nan, infinity;
  };

  std::string describe(std::atomic<int64_t> First::*which,
                       const char *number) const;

  const Plan &plan;
  CommandObserver *next;
  bool watches = false;
  /// Where each rank's arena is; null for a rank of another process.
  std::vector<const std::byte *> arenas;
  std::vector<First> firsts;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_NOTFINITEWATCH_H
