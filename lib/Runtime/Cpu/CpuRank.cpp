#include "CpuRank.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

namespace tpsp::rt {

CpuRank::CpuRank(const BackendContext &world, int64_t rank, EventTable &events,
                 Collectives<ScratchBuffer> &collectives)
    : world(world), rank(rank), events(events), collectives(collectives),
      issuedRecords(world.config.numEvents, 0) {}

Status CpuRank::initialize() {
  TPSP_TRY(arena.allocate(world.config.arenaBytes));
  CpuRankParts parts{world, rank, arena.data(), events, collectives};
  ownStream = std::make_unique<CpuStream>(parts, world.config.threadsPerRank);
  ownStream->adoptThread();
  for (int64_t i = 1; i < world.config.numStreams; ++i) {
    size_t index = lanes.size();
    lanes.push_back(std::make_unique<Lane>(
        parts, [this, index](const StreamCommand &command) {
          runBeside(*lanes[index], command);
        }));
  }
  // Threads are started only now, because they read `lanes`.
  for (const std::unique_ptr<Lane> &lane : lanes)
    TPSP_TRY(lane->thread.start("a stream"));
  return {};
}

Status CpuRank::run(Call &call) {
  int64_t record = 0;
  if (const auto *c = std::get_if<EventRecordCommand>(&call.command))
    record = ++issuedRecords[c->event];
  if (const auto *c = std::get_if<EventWaitCommand>(&call.command))
    record = issuedRecords[c->event];
  if (call.stream == 0)
    return ownStream->run({&call, record});
  lanes[call.stream - 1]->thread.enqueue({&call, record});
  return {};
}

void CpuRank::runBeside(Lane &lane, const StreamCommand &command) {
  lane.current.store(command.call, std::memory_order_release);
  Status status = guardedRun(lane, command);
  lane.current.store(nullptr, std::memory_order_release);
  if (status.ok())
    return;
  status = inCall(*command.call, status);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok())
      failure = status;
  }
  world.failed(rank, status);
}

Status CpuRank::guardedRun(Lane &lane, const StreamCommand &command) {
  if (events.isAborted())
    return abortedByAnother();
  if (!lane.adopted)
    lane.stream.adoptThread();
  lane.adopted = true;
  try {
    return lane.stream.run(command);
  } catch (const std::exception &error) {
    return {TPSP_RT_INTERNAL, error.what()};
  }
}

Status CpuRank::synchronize() {
  for (const std::unique_ptr<Lane> &lane : lanes)
    lane->thread.drain();
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

std::string CpuRank::streamActivity() {
  std::string text;
  for (size_t i = 0; i < lanes.size(); ++i)
    if (const Call *call = lanes[i]->current.load(std::memory_order_acquire))
      text +=
          fmt::format("{}stream {} is at {} \"{}\"", text.empty() ? "" : ", ",
                      i + 1, callName(call->kind), call->name);
  return text;
}

Status CpuRank::write(int64_t offset, const void *source, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(arena.data() + offset, source, bytes);
  return {};
}

Status CpuRank::read(int64_t offset, void *destination, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(destination, arena.data() + offset, bytes);
  return {};
}

void *CpuRank::hostAddress(int64_t offset) {
  return arena.data() ? arena.data() + offset : nullptr;
}

} // namespace tpsp::rt
