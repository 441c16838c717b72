#include "Meetings.h"

#include "CudaCheck.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// FNV-1a over what ranks that meet must have in common.
int32_t tagOf(const Call &call) {
  uint64_t hash = 0xcbf29ce484222325ull;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3ull;
    hash ^= hash >> 29;
  };
  mix(uint64_t(call.kind));
  for (int64_t value : call.params)
    mix(uint64_t(value));
  return int32_t(hash >> 34);
}

} // namespace

Status ThreadMeetings::meet(const Call &call, int64_t self,
                            const std::vector<int64_t> &ranks) {
  auto member = std::lower_bound(ranks.begin(), ranks.end(), self);
  return place(call.stream, ranks)
      .arrive(member - ranks.begin(), call, /*arena=*/nullptr);
}

Status ThreadMeetings::agree(const Call &call, int64_t self,
                             const std::vector<int64_t> &ranks, bool yes,
                             bool &all) {
  auto member = std::lower_bound(ranks.begin(), ranks.end(), self);
  Rendezvous &meeting = place(call.stream, ranks);
  // An address as good as any; nobody looks there.
  std::byte vote{};
  TPSP_TRY(meeting.arrive(member - ranks.begin(), call, yes ? &vote : nullptr));
  all = true;
  for (size_t i = 0; i < ranks.size(); ++i)
    all = all && meeting.arena(int64_t(i));
  return meeting.sync(member - ranks.begin(), call);
}

Rendezvous &ThreadMeetings::place(int64_t stream,
                                  const std::vector<int64_t> &ranks) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Rendezvous> &place = places[{stream, ranks}];
  if (!place) {
    place = std::make_unique<Rendezvous>(world, ranks);
    if (aborted)
      place->abort();
  }
  return *place;
}

void ThreadMeetings::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  aborted = true;
  for (auto &entry : places)
    entry.second->abort();
}

Status ProcessMeetings::agree(const Call &call, int64_t self,
                              const std::vector<int64_t> &ranks, bool yes,
                              bool &all) {
  std::byte sent{yes};
  std::vector<std::byte> received(ranks.size(), sent);
  Exchange exchange;
  exchange.tag = tagOf(call);
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
    return failureOf(call, self, failure);
  all = std::count(received.begin(), received.end(), std::byte(0)) == 0;
  return {};
}

std::string
ProcessMeetings::nameRanks(const std::vector<int64_t> &ranks) const {
  if (ranks.empty())
    return "another process";
  std::string text;
  for (int64_t rank : ranks)
    text += fmt::format("{}rank {} ({})", text.empty() ? "" : ", ", rank,
                        world.activity(rank));
  return text;
}

Status ProcessMeetings::failureOf(const Call &call, int64_t self,
                                  const ExchangeFailure &failure) const {
  using Kind = ExchangeFailure::Kind;
  std::string names = nameRanks(failure.ranks);
  switch (failure.kind) {
  case Kind::TimedOut:
    return {TPSP_RT_TIMEOUT, fmt::format("waited {:.1f} s for {}",
                                         world.config.timeoutSeconds, names)};
  case Kind::Stopped:
    return {TPSP_RT_TIMEOUT,
            fmt::format("a process has ended or was ended, while this one "
                        "waited for {}",
                        names)};
  case Kind::Disagreed:
    return {TPSP_RT_INVALID,
            fmt::format("rank {} calls {} where {} calls something else", self,
                        describe(call, world.mesh), names)};
  case Kind::Aborted:
    return {TPSP_RT_ABORTED, failure.text.empty()
                                 ? "another rank or stream failed"
                                 : failure.text};
  case Kind::Broken:
    break;
  }
  return {TPSP_RT_INTERNAL, failure.text};
}

} // namespace tpsp::rt
