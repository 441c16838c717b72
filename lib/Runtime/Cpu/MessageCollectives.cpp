#include "MessageCollectives.h"

#include "../Core/PeerPieces.h"
#include "../Core/Rendezvous.h"
#include "../Core/WaitFailure.h"
#include "CopyRows.h"
#include "Reduction.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {
namespace {

/// The data that a rank sends and receives for a call, kept with the call.
/// Positions in scratch memory are offsets until the call runs, since the
/// memory may move.
struct Messages final : CommandState {
  Channel *channel = nullptr;
  /// An all_reduce has two exchanges: the parts to reduce, and the reduced
  /// parts.
  Exchange first, second;
  /// For each receive of `first` into scratch memory: its offset there.
  std::vector<int64_t> staged;
  int64_t scratchBytes = 0;
  /// Room for one address per rank of the group.
  std::vector<const std::byte *> sources;

  /// Receives contiguous bytes into the next free scratch memory.
  void stage(int64_t rank, int64_t bytes) {
    if (bytes == 0)
      return;
    add(first.receives, rank, {rank, nullptr, 1, bytes, bytes});
    staged.push_back(scratchBytes);
    scratchBytes += (bytes + 63) / 64 * 64;
  }

  /// Sets the addresses of the staged receives.
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

Piece pieceOf(const PeerPieces &side, int64_t number) {
  return {0, side.piece(number), side.rows, side.bytes, side.stride};
}

/// A collective as one rank runs it. For a new call, `prepare` first fills in
/// the messages.
struct MessageCall {
  const BackendContext &world;
  const Call &call;
  Messages &messages;
  const StreamUse<ScratchBuffer> &use;
  const int64_t ranks = call.group.size(), self = call.group.self;

  std::byte *own(size_t index) const { return use.buffer(call, index); }

  /// Calls visit(number, rank) for every rank of the group except the call's
  /// own.
  template <typename Visit> void forOthers(Visit visit) const {
    for (int64_t q = 0; q < ranks; ++q)
      if (q != self)
        visit(q, call.group.ranks[size_t(q)]);
  }

  Status exchange(const Exchange &exchange) const {
    if (exchange.sends.empty() && exchange.receives.empty())
      return {};
    ExchangeFailure failure;
    if (messages.channel->exchange(exchange, failure))
      return {};
    return exchangeFailed(world, call, call.group.ranks[size_t(self)], exchange,
                          failure);
  }

  /// The addresses of the summands: this rank's own, and those received from
  /// the others. The latter are `offset` bytes into receive `next` and its
  /// successors.
  const std::vector<const std::byte *> &
  sources(const std::byte *mine, size_t next, int64_t offset) const {
    for (int64_t q = 0; q < ranks; ++q)
      messages.sources[size_t(q)] =
          q == self ? mine : messages.first.receives[next++].data + offset;
    return messages.sources;
  }

  /// Sends piece q of `source` to each rank number q, and receives piece q of
  /// `target` from it.
  void prepareSides(const PeerPieces &source, const PeerPieces &target) const {
    forOthers([&](int64_t q, int64_t rank) {
      Messages::add(messages.first.sends, rank, pieceOf(source, q));
      Messages::add(messages.first.receives, rank, pieceOf(target, q));
    });
  }
  Status runSides(const PeerPieces &source, const PeerPieces &target) const {
    copyBlocks(copyOfPiece(source, self, target, self));
    return exchange(messages.first);
  }

  void prepare(const AllGatherCommand &c) const {
    for (size_t i = 0; i < c.numTensors(); ++i)
      prepareSides(partOf(c, i, own(2 * i)),
                   wholeOf(c, i, ranks, own(2 * i + 1)));
  }
  Status run(const AllGatherCommand &c) const {
    for (size_t i = 0; i < c.numTensors(); ++i)
      copyBlocks(copyOfPiece(partOf(c, i, own(2 * i)), self,
                             wholeOf(c, i, ranks, own(2 * i + 1)), self));
    return exchange(messages.first);
  }

  void prepare(const AllToAllCommand &c) const {
    AllToAllSides sides(c, ranks, own(0), own(1));
    prepareSides(sides.source, sides.target);
  }
  Status run(const AllToAllCommand &c) const {
    AllToAllSides sides(c, ranks, own(0), own(1));
    return runSides(sides.source, sides.target);
  }

  void prepare(const PermuteCommand &c) const {
    forOthers([&](int64_t q, int64_t rank) {
      if (c.source[size_t(q)] == self)
        Messages::add(messages.first.sends, rank,
                      pieceOf(sourceOf(c, own(0)), 0));
      if (c.source[size_t(self)] == q)
        Messages::add(messages.first.receives, rank,
                      pieceOf(targetOf(c, own(1)), 0));
    });
  }
  Status run(const PermuteCommand &c) const {
    if (c.source[size_t(self)] == self)
      copyBlocks(copyOfPiece(sourceOf(c, own(0)), 0, targetOf(c, own(1)), 0));
    return exchange(messages.first);
  }

