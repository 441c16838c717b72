/// Layout of the pieces that the ranks of a group exchange in a collective.
#ifndef TPSP_RUNTIME_CORE_PEERPIECES_H
#define TPSP_RUNTIME_CORE_PEERPIECES_H

#include "tpsp/Abi/Commands.h"

#include <algorithm>
#include <cstddef>

namespace tpsp::rt {

/// The elements of a tensor that one rank of a group reduces for all. Parts are
/// whole cache lines, so that no two ranks write to the same line.
struct Part {
  int64_t begin, end;

  Part(int64_t count, int64_t ranks, int64_t number) {
    constexpr int64_t line = 64;
    int64_t share = (count + ranks - 1) / ranks;
    share = (share + line - 1) / line * line;
    begin = std::min(count, number * share);
    end = std::min(count, begin + share);
  }

  int64_t size() const { return end - begin; }
};

/// Copies `blocks` blocks of `rows` runs of `bytes` bytes; strides are in
/// bytes. Runs of the target do not overlap each other or the source.
struct StridedCopy {
  std::byte *target = nullptr;
  const std::byte *source = nullptr;
  int64_t blocks = 1, rows = 1, bytes = 0;
  int64_t targetBlock = 0, targetRow = 0, sourceBlock = 0, sourceRow = 0;
};

/// One side of a collective: a piece for each rank of the group, `peer` bytes
/// apart. Each piece has `rows` runs of `bytes` bytes that are `stride` bytes
/// apart.
struct PeerPieces {
  std::byte *data;
  int64_t peer, rows, bytes, stride;

  int64_t pieceBytes() const { return rows * bytes; }
  bool isDense() const { return rows == 1 || stride == bytes; }
  std::byte *piece(int64_t number) const { return data + number * peer; }
};

/// The copy of piece `from` of the source to piece `to` of the target, which
/// has as many bytes.
StridedCopy copyOfPiece(const PeerPieces &source, int64_t from,
                        const PeerPieces &target, int64_t to);

/// A rank's part of tensor `i` of a ShardCommand, and the whole tensor in a
/// group of `ranks` ranks.
PeerPieces partOf(const ShardCommand &command, size_t i, std::byte *data);
PeerPieces wholeOf(const ShardCommand &command, size_t i, int64_t ranks,
                   std::byte *data);

/// The sides of an all_to_all. With gatherFirst, [a, I, b, n*J, c] becomes [a,
/// n*I, b, J, c]. A piece of one side is short runs of J*c; a piece of the
/// other is whole blocks of I*b such runs. Otherwise, [a, n*J, b, I, c] becomes
/// [a, J, b, n*I, c], and the sides are exchanged.
struct AllToAllSides {
  PeerPieces source, target;

  AllToAllSides(const AllToAllCommand &command, int64_t ranks,
                std::byte *source, std::byte *target);
};

/// The sides of a permutation; each has one piece.
PeerPieces sourceOf(const PermuteCommand &command, std::byte *data);
PeerPieces targetOf(const PermuteCommand &command, std::byte *data);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PEERPIECES_H
