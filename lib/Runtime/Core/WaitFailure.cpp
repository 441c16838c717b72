#include "WaitFailure.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>

namespace tpsp::rt {

static std::string nameRanks(const BackendContext &world,
                             const std::vector<int64_t> &ranks) {
  if (ranks.empty())
    return "another process";
  std::string text;
  for (int64_t rank : ranks)
    text += fmt::format("{}rank {} ({})", text.empty() ? "" : ", ", rank,
                        world.activity(rank));
  return text;
}

Status waitedFor(const BackendContext &world, const std::vector<int64_t> &ranks,
                 double seconds) {
  return {TPSP_RT_TIMEOUT,
          fmt::format("waited {:.1f} s for {}",
                      seconds > 0 ? seconds : world.config.timeoutSeconds,
                      nameRanks(world, ranks))};
}

Status exchangeFailed(const BackendContext &world, const Call &call,
                      int64_t self, const Exchange &exchange,
                      const ExchangeFailure &failure) {
  using Kind = ExchangeFailure::Kind;
  switch (failure.kind) {
  case Kind::TimedOut:
    return waitedFor(world, failure.ranks, exchange.timeoutSeconds);
  case Kind::Stopped:
    return {TPSP_RT_TIMEOUT,
            fmt::format("a process has ended or was ended, while this one "
                        "waited for {}",
                        nameRanks(world, failure.ranks))};
  case Kind::Disagreed:
    return invalid("rank {} calls {} where {} calls something else", self,
                   describe(call, world.mesh), nameRanks(world, failure.ranks));
  case Kind::Aborted:
    return failure.text.empty() ? abortedByAnother()
                                : Status(TPSP_RT_ABORTED, failure.text);
  case Kind::Broken:
    break;
  }
  return {TPSP_RT_INTERNAL, failure.text};
}

/// An FNV-1a hash.
int32_t exchangeTag(const Call &call) {
  uint64_t hash = 0xcbf29ce484222325ull;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3ull;
    hash ^= hash >> 29;
  };
  mix(static_cast<uint64_t>(call.kind));
  for (int64_t value : call.params)
    mix(static_cast<uint64_t>(value));
  return static_cast<int32_t>(hash >> 34);
}

} // namespace tpsp::rt
