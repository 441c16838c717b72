#include "SharedMemoryCollectives.h"

#include "../Core/PeerCollectives.h"
#include "CopyRows.h"
#include "Reduction.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {
namespace {

struct MeetingState final : CommandState, GroupMeeting {
  using GroupMeeting::GroupMeeting;
};

/// Ranks meet between the steps of a call; the calling thread does the copies.
class SharedMemoryAccess final : public PeerAccess {
public:
  SharedMemoryAccess(const Call &call, GroupMeeting &meeting, std::byte *arena)
      : PeerAccess(meeting.sources), call(call), meeting(meeting),
        arena(arena) {}

  Status begin() override { return meeting.arrive(call, arena); }
  Status between() override { return meeting.sync(); }
  Status end() override { return meeting.sync(); }

  std::byte *buffer(int64_t number, size_t index) const override {
    return meeting.buffer(number, index);
  }

  Status copy(const StridedCopy &copy) override {
    copyBlocks(copy);
    return {};
  }

  Status combine(const Combination &c) override {
    ReduceFunction reduce = reduceFunction(c.dtype, c.reduction);
    int64_t width = elementBytes(c.dtype);
    for (int64_t row = 0; row < c.rows; ++row) {
      reduce(c.target + row * c.targetPitch * width, c.sources.data(),
             int64_t(c.sources.size()), c.count);
      for (const std::byte *&source : c.sources)
        source += c.sourcePitch * width;
    }
    return {};
  }

private:
  const Call &call;
  GroupMeeting &meeting;
  std::byte *const arena;
};

} // namespace

Status SharedMemoryCollectives::run(Call &call,
                                    const StreamUse<ScratchBuffer> &use) {
  if (!call.state)
    call.state = std::make_unique<MeetingState>(places, call);
  SharedMemoryAccess peers(call, static_cast<MeetingState &>(*call.state),
                           use.arena);
  return runBetweenPeers(call, peers);
}

} // namespace tpsp::rt
