#include "NcclCollectives.h"

#include "Runtime/Core/PeerPieces.h"
#include "Runtime/Core/Rendezvous.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {
namespace {

/// If there are at most so many runs, each of at least so many bytes, each run
/// is a call of its own. A group of calls is one launch, but NCCL spends a few
/// microseconds on each call.
constexpr int64_t fewRuns = 8, longRun = 256 << 10;

struct CommunicatorState final : CommandState {
  ncclComm_t communicator = nullptr;
};

ncclDataType_t typeOf(int64_t dtype) {
  // In the order of TPSP_RT_F32, ...
  constexpr ncclDataType_t types[] = {ncclFloat32, ncclBfloat16, ncclFloat64,
                                      ncclInt32,   ncclInt64,    ncclInt8,
                                      ncclFloat16};
  return types[dtype];
}

ncclRedOp_t reductionOf(int64_t reduction) {
  return reduction == TPSP_RT_MAX ? ncclMax : ncclSum;
}

/// Calls `body` between ncclGroupStart and ncclGroupEnd, so that its calls are
/// one operation. Ends the group even if a call fails.
template <typename Body> Status inGroup(ncclComm_t communicator, Body body) {
  TPSP_NCCL(communicator, ncclGroupStart);
  Status status = body();
  Status ended = checkNccl(ncclGroupEnd(), "ncclGroupEnd", communicator);
  return status.ok() ? ended : status;
}

bool hasFewLongRuns(const ShardLayout &layout, int64_t dtype) {
  return layout.outer == 1 || (layout.outer <= fewRuns &&
                               layout.chunk * elementBytes(dtype) >= longRun);
}

int64_t roundUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// A collective as one rank enqueues it.
struct NcclCall {
  const Call &call;
  const StreamUse<CudaStream> &use;
  ncclComm_t communicator;
  const BuiltinKernels &kernels;
  const int64_t ranks = call.group.size(), self = call.group.self;

  std::byte *own(size_t index) const { return use.buffer(call, index); }

  /// Reserves the stream's scratch memory for the command, before the ranks
  /// meet for the command's first use. A later allocation would wait for the
  /// driver, while another rank's collective waits for this rank.
  template <typename Command>
  Status reserve(const Command &c, std::byte *&out) const {
    return use.stream.reserveScratch(scratchBytes(c), out);
  }

  int64_t scratchBytes(const AllReduceCommand &) const { return 0; }
  int64_t scratchBytes(const AllGatherCommand &c) const {
    return scratchOfShards(c, /*isPartFirst=*/true);
  }
  int64_t scratchBytes(const ReduceScatterCommand &c) const {
    return scratchOfShards(c, /*isPartFirst=*/false);
  }
  int64_t scratchBytes(const AllToAllCommand &c) const {
    AllToAllSides sides(c, ranks, own(0), own(1));
    return scratchOfSides(sides.source, sides.target, ranks);
  }
  int64_t scratchBytes(const PermuteCommand &c) const {
    return scratchOfSides(sourceOf(c, own(0)), targetOf(c, own(1)), 1);
  }

  /// The size of the packed source, the first of exchangeDense's two areas.
  static int64_t packedBytes(const PeerPieces &source, int64_t peers) {
    return source.isDense() ? 0 : roundUp(peers * source.pieceBytes());
  }
  static int64_t scratchOfSides(const PeerPieces &source,
                                const PeerPieces &target, int64_t peers) {
    return packedBytes(source, peers) +
           (target.isDense() ? 0 : peers * source.pieceBytes());
  }

  int64_t scratchBytes(const TransferCommand &) const { return 0; }

  /// Copies between a side's pieces and dense pieces, in the order of peers, at
  /// `dense`.
  Status pack(const PeerPieces &side, int64_t peers, std::byte *dense) const {
    return kernels.copy({dense, side.data, peers, side.rows, side.bytes,
                         side.pieceBytes(), side.bytes, side.peer, side.stride},
                        use.stream.get());
  }
  Status unpack(const std::byte *dense, const PeerPieces &side,
                int64_t peers) const {
    return kernels.copy({side.data, dense, peers, side.rows, side.bytes,
                         side.peer, side.stride, side.pieceBytes(), side.bytes},
                        use.stream.get());
  }

