/// How the ranks of a CUDA world exchange data.
#ifndef TPSP_RUNTIME_CUDA_CUDACOLLECTIVES_H
#define TPSP_RUNTIME_CUDA_CUDACOLLECTIVES_H

#include "CudaStream.h"
#include "OwnKernels.h"

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// Where a call's bytes are, and the stream that it runs on.
struct StreamUse {
  /// Of the rank, on its GPU.
  std::byte *arena;
  CudaStream &stream;

  std::byte *buffer(const Call &call, size_t index) const {
    return arena + call.buffers[index];
  }
};

/// A rank's collectives. The methods enqueue what Commands.h says; they are
/// called on the rank's thread.
class CudaCollectives {
public:
  virtual ~CudaCollectives() = default;

  virtual Status allReduce(Call &call, const AllReduceCommand &command,
                           const StreamUse &use) = 0;
  virtual Status allGather(Call &call, const ShardCommand &command,
                           const StreamUse &use) = 0;
  virtual Status reduceScatter(Call &call, const ShardCommand &command,
                               const StreamUse &use) = 0;
  virtual Status allToAll(Call &call, const AllToAllCommand &command,
                          const StreamUse &use) = 0;
  virtual Status permute(Call &call, const PermuteCommand &command,
                         const StreamUse &use) = 0;
};

/// One side of a collective: a piece for each rank of the group, `peer` bytes
/// apart, each of `rows` runs of `bytes` bytes that are `stride` bytes apart.
struct PeerPieces {
  std::byte *data;
  int64_t peer, rows, bytes, stride;

  int64_t pieceBytes() const { return rows * bytes; }
  bool isDense() const { return rows == 1 || stride == bytes; }
};

/// The sides of an all_to_all. With gatherFirst, [a, I, b, n*J, c] becomes
/// [a, n*I, b, J, c]: a piece is short runs of J*c on the one side, and whole
/// blocks of I*b of them on the other. Otherwise, [a, n*J, b, I, c] becomes
/// [a, J, b, n*I, c] and the sides change places.
struct AllToAllPieces {
  PeerPieces source, target;
  /// Number `from`'s piece, at its source, to its place in number `to`'s
  /// target, on one GPU.
  StridedCopy copy(int64_t from, int64_t to) const;

  AllToAllPieces(const AllToAllCommand &command, int64_t ranks,
                 std::byte *source, std::byte *target);

private:
  bool gathersFirst;
  int64_t blocks, blockRows, run;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDACOLLECTIVES_H
