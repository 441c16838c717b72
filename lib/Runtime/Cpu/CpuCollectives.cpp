#include "CpuBackend.h"
#include "Reduction.h"

#include "tpsp/Runtime/ElementType.h"

#include <algorithm>
#include <cstring>

namespace tpsp::rt {
namespace {

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

MeetingState &meeting(CpuBackend &backend, Call &call) {
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
  state->place = &backend.rendezvous(ascending);
  state->sources.resize(ascending.size());
  call.state = std::move(state);
  return static_cast<MeetingState &>(*call.state);
}

/// Copies `rows` runs of `bytes` bytes; the strides are in bytes. Short runs
/// are common (a shard of an innermost dimension), so the sizes of one element
/// are copied by an inlined move.
void copyRows(std::byte *dst, int64_t dstStride, const std::byte *src,
              int64_t srcStride, int64_t rows, int64_t bytes) {
  auto copy = [&](auto size) {
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(dst + row * dstStride, src + row * srcStride, size);
  };
  if (dst == src || bytes == 0)
    return;
  if (dstStride == bytes && srcStride == bytes)
    std::memcpy(dst, src, rows * bytes);
  else if (bytes == 2)
    copy(std::integral_constant<size_t, 2>());
  else if (bytes == 4)
    copy(std::integral_constant<size_t, 4>());
  else if (bytes == 8)
    copy(std::integral_constant<size_t, 8>());
  else
    copy(size_t(bytes));
}

/// The elements that one rank of a group reduces for all. In whole cache lines,
/// so that no two ranks write to one.
struct Part {
  int64_t begin, end;

  Part(int64_t count, int64_t ranks, int64_t number) {
    constexpr int64_t line = 64;
    int64_t share = (count + ranks - 1) / ranks;
    share = (share + line - 1) / line * line;
    begin = std::min(count, number * share);
    end = std::min(count, begin + share);
  }
};

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

Status CpuRank::slice(Call &call, const ShardCommand &command) {
  int64_t run = command.chunk * elementBytes(command.dtype);
  copyRows(buffer(call, 1), command.runPitch() * elementBytes(command.dtype),
           buffer(call, 0) + call.group.self * run, call.group.size() * run,
           command.outer, run);
  return {};
}

Status CpuRank::allReduce(Call &call, const AllReduceCommand &command) {
  MeetingState &meet = meeting(backend, call);
  AllReduceShare share{call, command, meet};
  if (Status s = meet.place->arrive(meet.self, call, arena.data()); !s.ok())
    return s;
  share.reduceOwnPart();
  if (Status s = meet.place->sync(meet.self, call); !s.ok())
    return s;
  share.copyOtherParts();
  return meet.place->sync(meet.self, call);
}

Status CpuRank::allGather(Call &call, const ShardCommand &command) {
  MeetingState &meet = meeting(backend, call);
  if (Status s = meet.place->arrive(meet.self, call, arena.data()); !s.ok())
    return s;
  int64_t run = command.chunk * elementBytes(command.dtype);
  int64_t ranks = call.group.size();
  for (int64_t q = 0; q < ranks; ++q)
    copyRows(buffer(call, 1) + q * run, ranks * run,
             meet.place->buffer(meet.members[q], 0),
             command.runPitch() * elementBytes(command.dtype), command.outer,
             run);
  return meet.place->sync(meet.self, call);
}

Status CpuRank::reduceScatter(Call &call, const ShardCommand &command) {
  MeetingState &meet = meeting(backend, call);
  if (Status s = meet.place->arrive(meet.self, call, arena.data()); !s.ok())
    return s;
  int64_t run = command.chunk * elementBytes(command.dtype);
  int64_t pitch = command.runPitch() * elementBytes(command.dtype);
  int64_t ranks = call.group.size();
  ReduceFunction reduce = reduceFunction(command.dtype, command.reduction);
  for (int64_t o = 0; o < command.outer; ++o) {
    for (int64_t q = 0; q < ranks; ++q)
      meet.sources[q] = meet.place->buffer(meet.members[q], 0) +
                        (o * ranks + call.group.self) * run;
    reduce(buffer(call, 1) + o * pitch, meet.sources.data(), ranks,
           command.chunk);
  }
  return meet.place->sync(meet.self, call);
}

Status CpuRank::allToAll(Call &call, const AllToAllCommand &command) {
  MeetingState &meet = meeting(backend, call);
  if (Status s = meet.place->arrive(meet.self, call, arena.data()); !s.ok())
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
        copyRows(buffer(call, 1) + (a * ranks + q) * rows * run, run,
                 src + (a * rows * ranks + self) * run, ranks * run, rows, run);
        continue;
      }
      // [a, n*J, b, I, c] -> [a, J, b, n*I, c]: runs of I*c, J*b of them.
      int64_t run = gather * command.c * width, rows = scatter * command.b;
      copyRows(buffer(call, 1) + (a * rows * ranks + q) * run, ranks * run,
               src + (a * ranks + self) * rows * run, run, rows, run);
    }
  }
  return meet.place->sync(meet.self, call);
}

Status CpuRank::permute(Call &call, const PermuteCommand &command) {
  MeetingState &meet = meeting(backend, call);
  if (Status s = meet.place->arrive(meet.self, call, arena.data()); !s.ok())
    return s;
  int64_t sender = meet.members[command.source[call.group.self]];
  std::byte *dst = buffer(call, 1), *src = meet.place->buffer(sender, 0);
  int64_t width = elementBytes(command.dtype);
  copyRows(dst, command.targetPitch * width, src, command.sourcePitch * width,
           command.runs, command.count * width);
  return meet.place->sync(meet.self, call);
}

} // namespace tpsp::rt
