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

/// Passes every command on to another observer and, once it watches, reads what
/// the command has written. That takes about as long as a step of kernels that
/// are bound by memory.
///
///   NotFiniteWatch watch(plan, &timeline);  // into the WorldConfig
///   watch.begin(*world);
///   world->run(step);
///   lines = watch.end();
class NotFiniteWatch final : public CommandObserver {
public:
  /// Both are the caller's; `next` may be null.
  NotFiniteWatch(const Plan &plan, CommandObserver *next)
      : plan(plan), next(next) {}

  /// Begins to watch this process's ranks. False if their memory cannot be read
  /// from the host (GPUs): then nothing is watched.
  bool begin(World &world);

  /// Ends it. A line for the first command that wrote a NaN and one for the
  /// first that wrote an infinity, "rank 2: kernel log (f.mlir:8:8) is the
  /// first command that writes a NaN"; none if there was none.
  std::vector<std::string> end();

  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override;

private:
  /// The first command of one rank that wrote such a number; plan's end if none
  /// did.
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
