#include "ProcessGroup.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// Tags of the exchanges here; a plan's have channels of their own.
enum Tag { MeetTag = 1, CollectTag = 2 };

/// For what is bounded by the first process's work and not by a time.
constexpr double unbounded = 1e9;

Status statusOf(const ExchangeFailure &failure, const char *what,
                double seconds) {
  using Kind = ExchangeFailure::Kind;
  std::string ranks =
      failure.ranks.empty()
          ? "another process"
          : fmt::format("rank {}", fmt::join(failure.ranks, ", rank "));
  switch (failure.kind) {
  case Kind::TimedOut:
    return {TPSP_RT_TIMEOUT,
            fmt::format("waited {:.1f} s for {} {}", seconds, ranks, what)};
  case Kind::Stopped:
    return {TPSP_RT_TIMEOUT,
            fmt::format("a process has ended or was ended, while this one "
                        "waited for {} {}",
                        ranks, what)};
  case Kind::Disagreed:
    return {TPSP_RT_INTERNAL,
            fmt::format("{} is elsewhere in the program than this one, "
                        "which waits {}",
                        ranks, what)};
  case Kind::Aborted:
    return {TPSP_RT_ABORTED,
            failure.text.empty() ? "another rank failed" : failure.text};
  case Kind::Broken:
    break;
  }
  return {TPSP_RT_INTERNAL, failure.text};
}

} // namespace

Status ProcessGroup::create(const WorldConfig &config, const RankMesh &mesh,
                            std::unique_ptr<ProcessGroup> &out) {
  Transport &transport = *config.transport;
  if (transport.size() != mesh.numRanks()) {
    std::vector<std::string> axes;
    for (const MeshAxis &axis : mesh.axes())
      axes.push_back(fmt::format("{}={}", axis.name, axis.size));
    return invalid("the mesh [{}] has {} ranks, but mpirun has started {} "
                   "processes; start it with -n {}, or give the mesh "
                   "other sizes",
                   fmt::join(axes, ", "), mesh.numRanks(), transport.size(),
                   mesh.numRanks());
  }
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(config));
  TPSP_TRY(group->checkAgreement(config));
  out = std::move(group);
  return {};
}

Status ProcessGroup::checkOptions(const WorldConfig &config) {
  std::vector<uint64_t> mine;
  for (const auto &[name, hash] : config.agreed)
    mine.push_back(hash);
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(exchangeAll(mine, "to begin", all));
  for (size_t rank = 0; rank < all.size(); ++rank)
    for (size_t i = 0; i < mine.size(); ++i)
      if (all[rank][i] != all[0][i])
        return invalid("{} of rank {} is not that of rank 0; give all "
                       "processes the same",
                       config.agreed[i].first, rank);
  return {};
}

Status ProcessGroup::checkAgreement(const WorldConfig &config) {
  std::vector<uint64_t> mine = {
      config.planHash, uint64_t(config.arenaBytes), uint64_t(config.numStreams),
      uint64_t(config.numEvents), uint64_t(config.agreed.size())};
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(exchangeAll(mine, "to begin", all));
  // Before what follows from them.
  auto hasAsMany = [&](auto &other) { return other.back() == mine.back(); };
  if (mine.back() > 0 && std::all_of(all.begin(), all.end(), hasAsMany))
    TPSP_TRY(checkOptions(config));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return invalid("rank {} has another program, or other options, than "
                     "rank 0 (arenas of {} and {} bytes); give all "
                     "processes the same",
                     rank, all[rank][1], all[0][1]);
  return {};
}

Status ProcessGroup::exchange(const Exchange &exchange, const char *what) {
  ExchangeFailure failure;
  if (exchange.sends.empty() && exchange.receives.empty())
    return {};
  if (transport.everyone().exchange(exchange, failure))
    return {};
  return statusOf(failure, what, exchange.timeoutSeconds);
}

Status ProcessGroup::exchangeAll(const std::vector<uint64_t> &mine,
                                 const char *what,
                                 std::vector<std::vector<uint64_t>> &all) {
  all.assign(transport.size(), mine);
  std::vector<uint64_t> sent = mine;
  Exchange exchange;
  exchange.tag = MeetTag;
  exchange.timeoutSeconds = timeoutSeconds;
  int64_t bytes = int64_t(mine.size() * sizeof(uint64_t));
  for (int64_t rank = 0; rank < transport.size(); ++rank) {
    if (rank == transport.rank())
      continue;
    auto piece = [&](std::vector<uint64_t> &values) {
      return Piece{rank, reinterpret_cast<std::byte *>(values.data()), 1, bytes,
                   bytes};
    };
    exchange.sends.push_back(piece(sent));
    exchange.receives.push_back(piece(all[rank]));
  }
  return this->exchange(exchange, what);
}

Status ProcessGroup::meet() {
  std::vector<std::vector<uint64_t>> all;
  return exchangeAll({0}, "at the end of a run", all);
}

Status ProcessGroup::sum(int64_t &value) {
  std::vector<std::vector<uint64_t>> all;
  TPSP_TRY(exchangeAll({uint64_t(value)}, "to add up figures", all));
  value = 0;
  for (const std::vector<uint64_t> &each : all)
    value += int64_t(each[0]);
  return {};
}

Status ProcessGroup::collect(
    void *memory, int64_t bytes, const std::function<bool(int64_t)> &wanted,
    const std::function<Status(int64_t, const void *)> &body) {
  auto bytesOf = [](void *data) { return static_cast<std::byte *>(data); };
  Exchange exchange;
  exchange.tag = CollectTag;
  exchange.timeoutSeconds = unbounded;
  if (rank() != 0) {
    if (wanted(rank()) && bytes > 0)
      exchange.sends = {{0, bytesOf(memory), 1, bytes, bytes}};
    return this->exchange(exchange, "to collect results");
  }
  std::vector<char> received(transport.size() > 1 ? bytes : 0);
  for (int64_t r = 0; r < transport.size(); ++r) {
    if (!wanted(r))
      continue;
    if (r > 0 && bytes > 0) {
      exchange.receives = {{r, bytesOf(received.data()), 1, bytes, bytes}};
      TPSP_TRY(this->exchange(exchange, "to collect results"));
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