  /// Calls exchange(source, target) with dense pieces of `bytes` bytes each.
  /// Sides that are not dense are replaced by areas in `scratch`.
  template <typename Exchange>
  Status exchangeDense(const PeerPieces &source, const PeerPieces &target,
                       int64_t peers, std::byte *scratch,
                       const Exchange &exchange) const {
    int64_t bytes = source.pieceBytes();
    if (bytes == 0)
      return {};
    PeerPieces from = source, to = target;
    PeerPieces packed{scratch, bytes, 1, bytes, bytes}, received = packed;
    received.data += packedBytes(source, peers);
    if (!source.isDense()) {
      TPSP_TRY(pack(source, peers, packed.data));
      from = packed;
    }
    if (!target.isDense())
      to = received;
    TPSP_TRY(inGroup(communicator, [&] { return exchange(from, to); }));
    return target.isDense() ? Status() : unpack(received.data, target, peers);
  }
  Status send(const PeerPieces &side, int64_t peer) const {
    TPSP_NCCL(communicator, ncclSend, side.piece(peer),
              size_t(side.pieceBytes()), ncclInt8, int(peer), communicator,
              use.stream.get());
    return {};
  }
  Status receive(const PeerPieces &side, int64_t peer) const {
    TPSP_NCCL(communicator, ncclRecv, side.piece(peer),
              size_t(side.pieceBytes()), ncclInt8, int(peer), communicator,
              use.stream.get());
    return {};
  }

  Status gather(const std::byte *source, std::byte *target, int64_t count,
                int64_t dtype) const {
    TPSP_NCCL(communicator, ncclAllGather, source, target, size_t(count),
              typeOf(dtype), communicator, use.stream.get());
    return {};
  }
  Status scatter(const std::byte *source, std::byte *target, int64_t count,
                 const ReduceScatterCommand &c) const {
    TPSP_NCCL(communicator, ncclReduceScatter, source, target, size_t(count),
              typeOf(c.dtype), reductionOf(c.reduction), communicator,
              use.stream.get());
    return {};
  }

  Status run(const AllReduceCommand &c, std::byte *) const {
    return inGroup(communicator, [&]() -> Status {
      for (size_t i = 0; i < c.counts.size(); ++i)
        if (c.counts[i] > 0)
          TPSP_NCCL(communicator, ncclAllReduce, own(2 * i), own(2 * i + 1),
                    size_t(c.counts[i]), typeOf(c.dtype),
                    reductionOf(c.reduction), communicator, use.stream.get());
      return {};
    });
  }

  /// A tensor as a whole and in parts, and the positions of dense copies. It
  /// has no copies if it is moved run by run.
  struct Staged {
    PeerPieces part, whole;
    bool isDirect;
    std::byte *densePart, *denseWhole;
  };

  /// Stages tensor number `i`, whose part and whole are in buffers `part` and
  /// `whole`. `next` is the offset of free scratch memory, which is advanced.
  /// If `scratch` is null, the bytes are only counted.
  Staged stage(const ShardCommand &c, size_t i, size_t part, size_t whole,
               int64_t &next, std::byte *scratch) const {
    const ShardLayout &layout = c.tensor(i);
    Staged t{partOf(c, i, own(part)), wholeOf(c, i, ranks, own(whole)),
             hasFewLongRuns(layout, c.dtype), nullptr, nullptr};
    if (t.isDirect)
      return t;
    auto take = [&](int64_t bytes) {
      std::byte *at = scratch ? scratch + next : nullptr;
      next += roundUp(bytes);
      return at;
    };
    t.densePart = t.part.isDense() ? t.part.data : take(t.part.pieceBytes());
    t.denseWhole = take(ranks * t.part.pieceBytes());
    return t;
  }

  /// Calls visit(i, staged) for the tensors of `c` that are not empty.
  template <typename Visit>
  Status forTensors(const ShardCommand &c, bool isPartFirst, std::byte *scratch,
                    int64_t &bytes, const Visit &visit) const {
    bytes = 0;
    for (size_t i = 0; i < c.numTensors(); ++i) {
      size_t part = 2 * i + (isPartFirst ? 0 : 1);
      size_t whole = 2 * i + (isPartFirst ? 1 : 0);
      Staged t = stage(c, i, part, whole, bytes, scratch);
      if (t.part.pieceBytes() > 0)
        TPSP_TRY(visit(i, t));
    }
    return {};
  }

  int64_t scratchOfShards(const ShardCommand &c, bool isPartFirst) const {
    int64_t bytes = 0;
    (void)forTensors(c, isPartFirst, nullptr, bytes,
                     [](size_t, const Staged &) { return Status(); });
    return bytes;
  }

  /// Packs tensors that are not dense, moves all tensors as one operation, and
  /// unpacks.
  template <typename Pack, typename Move, typename Unpack>
  Status moveShards(const ShardCommand &c, bool isPartFirst, std::byte *scratch,
                    const Pack &pack, const Move &move,
                    const Unpack &unpack) const {
    int64_t bytes = 0;
    auto forStaged = [&](const auto &visit) {
      return forTensors(c, isPartFirst, scratch, bytes,
                        [&](size_t, const Staged &t) {
                          return t.isDirect ? Status() : visit(t);
                        });
    };
    TPSP_TRY(forStaged(pack));
    TPSP_TRY(inGroup(communicator, [&] {
      return forTensors(c, isPartFirst, scratch, bytes, move);
    }));
    return forStaged(unpack);
  }

