#include "MessageCollectives.h"

#include "../Core/GroupParts.h"
#include "CopyRows.h"
#include "Reduction.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {

/// What a rank sends and receives for a call, kept with it. Places in scratch
/// memory are offsets until the call runs: the memory may move.
struct MessageCollectives::Messages final : CommandState {
  Channel *channel = nullptr;
  /// An all_reduce has two: the parts to reduce, and the reduced parts.
  Exchange first, second;
  /// Receives of `first` that go to scratch memory: where in it, by receive.
  std::vector<int64_t> staged;
  int64_t scratchBytes = 0;
  /// Room for one address per rank of the group.
  std::vector<const std::byte *> sources;

  void send(int64_t rank, Piece piece) { add(first.sends, rank, piece); }
  void receive(int64_t rank, Piece piece) { add(first.receives, rank, piece); }

  /// Receives contiguous bytes into the next free scratch memory.
  void stage(int64_t rank, int64_t bytes) {
    if (bytes == 0)
      return;
    receive(rank, {rank, nullptr, 1, bytes, bytes});
    staged.push_back(scratchBytes);
    scratchBytes += (bytes + 63) / 64 * 64;
  }

  /// Gives the staged receives their addresses.
  void placeStaged(ScratchBuffer &scratch) {
    std::byte *base = scratch.reserve(scratchBytes);
    for (size_t i = 0; i < staged.size(); ++i)
      first.receives[i].data = base + staged[i];
  }

  static void add(std::vector<Piece> &pieces, int64_t rank, Piece piece) {
    if (piece.rows == 0 || piece.bytes == 0)
      return;
    piece.rank = rank;
    pieces.push_back(piece);
  }
};

