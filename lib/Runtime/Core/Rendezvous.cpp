#include "Rendezvous.h"

#include <fmt/format.h>

#include <chrono>

namespace tpsp::rt {

Rendezvous::Rendezvous(const BackendContext &world, std::vector<int64_t> ranks)
    : world(world), ranks(std::move(ranks)), members(this->ranks.size()) {}

Status Rendezvous::arrive(int64_t member, const Call &call, std::byte *arena) {
  std::unique_lock<std::mutex> lock(mutex);
  if (Status status = checkMatch(member, call); !status.ok())
    return status;
  members[member].call = &call;
  members[member].arena = arena;
  return wait(lock, member);
}

Status Rendezvous::sync(int64_t member, const Call &call) {
  std::unique_lock<std::mutex> lock(mutex);
  return wait(lock, member);
}

void Rendezvous::abort() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    aborted = true;
  }
  changed.notify_all();
}

/// Compares with any rank that is here already; by the time the last arrives,
/// each has been compared with the first.
Status Rendezvous::checkMatch(int64_t member, const Call &call) const {
  for (size_t i = 0; i < members.size(); ++i) {
    const Call *other = members[i].here ? members[i].call : nullptr;
    if (!other || (other->kind == call.kind && other->params == call.params))
      continue;
    return {TPSP_RT_INVALID,
            fmt::format("rank {} calls {} where rank {} calls {}",
                        ranks[member], describe(call, world.mesh), ranks[i],
                        describe(*other, world.mesh))};
  }
  return {};
}

Status Rendezvous::wait(std::unique_lock<std::mutex> &lock, int64_t member) {
  members[member].here = true;
  if (++arrived == static_cast<int64_t>(members.size()) && !aborted) {
    for (Member &each : members)
      each.here = false;
    arrived = 0;
    ++phase;
    lock.unlock();
    changed.notify_all();
    return {};
  }
  auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(world.config.timeoutSeconds));
  uint64_t entered = phase;
  bool ended = changed.wait_until(lock, deadline,
                                  [&] { return phase != entered || aborted; });
  if (phase != entered)
    return {};
  if (ended)
    return {TPSP_RT_ABORTED, "another rank or stream failed"};
  return timeout();
}

Status Rendezvous::timeout() const {
  std::string missing;
  for (size_t i = 0; i < members.size(); ++i)
    if (!members[i].here)
      missing += fmt::format("{}rank {} ({})", missing.empty() ? "" : ", ",
                             ranks[i], world.activity(ranks[i]));
  return {TPSP_RT_TIMEOUT, fmt::format("waited {:.1f} s for {}",
                                       world.config.timeoutSeconds, missing)};
}

} // namespace tpsp::rt
