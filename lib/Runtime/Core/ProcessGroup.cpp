#include "ProcessGroup.h"
#include "tpsp/Runtime/Meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// The tag of collected data; meetings have their own (Meeting.h).
constexpr int32_t collectTag = 2;

} // namespace

Status ProcessGroup::create(const WorldConfig &config, const RankMesh &mesh,
                            std::unique_ptr<ProcessGroup> &out) {
  Transport &transport = *config.transport;
  if (transport.size() != mesh.numRanks()) {
    std::vector<std::string> axes;
    for (const MeshAxis &axis : mesh.axes())
      axes.push_back(fmt::format("{}={}", axis.name, axis.size));
    return refuseTogether(
        transport,
        fmt::format("the mesh [{}] has {} ranks, but mpirun has started {} "
                    "processes; start it with -n {}, or give the mesh other "
                    "sizes",
                    fmt::join(axes, ", "), mesh.numRanks(), transport.size(),
                    mesh.numRanks()));
  }
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(config));
  TPSP_TRY(group->checkAgreement(config));
  out = std::move(group);
  return {};
}

Status ProcessGroup::checkAgreement(const WorldConfig &config) {
  std::vector<uint64_t> mine = {config.planHash, uint64_t(config.arenaBytes),
                                uint64_t(config.numStreams),
                                uint64_t(config.numEvents)};
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(exchange(mine, "to begin", all));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return refuseTogether(
          transport, fmt::format("rank {} has another program than rank 0 "
                                 "(arenas of {} and {} bytes); give all "
                                 "processes the same",
                                 rank, all[rank][1], all[0][1]));
  return {};
}

Status ProcessGroup::exchange(const std::vector<uint64_t> &mine,
                              const char *what,
                              std::vector<std::vector<uint64_t>> &all) {
  return exchangeAll(transport, mine, what, timeoutSeconds, all);
}

Status ProcessGroup::meet() {
  std::vector<std::vector<uint64_t>> all;
  return exchange({0}, "at the end of a run", all);
}

Status ProcessGroup::waitForFirst() {
  std::vector<std::vector<uint64_t>> all;
  return exchangeAll(transport, {0}, "to go on", unboundedSeconds, all);
}

Status ProcessGroup::sum(int64_t &value) {
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(exchange({uint64_t(value)}, "to add up figures", all));
  uint64_t total = 0;
  for (const std::vector<uint64_t> &each : all)
    total += each[0];
  value = int64_t(total);
  return {};
}

Status ProcessGroup::collect(
    void *memory, int64_t bytes, const std::function<bool(int64_t)> &wanted,
    const std::function<Status(int64_t, const void *)> &body) {
  auto bytesOf = [](void *data) { return static_cast<std::byte *>(data); };
  Exchange exchange;
  exchange.tag = collectTag;
  exchange.timeoutSeconds = unboundedSeconds;
  if (rank() != 0) {
    if (wanted(rank()) && bytes > 0)
      exchange.sends = {{0, bytesOf(memory), 1, bytes, bytes}};
    return exchangeWith(transport, exchange, "to collect results");
  }
  std::vector<char> received(transport.size() > 1 ? bytes : 0);
  for (int64_t r = 0; r < transport.size(); ++r) {
    if (!wanted(r))
      continue;
    if (r > 0 && bytes > 0) {
      exchange.receives = {{r, bytesOf(received.data()), 1, bytes, bytes}};
      TPSP_TRY(exchangeWith(transport, exchange, "to collect results"));
    }
    TPSP_TRY(body(r, r > 0 ? received.data() : memory));
  }
  return {};
}

void ProcessGroup::announce(int64_t rank, const Status &failure) {
  if (failure.code() != TPSP_RT_ABORTED)
    transport.announceFailure(
        fmt::format("rank {}: {}", rank, failure.message()));
}

} // namespace tpsp::rt