namespace {

/// FNV-1a over what ranks that meet must have in common, as a tag.
int32_t tagOf(const Call &call) {
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

/// Calls visit(number, rank) for every rank of the group but the call's own.
template <typename Visit> void forOthers(const Call &call, Visit visit) {
  for (int64_t q = 0; q < call.group.size(); ++q)
    if (q != call.group.self)
      visit(q, call.group.ranks[q]);
}

} // namespace

Status MessageCollectives::messagesOf(Call &call, Messages *&out,
                                      bool &isFresh) {
  isFresh = !call.state;
  if (isFresh) {
    auto state = std::make_unique<Messages>();
    std::vector<int64_t> ascending = call.group.ranks;
    std::sort(ascending.begin(), ascending.end());
    if (ascending.size() > 1) {
      int64_t rank = call.group.ranks[call.group.self];
      state->channel = findChannel(rank, call.stream, ascending);
      if (!state->channel)
        return {TPSP_RT_INTERNAL, "there is no channel for this group"};
    }
    state->first.tag = state->second.tag = tagOf(call);
    state->first.timeoutSeconds = world.config.timeoutSeconds;
    // Longer: who is late with reduced parts may itself wait for the rank that
    // is missing, and is to be the one that names it.
    state->second.timeoutSeconds = 1.25 * world.config.timeoutSeconds + 0.1;
    state->sources.resize(ascending.size());
    call.state = std::move(state);
  }
  out = static_cast<Messages *>(call.state.get());
  return {};
}

std::string
MessageCollectives::nameRanks(const std::vector<int64_t> &ranks) const {
  if (ranks.empty())
    return "another process";
  std::string text;
  for (int64_t rank : ranks)
    text += fmt::format("{}rank {} ({})", text.empty() ? "" : ", ", rank,
                        world.activity(rank));
  return text;
}

Status MessageCollectives::exchange(const Call &call, Channel *channel,
                                    const Exchange &exchange) {
  using Kind = ExchangeFailure::Kind;
  if (exchange.sends.empty() && exchange.receives.empty())
    return {};
  ExchangeFailure failure;
  if (channel->exchange(exchange, failure))
    return {};
  switch (failure.kind) {
  case Kind::TimedOut:
    return {TPSP_RT_TIMEOUT,
            fmt::format("waited {:.1f} s for {}", exchange.timeoutSeconds,
                        nameRanks(failure.ranks))};
  case Kind::Stopped:
    return {TPSP_RT_TIMEOUT,
            fmt::format("a process has ended or was ended, while this one "
                        "waited for {}",
                        nameRanks(failure.ranks))};
  case Kind::Disagreed:
    return {TPSP_RT_INVALID,
            fmt::format("rank {} calls {} where {} calls something else",
                        call.group.ranks[call.group.self],
                        describe(call, world.mesh), nameRanks(failure.ranks))};
  case Kind::Aborted:
    return {TPSP_RT_ABORTED, failure.text.empty()
                                 ? "another rank or stream failed"
                                 : failure.text};
  case Kind::Broken:
    break;
  }
  return {TPSP_RT_INTERNAL, failure.text};
}

Status MessageCollectives::allGather(Call &call, const ShardCommand &command,
                                     const StreamMemory &memory) {
  Messages *messages;
  bool isFresh;
  if (Status s = messagesOf(call, messages, isFresh); !s.ok())
    return s;
  int64_t width = elementBytes(command.dtype), run = command.chunk * width;
  int64_t pitch = command.runPitch() * width, all = call.group.size() * run;
  std::byte *src = memory.buffer(call, 0), *dst = memory.buffer(call, 1);
  if (isFresh)
    forOthers(call, [&](int64_t q, int64_t rank) {
      messages->send(rank, {0, src, command.outer, run, pitch});
      messages->receive(rank, {0, dst + q * run, command.outer, run, all});
    });
  copyRows(dst + call.group.self * run, all, src, pitch, command.outer, run);
  return exchange(call, messages->channel, messages->first);
}

Status MessageCollectives::reduceScatter(Call &call,
                                         const ShardCommand &command,
                                         const StreamMemory &memory) {
  Messages *messages;
  bool isFresh;
  if (Status s = messagesOf(call, messages, isFresh); !s.ok())
    return s;
  int64_t width = elementBytes(command.dtype), run = command.chunk * width;
  int64_t pitch = command.runPitch() * width, all = call.group.size() * run;
  std::byte *src = memory.buffer(call, 0), *dst = memory.buffer(call, 1);
  if (isFresh)
    forOthers(call, [&](int64_t q, int64_t rank) {
      messages->send(rank, {0, src + q * run, command.outer, run, all});
      messages->stage(rank, command.outer * run);
    });
  if (command.outer == 0 || run == 0)
    return {};
  messages->placeStaged(*memory.scratch);
  if (Status s = exchange(call, messages->channel, messages->first); !s.ok())
    return s;
  ReduceFunction reduce = reduceFunction(command.dtype, command.reduction);
  for (int64_t o = 0; o < command.outer; ++o) {
    size_t received = 0;
    for (int64_t q = 0; q < call.group.size(); ++q)
      messages->sources[q] =
          q == call.group.self
              ? src + o * all + q * run
              : messages->first.receives[received++].data + o * run;
    reduce(dst + o * pitch, messages->sources.data(), call.group.size(),
           command.chunk);
  }
  return {};
}

Status MessageCollectives::allReduce(Call &call,
                                     const AllReduceCommand &command,
                                     const StreamMemory &memory) {
  Messages *messages;
  bool isFresh;
  if (Status s = messagesOf(call, messages, isFresh); !s.ok())
    return s;
  int64_t width = elementBytes(command.dtype), ranks = call.group.size();
  auto part = [&](size_t i, int64_t q) {
    return Part(command.counts[i], ranks, q);
  };
  auto piece = [&](size_t buffer, Part part) {
    int64_t bytes = part.size() * width;
    return Piece{0, memory.buffer(call, buffer) + part.begin * width, 1, bytes,
                 bytes};
  };
  size_t count = command.counts.size();
  if (isFresh)
    for (size_t i = 0; i < count; ++i) {
      Part own = part(i, call.group.self);
      forOthers(call, [&](int64_t q, int64_t rank) {
        messages->send(rank, piece(2 * i, part(i, q)));
        messages->stage(rank, own.size() * width);
        Messages::add(messages->second.sends, rank, piece(2 * i + 1, own));
        Messages::add(messages->second.receives, rank,
                      piece(2 * i + 1, part(i, q)));
      });
    }
  messages->placeStaged(*memory.scratch);
  if (Status s = exchange(call, messages->channel, messages->first); !s.ok())
    return s;
  ReduceFunction reduce = reduceFunction(command.dtype, command.reduction);
  size_t received = 0;
  for (size_t i = 0; i < count; ++i) {
    Part own = part(i, call.group.self);
    if (own.size() == 0)
      continue;
    for (int64_t q = 0; q < ranks; ++q)
      messages->sources[q] = q == call.group.self
                                 ? piece(2 * i, own).data
                                 : messages->first.receives[received++].data;
    reduce(piece(2 * i + 1, own).data, messages->sources.data(), ranks,
           own.size());
  }
  return exchange(call, messages->channel, messages->second);
}

Status MessageCollectives::allToAll(Call &call, const AllToAllCommand &command,
                                    const StreamMemory &memory) {
  Messages *messages;
  bool isFresh;
  if (Status s = messagesOf(call, messages, isFresh); !s.ok())
    return s;
  int64_t width = elementBytes(command.dtype), ranks = call.group.size();
  // With gatherFirst, [a, I, b, n*J, c] -> [a, n*I, b, J, c]: one side of a
  // block is short runs of J*c, the other whole blocks of I*b of them.
  // Otherwise, [a, n*J, b, I, c] -> [a, J, b, n*I, c], the sides change places.
  bool gathersFirst = command.gatherFirst;
  int64_t run =
      (gathersFirst ? command.scatter : command.gather) * command.c * width;
  int64_t rows = (gathersFirst ? command.gather : command.scatter) * command.b;
  auto runs = [&](std::byte *base, int64_t q) {
    return Piece{0, base + q * run, command.a * rows, run, ranks * run};
  };
  auto blocks = [&](std::byte *base, int64_t q) {
    int64_t block = rows * run;
    return Piece{0, base + q * block, command.a, block, ranks * block};
  };
  std::byte *src = memory.buffer(call, 0), *dst = memory.buffer(call, 1);
  auto source = [&](int64_t q) {
    return gathersFirst ? runs(src, q) : blocks(src, q);
  };
  auto target = [&](int64_t q) {
    return gathersFirst ? blocks(dst, q) : runs(dst, q);
  };
  if (isFresh)
    forOthers(call, [&](int64_t q, int64_t rank) {
      messages->send(rank, source(q));
      messages->receive(rank, target(q));
    });
  Piece from = source(call.group.self), to = target(call.group.self);
  for (int64_t a = 0; a < command.a; ++a)
    copyRows(to.data + a * (to.rows / command.a) * to.stride,
             gathersFirst ? run : to.stride,
             from.data + a * (from.rows / command.a) * from.stride,
             gathersFirst ? from.stride : run, rows, run);
  return exchange(call, messages->channel, messages->first);
}

Status MessageCollectives::permute(Call &call, const PermuteCommand &command,
                                   const StreamMemory &memory) {
  Messages *messages;
  bool isFresh;
  if (Status s = messagesOf(call, messages, isFresh); !s.ok())
    return s;
  int64_t width = elementBytes(command.dtype), run = command.count * width;
  int64_t self = call.group.self, sender = command.source[self];
  Piece from{0, memory.buffer(call, 0), command.runs, run,
             command.sourcePitch * width};
  Piece to{0, memory.buffer(call, 1), command.runs, run,
           command.targetPitch * width};
  if (sender == self) {
    copyRows(to.data, to.stride, from.data, from.stride, command.runs, run);
    return {};
  }
  if (isFresh) {
    forOthers(call, [&](int64_t q, int64_t rank) {
      if (command.source[q] == self)
        messages->send(rank, from);
    });
    messages->receive(call.group.ranks[sender], to);
  }
  return exchange(call, messages->channel, messages->first);
}

} // namespace tpsp::rt
