#include "NcclCollectives.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

/// At most so many runs, each of at least so many bytes, are calls of their
/// own. A group of calls is one launch, but each takes NCCL a few microseconds.
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

/// Calls `body` between ncclGroupStart and ncclGroupEnd: its calls are one
/// operation. The group ends, whatever fails.
template <typename Body> Status inGroup(ncclComm_t communicator, Body body) {
  TPSP_NCCL(communicator, ncclGroupStart);
  Status status = body();
  Status ended = checkNccl(ncclGroupEnd(), "ncclGroupEnd", communicator);
  return status.ok() ? ended : status;
}

bool hasFewLongRuns(const ShardCommand &command) {
  return command.outer == 1 ||
         (command.outer <= fewRuns &&
          command.chunk * elementBytes(command.dtype) >= longRun);
}

int64_t roundUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Two areas of a stream's scratch memory.
Status reserveTwo(CudaStream &stream, int64_t first, int64_t second,
                  std::byte *&one, std::byte *&two) {
  TPSP_TRY(stream.scratch.reserve(roundUp(first) + second, one));
  two = one + roundUp(first);
  return {};
}

} // namespace

Status NcclCollectives::communicatorOf(Call &call, ncclComm_t &out) {
  if (!call.state) {
    std::vector<int64_t> ascending = call.group.ranks;
    std::sort(ascending.begin(), ascending.end());
    int64_t self = call.group.ranks[size_t(call.group.self)];
    TPSP_TRY(meetings.meet(call, self, ascending));
    auto fresh = std::make_unique<CommunicatorState>();
    TPSP_TRY(communicators.find(call, fresh->communicator));
    call.state = std::move(fresh);
  }
  out = static_cast<CommunicatorState &>(*call.state).communicator;
  return {};
}

Status NcclCollectives::allReduce(Call &call, const AllReduceCommand &command,
                                  const StreamUse &use) {
  ncclComm_t communicator = nullptr;
  TPSP_TRY(communicatorOf(call, communicator));
  return inGroup(communicator, [&]() -> Status {
    for (size_t i = 0; i < command.counts.size(); ++i)
      if (command.counts[i] > 0)
        TPSP_NCCL(communicator, ncclAllReduce, use.buffer(call, 2 * i),
                  use.buffer(call, 2 * i + 1), size_t(command.counts[i]),
                  typeOf(command.dtype), reductionOf(command.reduction),
                  communicator, use.stream.get());
    return {};
  });
}

Status NcclCollectives::allGather(Call &call, const ShardCommand &command,
                                  const StreamUse &use) {
  ncclComm_t communicator = nullptr;
  TPSP_TRY(communicatorOf(call, communicator));
  if (command.outer * command.chunk == 0)
    return {};
  return hasFewLongRuns(command)
             ? gatherRuns(call, command, communicator, use)
             : gatherPacked(call, command, communicator, use);
}

Status NcclCollectives::gatherRuns(const Call &call,
                                   const ShardCommand &command,
                                   ncclComm_t communicator,
                                   const StreamUse &use) {
  int64_t width = elementBytes(command.dtype);
  return inGroup(communicator, [&]() -> Status {
    for (int64_t o = 0; o < command.outer; ++o)
      TPSP_NCCL(communicator, ncclAllGather,
                use.buffer(call, 0) + o * command.runPitch() * width,
                use.buffer(call, 1) +
                    o * call.group.size() * command.chunk * width,
                size_t(command.chunk), typeOf(command.dtype), communicator,
                use.stream.get());
    return {};
  });
}

Status NcclCollectives::gatherPacked(const Call &call,
                                     const ShardCommand &command,
                                     ncclComm_t communicator,
                                     const StreamUse &use) {
  int64_t width = elementBytes(command.dtype), run = command.chunk * width;
  int64_t ranks = call.group.size(), part = command.outer * run;
  std::byte *packed = nullptr, *gathered = nullptr;
  TPSP_TRY(reserveTwo(use.stream, part, ranks * part, packed, gathered));
  PeerPieces source{use.buffer(call, 0), 0, command.outer, run,
                    command.runPitch() * width};
  if (source.isDense())
    packed = source.data;
  else
    TPSP_TRY(pack(source, 1, packed, use.stream.get()));
  TPSP_NCCL(communicator, ncclAllGather, packed, gathered,
            size_t(command.outer * command.chunk), typeOf(command.dtype),
            communicator, use.stream.get());
  // From [rank, outer, chunk] to [outer, rank, chunk].
  PeerPieces target{use.buffer(call, 1), run, command.outer, run, ranks * run};
  return unpack(gathered, target, ranks, use.stream.get());
}

Status NcclCollectives::reduceScatter(Call &call, const ShardCommand &command,
                                      const StreamUse &use) {
  ncclComm_t communicator = nullptr;
  TPSP_TRY(communicatorOf(call, communicator));
  if (command.outer * command.chunk == 0)
    return {};
  return hasFewLongRuns(command)
             ? scatterRuns(call, command, communicator, use)
             : scatterPacked(call, command, communicator, use);
}

Status NcclCollectives::scatterRuns(const Call &call,
                                    const ShardCommand &command,
                                    ncclComm_t communicator,
                                    const StreamUse &use) {
  int64_t width = elementBytes(command.dtype);
  return inGroup(communicator, [&]() -> Status {
    for (int64_t o = 0; o < command.outer; ++o)
      TPSP_NCCL(communicator, ncclReduceScatter,
                use.buffer(call, 0) +
                    o * call.group.size() * command.chunk * width,
                use.buffer(call, 1) + o * command.runPitch() * width,
                size_t(command.chunk), typeOf(command.dtype),
                reductionOf(command.reduction), communicator, use.stream.get());
    return {};
  });
}

