#include "CopyCollectives.h"

#include "Runtime/Core/PeerCollectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tpsp::rt {
namespace {

/// The state that a rank keeps with a call.
struct CopyState final : CommandState {
  /// Unset if the group is this rank alone.
  std::optional<GroupMeeting> meeting;
  /// The states of the group's other ranks.
  std::vector<const CopyState *> others;
  CudaEvent ready, reduced, done;
  std::vector<const std::byte *> sources;

  Status prepare(const Call &call, ThreadMeetings *meetings) {
    int64_t ranks = call.group.size();
    sources.resize(size_t(ranks));
    if (ranks == 1)
      return {};
    if (ranks > maxSources)
      return {
          TPSP_RT_UNSUPPORTED,
          fmt::format("a group of {} ranks that share a GPU; there may be {}",
                      ranks, maxSources)};
    meeting.emplace(meetings->places, call);
    TPSP_TRY(ready.create());
    TPSP_TRY(reduced.create());
    return done.create();
  }
};

class CopyAccess final : public PeerAccess {
public:
  CopyAccess(const Call &call, CopyState &state,
             const StreamUse<CudaStream> &use, const BuiltinKernels &kernels)
      : PeerAccess(state.sources), call(call), state(state), use(use),
        kernels(kernels) {}

  Status begin() override {
    if (!state.meeting)
      return {};
    TPSP_CUDA(cudaEventRecord, state.ready.get(), use.stream.get());
    TPSP_TRY(state.meeting->arrive(call, use.arena));
    state.others.clear();
    // All ranks of the group are in this call and keep such a state with it.
    // The states are looked up now: when this call ends, some ranks may already
    // be in the next call.
    for (int64_t member : state.meeting->members)
      if (member != state.meeting->self)
        state.others.push_back(static_cast<const CopyState *>(
            state.meeting->place.call(member).state.get()));
    return waitForOthers(&CopyState::ready);
  }
  Status between() override { return meet(&CopyState::reduced); }
  Status end() override { return meet(&CopyState::done); }

  std::byte *buffer(int64_t number, size_t index) const override {
    return state.meeting ? state.meeting->buffer(number, index)
                         : use.buffer(call, index);
  }

  Status copy(const StridedCopy &copy) override {
    return kernels.copy(copy, use.stream.get());
  }

  Status combine(const Combination &c) override {
    CombineArguments arguments = {c.target,
                                  (long long)c.sources.size(),
                                  c.rows,
                                  c.count,
                                  c.targetPitch,
                                  c.sourcePitch,
                                  {}};
    std::copy(c.sources.begin(), c.sources.end(), arguments.sources);
    return kernels.combine(c.dtype, c.reduction, arguments, use.stream.get());
  }

private:
  Status meet(CudaEvent CopyState::*event) {
    if (!state.meeting)
      return {};
    TPSP_CUDA(cudaEventRecord, (state.*event).get(), use.stream.get());
    TPSP_TRY(state.meeting->sync());
    return waitForOthers(event);
  }

  /// After a meeting: makes the stream wait for this event of all other ranks.
  Status waitForOthers(CudaEvent CopyState::*event) const {
    for (const CopyState *other : state.others)
      TPSP_CUDA(cudaStreamWaitEvent, use.stream.get(), (other->*event).get(),
                0);
    return {};
  }

  const Call &call;
  CopyState &state;
  const StreamUse<CudaStream> &use;
  const BuiltinKernels &kernels;
};

} // namespace

Status CopyCollectives::run(Call &call, const StreamUse<CudaStream> &use) {
  if (!call.state) {
    auto fresh = std::make_unique<CopyState>();
    TPSP_TRY(fresh->prepare(call, meetings));
    call.state = std::move(fresh);
  }
  CopyAccess peers(call, static_cast<CopyState &>(*call.state), use, kernels);
  return runBetweenPeers(call, peers);
}

} // namespace tpsp::rt
