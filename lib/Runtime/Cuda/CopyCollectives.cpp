#include "CopyCollectives.h"

#include "../Core/GroupParts.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {

/// Where a rank meets its group for one call.
class CopyCollectives::Meeting final : public CommandState {
public:
  Status prepare(const Call &call, ThreadMeetings *meetings);

  /// Everybody's sources may be read behind this.
  Status begin(const Call &call, const StreamUse &use);
  /// The others' reductions may be read behind this.
  Status between(const Call &call, const StreamUse &use);
  /// Everything may be overwritten behind this.
  Status end(const Call &call, const StreamUse &use);

  /// Buffer `index` of the call of number `number` of the group.
  std::byte *buffer(const Call &call, const StreamUse &use, int64_t number,
                    size_t index) const {
    return place ? place->buffer(members[size_t(number)], index)
                 : use.buffer(call, index);
  }

private:
  /// Behind a meeting: the stream waits for that event of all others.
  Status waitForOthers(CudaEvent Meeting::*event, const StreamUse &use) const;

  /// Null: the group is this rank.
  Rendezvous *place = nullptr;
  /// This rank's member number there, and that of each of the group in order.
  int64_t self = 0;
  std::vector<int64_t> members;
  std::vector<const Meeting *> others;
  CudaEvent ready, reduced, done;
};

Status CopyCollectives::Meeting::prepare(const Call &call,
                                         ThreadMeetings *meetings) {
  if (call.group.size() == 1)
    return {};
  if (call.group.size() > maxSources)
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a group of {} ranks that share a GPU; there may be {}",
                        call.group.size(), maxSources)};
  std::vector<int64_t> ascending = call.group.ranks;
  std::sort(ascending.begin(), ascending.end());
  for (int64_t rank : call.group.ranks)
    members.push_back(
        std::lower_bound(ascending.begin(), ascending.end(), rank) -
        ascending.begin());
  self = members[size_t(call.group.self)];
  place = &meetings->place(call.stream, ascending);
  TPSP_TRY(ready.create());
  TPSP_TRY(reduced.create());
  return done.create();
}

Status CopyCollectives::Meeting::waitForOthers(CudaEvent Meeting::*event,
                                               const StreamUse &use) const {
  for (const Meeting *other : others)
    TPSP_CUDA(cudaStreamWaitEvent, use.stream.get(), (other->*event).get(), 0);
  return {};
}

Status CopyCollectives::Meeting::begin(const Call &call, const StreamUse &use) {
  if (!place)
    return {};
  TPSP_CUDA(cudaEventRecord, ready.get(), use.stream.get());
  TPSP_TRY(place->arrive(self, call, use.arena));
  others.clear();
  // All of the group are in this call, and keep such a state with it. By the
  // end of it the first are in the next, so the place does not know them then.
  for (int64_t member = 0; member < int64_t(members.size()); ++member)
    if (member != self)
      others.push_back(
          static_cast<const Meeting *>(place->call(member).state.get()));
  return waitForOthers(&Meeting::ready, use);
}

Status CopyCollectives::Meeting::between(const Call &call,
                                         const StreamUse &use) {
  if (!place)
    return {};
  TPSP_CUDA(cudaEventRecord, reduced.get(), use.stream.get());
  TPSP_TRY(place->sync(self, call));
  return waitForOthers(&Meeting::reduced, use);
}

Status CopyCollectives::Meeting::end(const Call &call, const StreamUse &use) {
  if (!place)
    return {};
  TPSP_CUDA(cudaEventRecord, done.get(), use.stream.get());
  TPSP_TRY(place->sync(self, call));
  return waitForOthers(&Meeting::done, use);
}

Status CopyCollectives::meetingOf(Call &call, const StreamUse &use,
                                  Meeting *&out) {
  if (!call.state) {
    auto fresh = std::make_unique<Meeting>();
    TPSP_TRY(fresh->prepare(call, meetings));
    call.state = std::move(fresh);
  }
  out = static_cast<Meeting *>(call.state.get());
  return out->begin(call, use);
}

Status CopyCollectives::reduceOwnPart(const Call &call,
                                      const AllReduceCommand &command,
                                      const Meeting &meeting,
                                      const StreamUse &use) {
  int64_t width = elementBytes(command.dtype), ranks = call.group.size();
  for (size_t i = 0; i < command.counts.size(); ++i) {
    Part part(command.counts[i], ranks, call.group.self);
    CombineArguments c = {};
    c.target = use.buffer(call, 2 * i + 1) + part.begin * width;
    c.numSources = ranks;
    c.rows = 1;
    c.count = part.size();
    for (int64_t q = 0; q < ranks; ++q)
      c.sources[q] = meeting.buffer(call, use, q, 2 * i) + part.begin * width;
    TPSP_TRY(
        kernels.combine(command.dtype, command.reduction, c, use.stream.get()));
  }
  return {};
}

