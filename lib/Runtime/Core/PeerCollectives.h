/// Collectives between ranks that can address each other's memory: threads of
/// one process, or ranks that share a GPU. This file decides which bytes move
/// where; the backend decides how ranks meet and how bytes move.
///
///   1. begin: the sources of all ranks may be read.
///   2. this rank copies and combines its share.
///   3. end: no rank reads any more.
///
/// An all_reduce has a step in between: each rank combines its part of every
/// tensor, then fetches the others' parts. Elements are combined in the order
/// of the group, and 16-bit elements in f32, so replicas agree bit by bit.
#ifndef TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H
#define TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H

#include "PeerPieces.h"
#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <vector>

namespace tpsp::rt {

/// target[row, i] = sources[0][row, i] op sources[1][row, i] op ..., from left
/// to right, for `count` elements of each of `rows` rows. Pitches are in
/// elements.
struct Combination {
  int64_t dtype, reduction;
  std::byte *target;
  int64_t rows, count, targetPitch, sourcePitch;
  /// One address for each rank of the group. The callee may change them.
  std::vector<const std::byte *> &sources;
};

/// One rank's part in one call. A method executes its step, or enqueues it.
class PeerAccess {
public:
  /// `sources`: room for one address per rank of the group, kept with the call.
  explicit PeerAccess(std::vector<const std::byte *> &sources)
      : sources(sources) {}
  virtual ~PeerAccess() = default;

  /// After this, the sources of all ranks may be read.
  virtual Status begin() = 0;
  /// After this, the parts that other ranks have combined may be read.
  virtual Status between() = 0;
  /// After this, all buffers may be overwritten.
  virtual Status end() = 0;

  /// Buffer `index` of the call of rank `number` of the group. Valid between
  /// begin and end.
  virtual std::byte *buffer(int64_t number, size_t index) const = 0;

  virtual Status copy(const StridedCopy &copy) = 0;
  virtual Status combine(const Combination &combination) = 0;

  std::vector<const std::byte *> &sources;
};

/// Runs `call`, a collective, from begin to end.
Status runBetweenPeers(const Call &call, PeerAccess &peers);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H
