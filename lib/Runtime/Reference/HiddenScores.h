//===- HiddenScores.h - scores of keys that are not seen --------*- C++ -*-===//
//
// A score is minus infinity if and only if its key is hidden.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H
#define TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H

#include "tpsp/Abi/ScoreOptions.h"

#include <limits>

namespace tpsp::reference {

inline constexpr double hiddenScore = -std::numeric_limits<double>::infinity();

/// Whether a bias hides a key. Any other bias is a number that is added.
inline bool hidesKey(double bias) { return bias == hiddenScore; }

/// Whether the query at position `query` sees the key at position `key`, as far
/// as positions say.
inline bool isSeen(const PositionMask &mask, int64_t query, int64_t key) {
  const bool isOfChunk =
      mask.chunk == 0 || key / mask.chunk == query / mask.chunk;
  return !mask.causal || (key <= query && isOfChunk &&
                          (mask.window == 0 || query - key < mask.window));
}

/// The score of a key that is seen. If rounding made it minus infinity, it
/// becomes the lowest finite number.
inline double seenScore(double score) {
  return score == hiddenScore ? std::numeric_limits<double>::lowest() : score;
}

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H