Status NcclCollectives::scatterPacked(const Call &call,
                                      const ShardCommand &command,
                                      ncclComm_t communicator,
                                      const StreamUse &use) {
  int64_t width = elementBytes(command.dtype), run = command.chunk * width;
  int64_t ranks = call.group.size(), part = command.outer * run;
  std::byte *packed = nullptr, *reduced = nullptr;
  TPSP_TRY(reserveTwo(use.stream, ranks * part, part, packed, reduced));
  // From [outer, rank, chunk] to [rank, outer, chunk].
  PeerPieces source{use.buffer(call, 0), run, command.outer, run, ranks * run};
  TPSP_TRY(pack(source, ranks, packed, use.stream.get()));
  PeerPieces target{use.buffer(call, 1), 0, command.outer, run,
                    command.runPitch() * width};
  if (target.isDense())
    reduced = target.data;
  TPSP_NCCL(communicator, ncclReduceScatter, packed, reduced,
            size_t(command.outer * command.chunk), typeOf(command.dtype),
            reductionOf(command.reduction), communicator, use.stream.get());
  return target.isDense() ? Status()
                          : unpack(reduced, target, 1, use.stream.get());
}

Status NcclCollectives::pack(const PeerPieces &side, int64_t peers,
                             std::byte *dense, cudaStream_t stream) const {
  return kernels.copy({dense, side.data, peers, side.rows, side.bytes,
                       side.pieceBytes(), side.bytes, side.peer, side.stride},
                      stream);
}

Status NcclCollectives::unpack(const std::byte *dense, const PeerPieces &side,
                               int64_t peers, cudaStream_t stream) const {
  return kernels.copy({side.data, dense, peers, side.rows, side.bytes,
                       side.peer, side.stride, side.pieceBytes(), side.bytes},
                      stream);
}

Status NcclCollectives::allToAll(Call &call, const AllToAllCommand &command,
                                 const StreamUse &use) {
  ncclComm_t communicator = nullptr;
  TPSP_TRY(communicatorOf(call, communicator));
  int64_t ranks = call.group.size();
  AllToAllPieces pieces(command, ranks, use.buffer(call, 0),
                        use.buffer(call, 1));
  int64_t bytes = pieces.source.pieceBytes();
  if (bytes == 0)
    return {};
  std::byte *packed = nullptr, *received = nullptr;
  PeerPieces from = pieces.source, to = pieces.target;
  TPSP_TRY(reserveTwo(use.stream, from.isDense() ? 0 : ranks * bytes,
                      to.isDense() ? 0 : ranks * bytes, packed, received));
  if (!from.isDense()) {
    TPSP_TRY(pack(from, ranks, packed, use.stream.get()));
    from = {packed, bytes, 1, bytes, bytes};
  }
  if (!to.isDense())
    to = {received, bytes, 1, bytes, bytes};
  TPSP_TRY(inGroup(communicator, [&]() -> Status {
    for (int64_t q = 0; q < ranks; ++q) {
      TPSP_NCCL(communicator, ncclSend, from.data + q * from.peer,
                size_t(bytes), ncclInt8, int(q), communicator,
                use.stream.get());
      TPSP_NCCL(communicator, ncclRecv, to.data + q * to.peer, size_t(bytes),
                ncclInt8, int(q), communicator, use.stream.get());
    }
    return {};
  }));
  return pieces.target.isDense()
             ? Status()
             : unpack(received, pieces.target, ranks, use.stream.get());
}

Status NcclCollectives::permute(Call &call, const PermuteCommand &command,
                                const StreamUse &use) {
  ncclComm_t communicator = nullptr;
  TPSP_TRY(communicatorOf(call, communicator));
  int64_t width = elementBytes(command.dtype), run = command.count * width;
  int64_t self = call.group.self, bytes = command.runs * run;
  if (bytes == 0)
    return {};
  PeerPieces from{use.buffer(call, 0), 0, command.runs, run,
                  command.sourcePitch * width};
  PeerPieces to{use.buffer(call, 1), 0, command.runs, run,
                command.targetPitch * width};
  std::byte *packed = nullptr, *received = nullptr;
  TPSP_TRY(reserveTwo(use.stream, from.isDense() ? 0 : bytes,
                      to.isDense() ? 0 : bytes, packed, received));
  if (!from.isDense())
    TPSP_TRY(pack(from, 1, packed, use.stream.get()));
  TPSP_TRY(inGroup(communicator, [&]() -> Status {
    for (int64_t q = 0; q < call.group.size(); ++q)
      if (command.source[size_t(q)] == self)
        TPSP_NCCL(communicator, ncclSend, from.isDense() ? from.data : packed,
                  size_t(bytes), ncclInt8, int(q), communicator,
                  use.stream.get());
    TPSP_NCCL(communicator, ncclRecv, to.isDense() ? to.data : received,
              size_t(bytes), ncclInt8, int(command.source[size_t(self)]),
              communicator, use.stream.get());
    return {};
  }));
  return to.isDense() ? Status() : unpack(received, to, 1, use.stream.get());
}

} // namespace tpsp::rt