  void prepare(const TransferCommand &c) const {
    int64_t bytes = c.count * elementBytes(c.dtype);
    Messages::add(self == 0 ? messages.first.sends : messages.first.receives,
                  call.group.ranks[size_t(1 - self)],
                  {0, own(0), 1, bytes, bytes});
  }
  Status run(const TransferCommand &) const { return exchange(messages.first); }

  void prepare(const ReduceScatterCommand &c) const {
    for (size_t i = 0; i < c.numTensors(); ++i) {
      PeerPieces source = wholeOf(c, i, ranks, own(2 * i));
      forOthers([&](int64_t q, int64_t rank) {
        Messages::add(messages.first.sends, rank, pieceOf(source, q));
        messages.stage(rank, source.pieceBytes());
      });
    }
  }
  Status run(const ReduceScatterCommand &c) const {
    TPSP_TRY(exchange(messages.first));
    size_t received = 0;
    for (size_t i = 0; i < c.numTensors(); ++i) {
      if (wholeOf(c, i, ranks, own(2 * i)).pieceBytes() == 0)
        continue;
      reduceReceived(c, i, received);
      received += size_t(ranks) - 1;
    }
    return {};
  }
  /// Reduces tensor number `i`. The others' pieces are receive `next` and its
  /// successors.
  void reduceReceived(const ReduceScatterCommand &c, size_t i,
                      size_t next) const {
    PeerPieces source = wholeOf(c, i, ranks, own(2 * i));
    PeerPieces target = partOf(c, i, own(2 * i + 1));
    ReduceFunction reduce = reduceFunction(c.dtype, c.reduction);
    for (int64_t o = 0; o < source.rows; ++o)
      reduce(target.data + o * target.stride,
             sources(source.piece(self) + o * source.stride, next,
                     o * source.bytes)
                 .data(),
             ranks, c.tensor(i).chunk);
  }

  /// The part of rank number `q` of the tensor in buffer `index`.
  Piece part(const AllReduceCommand &c, size_t index, int64_t q) const {
    Part part(c.counts[index / 2], ranks, q);
    int64_t width = elementBytes(c.dtype), bytes = part.size() * width;
    return {0, own(index) + part.begin * width, 1, bytes, bytes};
  }
  void prepare(const AllReduceCommand &c) const {
    for (size_t i = 0; i < 2 * c.counts.size(); i += 2)
      forOthers([&](int64_t q, int64_t rank) {
        Messages::add(messages.first.sends, rank, part(c, i, q));
        messages.stage(rank, part(c, i, self).bytes);
        Messages::add(messages.second.sends, rank, part(c, i + 1, self));
        Messages::add(messages.second.receives, rank, part(c, i + 1, q));
      });
  }
  Status run(const AllReduceCommand &c) const {
    TPSP_TRY(exchange(messages.first));
    ReduceFunction reduce = reduceFunction(c.dtype, c.reduction);
    size_t received = 0;
    for (size_t i = 0; i < 2 * c.counts.size(); i += 2) {
      Piece source = part(c, i, self);
      if (source.bytes == 0)
        continue;
      reduce(part(c, i + 1, self).data,
             sources(source.data, received, /*offset=*/0).data(), ranks,
             source.bytes / elementBytes(c.dtype));
      received += size_t(ranks) - 1;
    }
    return exchange(messages.second);
  }
};

} // namespace

/// The ranks that share the call's channel, ascending. Those of a transfer use
/// the channel of its whole axis.
static Status channelRanks(const BackendContext &world, const Call &call,
                           std::vector<int64_t> &out) {
  RankGroup group = call.group;
  if (const auto *transfer = std::get_if<TransferCommand>(&call.command))
    TPSP_TRY(world.mesh.group(group.ranks[size_t(group.self)], transfer->axes,
                              group));
  out = ascending(group);
  return {};
}

Status MessageCollectives::run(Call &call,
                               const StreamUse<ScratchBuffer> &use) {
  bool isFresh = !call.state;
  if (isFresh) {
    auto state = std::make_unique<Messages>();
    if (call.group.size() > 1) {
      std::vector<int64_t> ranks;
      TPSP_TRY(channelRanks(world, call, ranks));
      state->channel = findChannel(call.group.ranks[size_t(call.group.self)],
                                   call.stream, ranks);
      if (!state->channel)
        return {TPSP_RT_INTERNAL, "there is no channel for this group"};
    }
    state->first.tag = state->second.tag = exchangeTag(call);
    state->first.timeoutSeconds = world.config.timeoutSeconds;
    // Longer than the first timeout. A rank that is late with reduced parts may
    // itself wait for the missing rank, and should be the one to name it.
    state->second.timeoutSeconds = 1.25 * world.config.timeoutSeconds + 0.1;
    state->sources.resize(call.group.ranks.size());
    call.state = std::move(state);
  }
  MessageCall once{world, call, static_cast<Messages &>(*call.state), use};
  return visitCollective(call, [&](const auto &command) {
    if (isFresh)
      once.prepare(command);
    once.messages.placeStaged(use.stream);
    return once.run(command);
  });
}

} // namespace tpsp::rt
