/// A set of numbers below a bound. A bit of each level says whether a word of
/// the level below has any. So the least number, and the next one after a
/// number, are found in as many steps as there are levels: three for 262,144.
#ifndef TPSP_SCHEDULE_NUMBERSET_H
#define TPSP_SCHEDULE_NUMBERSET_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"

#include <cstdint>
#include <vector>

namespace tpsp {

class NumberSet {
public:
  /// The set is empty. Its numbers are at least 0 and less than `bound`.
  explicit NumberSet(size_t bound) {
    do {
      bound = (bound + wordBits - 1) / wordBits;
      levels.emplace_back(bound, 0);
    } while (bound > 1);
  }

  bool empty() const { return levels.back().empty() || !levels.back()[0]; }
  bool contains(int64_t number) const {
    return levels[0][number / wordBits] & bit(number);
  }

  void insert(int64_t number) {
    for (std::vector<uint64_t> &level : levels) {
      level[number / wordBits] |= bit(number);
      number /= wordBits;
    }
  }

  void erase(int64_t number) {
    for (std::vector<uint64_t> &level : levels) {
      if (level[number / wordBits] &= ~bit(number))
        return;
      number /= wordBits;
    }
  }

  /// The least number; -1 if the set is empty.
  int64_t first() const { return empty() ? -1 : leastIn(levels.size(), 0); }

  /// The least number that is greater than `number`; -1 if there is none.
  int64_t next(int64_t number) const {
    for (size_t i = 0; i < levels.size(); ++i) {
      uint64_t word = levels[i][number / wordBits];
      uint64_t later = word & ~(bit(number) | (bit(number) - 1));
      number /= wordBits;
      if (later)
        return leastIn(i, number * wordBits + llvm::countr_zero(later));
    }
    return -1;
  }

private:
  static constexpr int64_t wordBits = 64;
  static uint64_t bit(int64_t number) {
    return uint64_t(1) << (number % wordBits);
  }

  /// The least number under the bit `at` of the level `i`, which is set.
  int64_t leastIn(size_t i, int64_t at) const {
    while (i-- > 0)
      at = at * wordBits + llvm::countr_zero(levels[i][at]);
    return at;
  }

  llvm::SmallVector<std::vector<uint64_t>, 4> levels;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_NUMBERSET_H
