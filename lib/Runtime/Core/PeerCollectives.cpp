#include "PeerCollectives.h"

#include "Collectives.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {
namespace {

/// One rank's share of a collective.
struct PeerShare {
  const Call &call;
  PeerAccess &peers;
  const int64_t ranks = call.group.size(), self = call.group.self;

  std::byte *own(size_t index) const { return peers.buffer(self, index); }

  Status run(const AllGatherCommand &c) {
    for (size_t i = 0; i < c.numTensors(); ++i)
      for (int64_t q = 0; q < ranks; ++q)
        TPSP_TRY(
            peers.copy(copyOfPiece(partOf(c, i, peers.buffer(q, 2 * i)), 0,
                                   wholeOf(c, i, ranks, own(2 * i + 1)), q)));
    return {};
  }

  Status run(const ReduceScatterCommand &c) {
    for (size_t i = 0; i < c.numTensors(); ++i) {
      for (int64_t q = 0; q < ranks; ++q)
        peers.sources[size_t(q)] =
            wholeOf(c, i, ranks, peers.buffer(q, 2 * i)).piece(self);
      const ShardLayout &t = c.tensor(i);
      TPSP_TRY(
          peers.combine({c.dtype, c.reduction, own(2 * i + 1), t.outer, t.chunk,
                         t.runPitch(), ranks * t.chunk, peers.sources}));
    }
    return {};
  }

  Status run(const AllReduceCommand &c) {
    TPSP_TRY(reduceOwnPart(c));
    TPSP_TRY(peers.between());
    return copyOtherParts(c);
  }

  Status run(const AllToAllCommand &c) {
    for (int64_t q = 0; q < ranks; ++q) {
      AllToAllSides sides(c, ranks, peers.buffer(q, 0), own(1));
      TPSP_TRY(peers.copy(copyOfPiece(sides.source, self, sides.target, q)));
    }
    return {};
  }

  Status run(const PermuteCommand &c) {
    std::byte *source = peers.buffer(c.source[size_t(self)], 0);
    return peers.copy(
        copyOfPiece(sourceOf(c, source), 0, targetOf(c, own(1)), 0));
  }

  Status run(const TransferCommand &c) {
    if (self == 0)
      return {};
    StridedCopy copy;
    copy.target = own(0);
    copy.source = peers.buffer(0, 0);
    copy.bytes = c.count * elementBytes(c.dtype);
    return peers.copy(copy);
  }

  /// Reduces into this rank's own destination. Other ranks do not read that
  /// part of this rank's source, so source and destination may be one buffer.
  Status reduceOwnPart(const AllReduceCommand &c) {
    for (size_t i = 0; i < c.counts.size(); ++i) {
      Part part(c.counts[i], ranks, self);
      int64_t begin = part.begin * elementBytes(c.dtype);
      for (int64_t q = 0; q < ranks; ++q)
        peers.sources[size_t(q)] = peers.buffer(q, 2 * i) + begin;
      TPSP_TRY(peers.combine({c.dtype, c.reduction, own(2 * i + 1) + begin, 1,
                              part.size(), 0, 0, peers.sources}));
    }
    return {};
  }

  Status copyOtherParts(const AllReduceCommand &c) {
    int64_t width = elementBytes(c.dtype);
    for (size_t i = 0; i < c.counts.size(); ++i)
      for (int64_t q = 0; q < ranks; ++q) {
        Part part(c.counts[i], ranks, q);
        if (q == self)
          continue;
        StridedCopy copy;
        copy.target = own(2 * i + 1) + part.begin * width;
        copy.source = peers.buffer(q, 2 * i + 1) + part.begin * width;
        copy.bytes = part.size() * width;
        TPSP_TRY(peers.copy(copy));
      }
    return {};
  }
};

} // namespace

Status runBetweenPeers(const Call &call, PeerAccess &peers) {
  TPSP_TRY(peers.begin());
  PeerShare share{call, peers};
  TPSP_TRY(visitCollective(
      call, [&](const auto &command) { return share.run(command); }));
  return peers.end();
}

} // namespace tpsp::rt
