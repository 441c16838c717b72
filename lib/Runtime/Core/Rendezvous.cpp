#include "Rendezvous.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "WaitFailure.h"

#include <algorithm>
#include <chrono>

namespace tpsp::rt {

Rendezvous::Rendezvous(const BackendContext &world, std::vector<int64_t> ranks)
    : world(world), ranks(std::move(ranks)), members(this->ranks.size()) {}

Status Rendezvous::arrive(int64_t member, const Call &call, std::byte *arena) {
  std::unique_lock<std::mutex> lock(mutex);
  TPSP_TRY(checkMatch(member, call));
  members[member].call = &call;
  members[member].arena = arena;
  return wait(lock, member);
}

Status Rendezvous::sync(int64_t member) {
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

/// Compares the call with that of any rank that is already here. When the last
/// rank arrives, each call has been compared with the first.
Status Rendezvous::checkMatch(int64_t member, const Call &call) const {
  for (size_t i = 0; i < members.size(); ++i) {
    const Call *other = members[i].here ? members[i].call : nullptr;
    if (!other || (other->kind == call.kind && other->params == call.params))
      continue;
    return invalid("rank {} calls {} where rank {} calls {}", ranks[member],
                   describe(call, world.mesh), ranks[i],
                   describe(*other, world.mesh));
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
    return abortedByAnother();
  std::vector<int64_t> missing;
  for (size_t i = 0; i < members.size(); ++i)
    if (!members[i].here)
      missing.push_back(ranks[i]);
  return waitedFor(world, missing);
}

std::vector<int64_t> ascending(const RankGroup &group) {
  std::vector<int64_t> ranks = group.ranks;
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Rendezvous &MeetingPlaces::find(int64_t stream,
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

void MeetingPlaces::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  aborted = true;
  for (auto &entry : places)
    entry.second->abort();
}

GroupMeeting::GroupMeeting(MeetingPlaces &places, const Call &call)
    : place(places.find(call.stream, ascending(call.group))),
      sources(call.group.ranks.size()) {
  std::vector<int64_t> ranks = ascending(call.group);
  for (int64_t rank : call.group.ranks)
    members.push_back(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                      ranks.begin());
  self = members[size_t(call.group.self)];
}

} // namespace tpsp::rt