  Status run(const AllGatherCommand &c, std::byte *scratch) const {
    return moveShards(
        c, /*isPartFirst=*/true, scratch,
        [&](const Staged &t) {
          return t.part.isDense() ? Status() : pack(t.part, 1, t.densePart);
        },
        [&](size_t i, const Staged &t) -> Status {
          const ShardLayout &layout = c.tensor(i);
          if (!t.isDirect)
            return gather(t.densePart, t.denseWhole,
                          layout.outer * layout.chunk, c.dtype);
          for (int64_t o = 0; o < layout.outer; ++o)
            TPSP_TRY(gather(t.part.data + o * t.part.stride,
                            t.whole.data + o * t.whole.stride, layout.chunk,
                            c.dtype));
          return {};
        },
        // From [rank, outer, chunk] to [outer, rank, chunk].
        [&](const Staged &t) { return unpack(t.denseWhole, t.whole, ranks); });
  }

  Status run(const ReduceScatterCommand &c, std::byte *scratch) const {
    return moveShards(
        c, /*isPartFirst=*/false, scratch,
        // From [outer, rank, chunk] to [rank, outer, chunk].
        [&](const Staged &t) { return pack(t.whole, ranks, t.denseWhole); },
        [&](size_t i, const Staged &t) -> Status {
          const ShardLayout &layout = c.tensor(i);
          if (!t.isDirect)
            return scatter(t.denseWhole, t.densePart,
                           layout.outer * layout.chunk, c);
          for (int64_t o = 0; o < layout.outer; ++o)
            TPSP_TRY(scatter(t.whole.data + o * t.whole.stride,
                             t.part.data + o * t.part.stride, layout.chunk, c));
          return {};
        },
        [&](const Staged &t) {
          return t.part.isDense() ? Status() : unpack(t.densePart, t.part, 1);
        });
  }

  Status run(const AllToAllCommand &c, std::byte *scratch) const {
    AllToAllSides sides(c, ranks, own(0), own(1));
    return exchangeDense(
        sides.source, sides.target, ranks, scratch,
        [&](const PeerPieces &from, const PeerPieces &to) -> Status {
          for (int64_t q = 0; q < ranks; ++q) {
            TPSP_TRY(send(from, q));
            TPSP_TRY(receive(to, q));
          }
          return {};
        });
  }

  Status run(const PermuteCommand &c, std::byte *scratch) const {
    // All peers have the same piece, so one piece is packed.
    return exchangeDense(sourceOf(c, own(0)), targetOf(c, own(1)), /*peers=*/1,
                         scratch,
                         [&](PeerPieces from, PeerPieces to) -> Status {
                           from.peer = to.peer = 0;
                           for (int64_t q = 0; q < ranks; ++q)
                             if (c.source[size_t(q)] == self)
                               TPSP_TRY(send(from, q));
                           return receive(to, c.source[size_t(self)]);
                         });
  }

  Status run(const TransferCommand &c, std::byte *) const {
    int64_t bytes = c.count * elementBytes(c.dtype);
    PeerPieces piece{own(0), 0, 1, bytes, bytes};
    return self == 0 ? send(piece, 1) : receive(piece, 0);
  }
};

} // namespace

Status NcclCollectives::communicatorOf(Call &call, ncclComm_t &out) {
  if (!call.state || meetsAlways) {
    int64_t self = call.group.ranks[size_t(call.group.self)];
    TPSP_TRY(meetings.meet(call, self, ascending(call.group)));
  }
  if (!call.state) {
    auto fresh = std::make_unique<CommunicatorState>();
    TPSP_TRY(communicators.find(call, fresh->communicator));
    call.state = std::move(fresh);
  }
  out = static_cast<CommunicatorState &>(*call.state).communicator;
  return {};
}

Status NcclCollectives::connect(const GroupUse &use, std::byte *byte,
                                const CudaStream &stream) const {
  ncclComm_t communicator = communicators.known(use.stream, use.group);
  if (use.group.self == 0)
    TPSP_NCCL(communicator, ncclSend, byte, 1, ncclInt8, 1, communicator,
              stream.get());
  else
    TPSP_NCCL(communicator, ncclRecv, byte, 1, ncclInt8, 0, communicator,
              stream.get());
  return {};
}

void NcclCollectives::adopt(Call &call) const {
  auto fresh = std::make_unique<CommunicatorState>();
  fresh->communicator = communicators.known(call.stream, call.group);
  call.state = std::move(fresh);
}

Status NcclCollectives::run(Call &call, const StreamUse<CudaStream> &use) {
  return visitCollective(call, [&](const auto &command) -> Status {
    NcclCall once{call, use, nullptr, kernels};
    std::byte *scratch = nullptr;
    TPSP_TRY(once.reserve(command, scratch));
    TPSP_TRY(communicatorOf(call, once.communicator));
    return once.run(command, scratch);
  });
}

} // namespace tpsp::rt