Status CopyCollectives::copyOtherParts(const Call &call,
                                       const AllReduceCommand &command,
                                       const Meeting &meeting,
                                       const StreamUse &use) {
  int64_t width = elementBytes(command.dtype), ranks = call.group.size();
  for (size_t i = 0; i < command.counts.size(); ++i)
    for (int64_t q = 0; q < ranks; ++q) {
      Part part(command.counts[i], ranks, q);
      if (q == call.group.self)
        continue;
      StridedCopy copy;
      copy.target = use.buffer(call, 2 * i + 1) + part.begin * width;
      copy.source =
          meeting.buffer(call, use, q, 2 * i + 1) + part.begin * width;
      copy.bytes = part.size() * width;
      TPSP_TRY(kernels.copy(copy, use.stream.get()));
    }
  return {};
}

Status CopyCollectives::allReduce(Call &call, const AllReduceCommand &command,
                                  const StreamUse &use) {
  Meeting *meeting = nullptr;
  TPSP_TRY(meetingOf(call, use, meeting));
  TPSP_TRY(reduceOwnPart(call, command, *meeting, use));
  TPSP_TRY(meeting->between(call, use));
  TPSP_TRY(copyOtherParts(call, command, *meeting, use));
  return meeting->end(call, use);
}

Status CopyCollectives::allGather(Call &call, const ShardCommand &command,
                                  const StreamUse &use) {
  Meeting *meeting = nullptr;
  TPSP_TRY(meetingOf(call, use, meeting));
  int64_t width = elementBytes(command.dtype), run = command.chunk * width;
  int64_t ranks = call.group.size();
  for (int64_t q = 0; q < ranks; ++q) {
    StridedCopy copy;
    copy.target = use.buffer(call, 1) + q * run;
    copy.source = meeting->buffer(call, use, q, 0);
    copy.rows = command.outer;
    copy.bytes = run;
    copy.targetRow = ranks * run;
    copy.sourceRow = command.runPitch() * width;
    TPSP_TRY(kernels.copy(copy, use.stream.get()));
  }
  return meeting->end(call, use);
}

Status CopyCollectives::reduceScatter(Call &call, const ShardCommand &command,
                                      const StreamUse &use) {
  Meeting *meeting = nullptr;
  TPSP_TRY(meetingOf(call, use, meeting));
  int64_t run = command.chunk * elementBytes(command.dtype);
  int64_t ranks = call.group.size();
  CombineArguments c = {};
  c.target = use.buffer(call, 1);
  c.numSources = ranks;
  c.rows = command.outer;
  c.count = command.chunk;
  c.targetPitch = command.runPitch();
  c.sourcePitch = ranks * command.chunk;
  for (int64_t q = 0; q < ranks; ++q)
    c.sources[q] = meeting->buffer(call, use, q, 0) + call.group.self * run;
  TPSP_TRY(
      kernels.combine(command.dtype, command.reduction, c, use.stream.get()));
  return meeting->end(call, use);
}

Status CopyCollectives::allToAll(Call &call, const AllToAllCommand &command,
                                 const StreamUse &use) {
  Meeting *meeting = nullptr;
  TPSP_TRY(meetingOf(call, use, meeting));
  int64_t ranks = call.group.size();
  for (int64_t q = 0; q < ranks; ++q) {
    AllToAllPieces pieces(command, ranks, meeting->buffer(call, use, q, 0),
                          use.buffer(call, 1));
    TPSP_TRY(kernels.copy(pieces.copy(q, call.group.self), use.stream.get()));
  }
  return meeting->end(call, use);
}

Status CopyCollectives::permute(Call &call, const PermuteCommand &command,
                                const StreamUse &use) {
  Meeting *meeting = nullptr;
  TPSP_TRY(meetingOf(call, use, meeting));
  int64_t width = elementBytes(command.dtype);
  StridedCopy copy;
  copy.target = use.buffer(call, 1);
  copy.source =
      meeting->buffer(call, use, command.source[size_t(call.group.self)], 0);
  copy.rows = command.runs;
  copy.bytes = command.count * width;
  copy.targetRow = command.targetPitch * width;
  copy.sourceRow = command.sourcePitch * width;
  TPSP_TRY(kernels.copy(copy, use.stream.get()));
  return meeting->end(call, use);
}

} // namespace tpsp::rt
