/// Collectives between ranks that can address each other's memory: threads of
/// one process, or ranks that share a GPU. What moves where is here; how ranks
/// meet and how bytes move is the backend's.
///
///   1. begin: everybody's sources may be read.
///   2. copies and combinations of this rank's share.
///   3. end: nobody reads any more.
///
/// An all_reduce has a step in between: each rank combines its part of every
/// tensor, then fetches the others' parts. Elements combine in the order of the
/// group and 16-bit ones in f32, so replicas agree bit by bit.
#ifndef TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H
#define TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H

#include "PeerPieces.h"
#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <vector>

namespace tpsp::rt {

/// target[row, i] = sources[0][row, i] op sources[1][row, i] op ..., from left
/// to right, for `count` elements of `rows` rows; pitches in elements.
struct Combination {
  int64_t dtype, reduction;
  std::byte *target;
  int64_t rows, count, targetPitch, sourcePitch;
  /// One address for each rank of the group. May be changed.
  std::vector<const std::byte *> &sources;
};

/// One rank's part in one call. Its methods do, or enqueue, what they say.
class PeerAccess {
public:
  /// `sources`: room for an address per rank of the group, kept with the call.
  explicit PeerAccess(std::vector<const std::byte *> &sources)
      : sources(sources) {}
  virtual ~PeerAccess() = default;

  /// Everybody's sources may be read behind this.
  virtual Status begin() = 0;
  /// What the others have combined may be read behind this.
  virtual Status between() = 0;
  /// Everything may be overwritten behind this.
  virtual Status end() = 0;

  /// Buffer `index` of the call of number `number` of the group. Between begin
  /// and end.
  virtual std::byte *buffer(int64_t number, size_t index) const = 0;

  virtual Status copy(const StridedCopy &copy) = 0;
  virtual Status combine(const Combination &combination) = 0;

  std::vector<const std::byte *> &sources;
};

/// Makes `call`, a collective, from begin to end.
Status runBetweenPeers(const Call &call, PeerAccess &peers);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PEERCOLLECTIVES_H
