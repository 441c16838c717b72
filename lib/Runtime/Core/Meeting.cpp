#include "tpsp/Runtime/Meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// The tag of all exchanges in this file. A plan's exchanges have channels of
/// their own.
constexpr int32_t meetTag = 1;

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

Status exchangeWith(Transport &transport, const Exchange &exchange,
                    const char *what) {
  ExchangeFailure failure;
  if (exchange.sends.empty() && exchange.receives.empty())
    return {};
  if (transport.everyone().exchange(exchange, failure))
    return {};
  return statusOf(failure, what, exchange.timeoutSeconds);
}

Status exchangeAll(Transport &transport, const std::vector<uint64_t> &mine,
                   const char *what, double timeoutSeconds,
                   std::vector<std::vector<uint64_t>> &all) {
  all.assign(transport.size(), mine);
  if (mine.empty())
    return {};
  std::vector<uint64_t> sent = mine;
  Exchange exchange;
  exchange.tag = meetTag;
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
  return exchangeWith(transport, exchange, what);
}

Status refuseTogether(Transport &transport, const std::string &message) {
  if (transport.rank() == 0)
    return {TPSP_RT_INVALID, message};
  // Rank 0 does not join this exchange; its failure ends the wait.
  std::vector<std::vector<uint64_t>> all;
  (void)exchangeAll(transport, {0}, "to end", unboundedSeconds, all);
  return {TPSP_RT_ABORTED, message};
}

std::vector<int64_t>
differingRanks(const std::vector<std::vector<uint64_t>> &all, size_t i) {
  std::vector<int64_t> ranks;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank][i] != all[0][i])
      ranks.push_back(int64_t(rank));
  return ranks;
}

std::string ranksText(const std::vector<int64_t> &ranks) {
  constexpr size_t most = 8;
  size_t listed = std::min(most, ranks.size());
  std::string text = fmt::format(
      "rank{} {}", ranks.size() > 1 ? "s" : "",
      fmt::join(ranks.begin(), ranks.begin() + std::ptrdiff_t(listed), ", "));
  if (listed < ranks.size())
    text += fmt::format(" and {} more", ranks.size() - listed);
  return text;
}

} // namespace tpsp::rt
