//===- HiddenScores.h - scores of keys that are not seen --------*- C++ -*-===//
//
// A score of minus infinity is that of a hidden key, and no other score is.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H
#define TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H

#include <limits>

namespace tpsp::reference {

inline constexpr double hiddenScore = -std::numeric_limits<double>::infinity();

/// Whether a bias hides a key: any other is a number that is added.
inline bool hidesKey(double bias) { return bias == hiddenScore; }

/// The score of a key that is seen. One that is below all numbers, by rounding,
/// is the lowest of them.
inline double seenScore(double score) {
  return score == hiddenScore ? std::numeric_limits<double>::lowest() : score;
}

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_HIDDENSCORES_H
