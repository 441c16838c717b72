// Waits of a rank for its GPU. They poll, so that they notice failures
// elsewhere.
#include "../Core/WaitFailure.h"
#include "CudaRank.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace tpsp::rt {
namespace {

/// How often the state of a collective is queried. Each query takes a lock of
/// the driver.
constexpr std::chrono::milliseconds lookPeriod(5);

/// Polls without a pause for a tenth of a second, as CUDA's own waits do. A
/// late answer would be time lost between two steps, and the system wakes a
/// thread a tenth of a millisecond late. After that, a nap is less than 0.3 %
/// of the wait.
void rest(std::chrono::steady_clock::duration waited) {
  if (waited < std::chrono::milliseconds(100))
    return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// Whether a call waits for other ranks.
bool waitsForOthers(const Call &call) {
  return call.group.size() > 1 &&
         std::visit(
             [](const auto &command) {
               return isCollective<std::decay_t<decltype(command)>>;
             },
             call.command);
}

std::vector<int64_t> othersOf(const RankGroup &group) {
  std::vector<int64_t> others = group.ranks;
  others.erase(others.begin() + group.self);
  return others;
}

} // namespace

struct CudaRank::Wait {
  Clock::time_point begin = Clock::now(), looked = begin;
  /// The command that each stream is running, and since when.
  std::vector<std::pair<const Call *, Clock::time_point>> at;
};

Status CudaRank::synchronize() {
  if (capture.isActive())
    return {TPSP_RT_UNSUPPORTED, "waits within what is to be captured"};
  TPSP_TRY(settle());
  failure = report();
  return failure;
}

Status CudaRank::settle() {
  if (!failure.ok()) {
    drain();
    return failure;
  }
  failure = waitForStreams();
  // Another rank's failure ends this rank's wait, but its streams still run.
  if (failure.code() == TPSP_RT_ABORTED)
    drain();
  return failure;
}

Status CudaRank::waitForStreams() {
  Wait wait;
  wait.at.resize(streams.size());
  for (const std::unique_ptr<CudaStream> &stream : streams)
    while (true) {
      bool isIdle = false;
      if (Status status = stream->poll(isIdle); !status.ok()) {
        const Call *call = stream->current();
        return call ? inCall(*call, status) : status;
      }
      if (isIdle)
        break;
      TPSP_TRY(lookAround(wait));
      rest(Clock::now() - wait.begin);
    }
  return {};
}

Status CudaRank::lookAround(Wait &wait) {
  if (world.aborted)
    return abortedByAnother();
  Clock::time_point now = Clock::now();
  if (now - wait.looked < lookPeriod)
    return {};
  wait.looked = now;
  if (Status status = communicators.poll(); !status.ok()) {
    for (const std::unique_ptr<CudaStream> &stream : streams)
      if (const Call *call = stream->current(); call && waitsForOthers(*call))
        return inCall(*call, status);
    return status;
  }
  return checkCollective(wait);
}

/// Kernels and matmuls may take long. A collective that takes long waits for
/// another rank. A replayed step is known only as a whole.
Status CudaRank::checkCollective(Wait &wait) {
  auto now = Clock::now();
  auto limit =
      std::chrono::duration<double>(world.context.config.timeoutSeconds);
  for (size_t i = 0; i < streams.size(); ++i) {
    const Call *call = streams[i]->current();
    auto &[known, since] = wait.at[i];
    if (call != known) {
      known = call;
      since = now;
    }
    if (call && waitsForOthers(*call) && now - since > limit)
      return inCall(*call, waitedFor(world.context, othersOf(call->group)));
  }
  if (isReplaying && world.devices.usesNccl &&
      world.context.mesh.numRanks() > 1 && now - wait.begin > limit)
    return {TPSP_RT_TIMEOUT,
            fmt::format("waited {:.1f} s for a step that is replayed as a CUDA "
                        "graph; if it hangs, --graph off tells in which "
                        "command, and if it is long, give it more --timeout",
                        world.context.config.timeoutSeconds)};
  return {};
}

void CudaRank::drain() {
  communicators.beginAbort();
  waitForIdle();
  for (const std::weak_ptr<GraphExecutable> &each : graphs)
    if (std::shared_ptr<GraphExecutable> graph = each.lock())
      graph->destroy();
  graphs.clear();
  communicators.endAbort();
}

void CudaRank::waitForIdle() {
  auto begin = Clock::now();
  if (drainEnd == Clock::time_point())
    drainEnd =
        begin +
        std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(world.context.config.timeoutSeconds));
  for (const std::unique_ptr<CudaStream> &stream : streams) {
    bool isIdle = false;
    while (stream->poll(isIdle).ok() && !isIdle && Clock::now() < drainEnd)
      rest(Clock::now() - begin);
  }
}

Status CudaRank::tellReplayed() {
  if (!std::exchange(isReplaying, false) || !replayEnd.exists())
    return {};
  float milliseconds = 0;
  TPSP_CUDA(cudaEventElapsedTime, &milliseconds, replayBegin.get(),
            replayEnd.get());
  world.context.config.cuda.replayed(rank, milliseconds * 1e-3);
  return {};
}

Status CudaRank::report() {
  TPSP_TRY(tellReplayed());
  CommandObserver *observer = world.context.config.observer;
  auto timeAt = [&](double seconds) {
    return baseTime + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(seconds));
  };
  for (const std::unique_ptr<CudaStream> &stream : streams)
    TPSP_TRY(stream->clearMarks(
        base.get(), [&](const Call &call, double begin, double end) {
          observer->ran(rank, *call.origin, timeAt(begin), timeAt(end));
        }));
  return observer ? takeBase() : Status();
}

} // namespace tpsp::rt
