#include "SharedMemoryCollectives.h"

#include "../Core/GroupParts.h"
#include "CopyRows.h"
#include "Reduction.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cstring>

namespace tpsp::rt {
/// Where a rank meets its group, kept with the command.
struct MeetingState final : CommandState {
  Rendezvous *place = nullptr;
  /// This rank's member number there.
  int64_t self = 0;
  /// The member number of each rank of the group, in the group's order.
  std::vector<int64_t> members;
  /// Room for one address per rank of the group.
  std::vector<const std::byte *> sources;
};

namespace {

/// One rank's share of an all_reduce, in two steps with a sync between them.
struct AllReduceShare {
  const Call &call;
  const AllReduceCommand &command;
  MeetingState &meet;
  int64_t width = elementBytes(command.dtype);

  /// Reduces this rank's part of every tensor into its own destination. Others
  /// read that part of no source of this rank, so the two may be one buffer.
  void reduceOwnPart() {
    ReduceFunction reduce = reduceFunction(command.dtype, command.reduction);
    for (size_t i = 0; i < command.counts.size(); ++i) {
      Part part(command.counts[i], call.group.size(), call.group.self);
      for (int64_t q = 0; q < call.group.size(); ++q)
        meet.sources[q] =
            meet.place->buffer(meet.members[q], 2 * i) + part.begin * width;
      reduce(meet.place->buffer(meet.self, 2 * i + 1) + part.begin * width,
             meet.sources.data(), call.group.size(), part.end - part.begin);
    }
  }

  /// Fetches the parts that the others have reduced.
  void copyOtherParts() {
    for (size_t i = 0; i < command.counts.size(); ++i)
      for (int64_t q = 0; q < call.group.size(); ++q) {
        Part part(command.counts[i], call.group.size(), q);
        if (q == call.group.self || part.begin == part.end)
          continue;
        std::memcpy(
            meet.place->buffer(meet.self, 2 * i + 1) + part.begin * width,
            meet.place->buffer(meet.members[q], 2 * i + 1) + part.begin * width,
            (part.end - part.begin) * width);
      }
  }
};

} // namespace

MeetingState &SharedMemoryCollectives::meeting(Call &call) {
  if (call.state)
    return static_cast<MeetingState &>(*call.state);
  auto state = std::make_unique<MeetingState>();
  std::vector<int64_t> ascending = call.group.ranks;
  std::sort(ascending.begin(), ascending.end());
  for (int64_t rank : call.group.ranks)
    state->members.push_back(
        std::lower_bound(ascending.begin(), ascending.end(), rank) -
        ascending.begin());
  state->self = state->members[call.group.self];
  state->place = &rendezvous(call.stream, ascending);
  state->sources.resize(ascending.size());
  call.state = std::move(state);
  return static_cast<MeetingState &>(*call.state);
}

Rendezvous &
SharedMemoryCollectives::rendezvous(int64_t stream,
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

void SharedMemoryCollectives::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  aborted = true;
  for (auto &entry : places)
    entry.second->abort();
}

Status SharedMemoryCollectives::allReduce(Call &call,
                                          const AllReduceCommand &command,
                                          const StreamMemory &memory) {
  MeetingState &meet = meeting(call);
  AllReduceShare share{call, command, meet};
  if (Status s = meet.place->arrive(meet.self, call, memory.arena); !s.ok())
    return s;
  share.reduceOwnPart();
  if (Status s = meet.place->sync(meet.self, call); !s.ok())
    return s;
  share.copyOtherParts();
  return meet.place->sync(meet.self, call);
}

Status SharedMemoryCollectives::allGather(Call &call,
                                          const ShardCommand &command,
                                          const StreamMemory &memory) {
  MeetingState &meet = meeting(call);
  if (Status s = meet.place->arrive(meet.self, call, memory.arena); !s.ok())
    return s;
  int64_t run = command.chunk * elementBytes(command.dtype);
  int64_t ranks = call.group.size();
  for (int64_t q = 0; q < ranks; ++q)
    copyRows(memory.buffer(call, 1) + q * run, ranks * run,
             meet.place->buffer(meet.members[q], 0),
             command.runPitch() * elementBytes(command.dtype), command.outer,
             run);
  return meet.place->sync(meet.self, call);
}

Status SharedMemoryCollectives::reduceScatter(Call &call,
                                              const ShardCommand &command,
                                              const StreamMemory &memory) {
  MeetingState &meet = meeting(call);
  if (Status s = meet.place->arrive(meet.self, call, memory.arena); !s.ok())
    return s;
  int64_t run = command.chunk * elementBytes(command.dtype);
  int64_t pitch = command.runPitch() * elementBytes(command.dtype);
  int64_t ranks = call.group.size();
  ReduceFunction reduce = reduceFunction(command.dtype, command.reduction);
  for (int64_t o = 0; o < command.outer; ++o) {
    for (int64_t q = 0; q < ranks; ++q)
      meet.sources[q] = meet.place->buffer(meet.members[q], 0) +
                        (o * ranks + call.group.self) * run;
    reduce(memory.buffer(call, 1) + o * pitch, meet.sources.data(), ranks,
           command.chunk);
  }
  return meet.place->sync(meet.self, call);
}

Status SharedMemoryCollectives::allToAll(Call &call,
                                         const AllToAllCommand &command,
                                         const StreamMemory &memory) {
  MeetingState &meet = meeting(call);
  if (Status s = meet.place->arrive(meet.self, call, memory.arena); !s.ok())
    return s;
  int64_t ranks = call.group.size(), self = call.group.self;
  int64_t width = elementBytes(command.dtype), gather = command.gather,
          scatter = command.scatter;
  for (int64_t q = 0; q < ranks; ++q) {
    const std::byte *src = meet.place->buffer(meet.members[q], 0);
    for (int64_t a = 0; a < command.a; ++a) {
      if (command.gatherFirst) {
        // [a, I, b, n*J, c] -> [a, n*I, b, J, c]: runs of J*c, I*b of them.
        int64_t run = scatter * command.c * width, rows = gather * command.b;
        copyRows(memory.buffer(call, 1) + (a * ranks + q) * rows * run, run,
                 src + (a * rows * ranks + self) * run, ranks * run, rows, run);
        continue;
      }
      // [a, n*J, b, I, c] -> [a, J, b, n*I, c]: runs of I*c, J*b of them.
      int64_t run = gather * command.c * width, rows = scatter * command.b;
      copyRows(memory.buffer(call, 1) + (a * rows * ranks + q) * run,
               ranks * run, src + (a * ranks + self) * rows * run, run, rows,
               run);
    }
  }
  return meet.place->sync(meet.self, call);
}

Status SharedMemoryCollectives::permute(Call &call,
                                        const PermuteCommand &command,
                                        const StreamMemory &memory) {
  MeetingState &meet = meeting(call);
  if (Status s = meet.place->arrive(meet.self, call, memory.arena); !s.ok())
    return s;
  int64_t sender = meet.members[command.source[call.group.self]];
  std::byte *dst = memory.buffer(call, 1), *src = meet.place->buffer(sender, 0);
  int64_t width = elementBytes(command.dtype);
  copyRows(dst, command.targetPitch * width, src, command.sourcePitch * width,
           command.runs, command.count * width);
  return meet.place->sync(meet.self, call);
}

} // namespace tpsp::rt
