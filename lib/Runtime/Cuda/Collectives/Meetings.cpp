#include "Meetings.h"

#include "Runtime/Core/WaitFailure.h"

#include <algorithm>

namespace tpsp::rt {

Status ThreadMeetings::meet(const Call &call, int64_t self,
                            const std::vector<int64_t> &ranks) {
  auto member = std::lower_bound(ranks.begin(), ranks.end(), self);
  return places.find(call.stream, ranks)
      .arrive(member - ranks.begin(), call, /*arena=*/nullptr);
}

Status ThreadMeetings::agree(const Call &call, int64_t self,
                             const std::vector<int64_t> &ranks, bool yes,
                             bool &all) {
  auto member = std::lower_bound(ranks.begin(), ranks.end(), self);
  Rendezvous &meeting = places.find(call.stream, ranks);
  // Any address would do, since no rank reads it; null means no.
  std::byte vote{};
  TPSP_TRY(meeting.arrive(member - ranks.begin(), call, yes ? &vote : nullptr));
  all = true;
  for (size_t i = 0; i < ranks.size(); ++i)
    all = all && meeting.arena(int64_t(i));
  return meeting.sync(member - ranks.begin());
}

Status ProcessMeetings::agree(const Call &call, int64_t self,
                              const std::vector<int64_t> &ranks, bool yes,
                              bool &all) {
  std::byte sent{yes};
  std::vector<std::byte> received(ranks.size(), sent);
  Exchange exchange;
  exchange.tag = exchangeTag(call);
  exchange.timeoutSeconds = world.config.timeoutSeconds;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == self)
      continue;
    exchange.sends.push_back({ranks[i], &sent, 1, 1, 1});
    exchange.receives.push_back({ranks[i], &received[i], 1, 1, 1});
  }
  ExchangeFailure failure;
  if (!exchange.sends.empty() &&
      !world.config.transport->everyone().exchange(exchange, failure))
    return exchangeFailed(world, call, self, exchange, failure);
  all = std::count(received.begin(), received.end(), std::byte(0)) == 0;
  return {};
}

} // namespace tpsp::rt
