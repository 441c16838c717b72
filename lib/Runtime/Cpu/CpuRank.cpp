#include "CpuRank.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

namespace tpsp::rt {

CpuRank::CpuRank(const BackendContext &world, int64_t rank, EventTable &events,
                 Collectives &collectives)
    : world(world), rank(rank), events(events), collectives(collectives),
      issuedRecords(world.config.numEvents, 0) {}

Status CpuRank::initialize() {
  if (Status status = arena.allocate(world.config.arenaBytes); !status.ok())
    return status;
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
  // Only now: the threads look into `lanes`.
  for (const std::unique_ptr<Lane> &lane : lanes)
    if (Status status = lane->thread.start(); !status.ok())
      return status;
  return {};
}

Status CpuRank::submit(Call &call, int64_t record) {
  if (call.stream == 0)
    return ownStream->run({&call, record});
  lanes[call.stream - 1]->thread.enqueue({&call, record});
  return {};
}

void CpuRank::runBeside(Lane &lane, const StreamCommand &command) {
  Status status = guardedRun(lane, command);
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
    return {TPSP_RT_ABORTED, "another rank or stream failed"};
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
    if (const Call *call = lanes[i]->thread.current())
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
