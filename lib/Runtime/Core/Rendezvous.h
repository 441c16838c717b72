/// A meeting of the ranks of a group for a collective.
///
/// A collective has three steps: arrive (all buffers become readable), read the
/// others' buffers, sync (no rank reads any more). Waiting blocks and does not
/// spin, because there may be more ranks than cores. It ends after the world's
/// timeout or when the world is aborted. No call allocates unless it fails.
/// Addresses are only passed on, never read, so they may be a GPU's.
#ifndef TPSP_RUNTIME_CORE_RENDEZVOUS_H
#define TPSP_RUNTIME_CORE_RENDEZVOUS_H

#include "tpsp/Runtime/Backend.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tpsp::rt {

class Rendezvous {
public:
  /// `ranks` are numbers in the world. A rank's position in the list is its
  /// *member* number.
  Rendezvous(const BackendContext &world, std::vector<int64_t> ranks);

  /// Announces `call`, whose buffers are in the arena at `arena`, and waits for
  /// the other members. TIMEOUT names the missing ranks. INVALID if another
  /// rank makes a different call. ABORTED if the world is aborted.
  Status arrive(int64_t member, const Call &call, std::byte *arena);

  /// Waits until all members have called it, with the same failures.
  Status sync(int64_t member);

  /// Buffer `index` of a member's call. Valid between arrive and the last sync.
  std::byte *buffer(int64_t member, size_t index) const {
    return members[member].arena + members[member].call->buffers[index];
  }

  /// A member's call. Valid between arrive and the last sync.
  const Call &call(int64_t member) const { return *members[member].call; }

  /// The arena that a member passed to arrive. Valid between arrive and the
  /// last sync.
  std::byte *arena(int64_t member) const { return members[member].arena; }

  /// Makes all waits, pending and later, return ABORTED.
  void abort();

private:
  struct Member {
    const Call *call = nullptr;
    std::byte *arena = nullptr;
    bool here = false;
  };

  Status wait(std::unique_lock<std::mutex> &lock, int64_t member);
  Status checkMatch(int64_t member, const Call &call) const;

  const BackendContext &world;
  const std::vector<int64_t> ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Member> members;
  int64_t arrived = 0;
  uint64_t phase = 0;
  bool aborted = false;
};

/// The ranks of a group in ascending order, whatever order the group has.
std::vector<int64_t> ascending(const RankGroup &group);

/// All meeting places of a world.
class MeetingPlaces {
public:
  explicit MeetingPlaces(const BackendContext &world) : world(world) {}

  /// The meeting place of these ranks (ascending) on a stream. All orders of a
  /// group share it, so ranks that disagree about the order meet there and get
  /// an error.
  Rendezvous &find(int64_t stream, const std::vector<int64_t> &ranks);

  /// Makes all waits, pending and later, return ABORTED. Callable from any
  /// thread.
  void abort();

private:
  const BackendContext &world;
  std::mutex mutex;
  std::map<std::pair<int64_t, std::vector<int64_t>>,
           std::unique_ptr<Rendezvous>>
      places;
  bool aborted = false;
};

/// The meeting place of a call's ranks, as one of them keeps it with the call.
struct GroupMeeting {
  GroupMeeting(MeetingPlaces &places, const Call &call);

  Status arrive(const Call &call, std::byte *arena) {
    return place.arrive(self, call, arena);
  }
  Status sync() { return place.sync(self); }
  /// Buffer `index` of the call of rank `number` of the group.
  std::byte *buffer(int64_t number, size_t index) const {
    return place.buffer(members[size_t(number)], index);
  }

  Rendezvous &place;
  /// The member number of each rank of the group, in the group's order, and
  /// this rank's own member number.
  std::vector<int64_t> members;
  int64_t self;
  /// Room for one address per rank of the group.
  std::vector<const std::byte *> sources;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_RENDEZVOUS_H
