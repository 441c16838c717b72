/// Lists of numbers, one for each of the first natural numbers. They lie one
/// after another in a single array.
#ifndef TPSP_SCHEDULE_NUMBERLISTS_H
#define TPSP_SCHEDULE_NUMBERLISTS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace tpsp {

class NumberLists {
public:
  /// `forEach(add)` calls `add(list, number)` for each number of each of
  /// `count` lists. It is called twice. A list has its numbers in the order of
  /// these calls.
  template <typename ForEach>
  NumberLists(size_t count, ForEach forEach) : ends(count + 1, 0) {
    // `ends[i + 1]` is the begin of list i until its numbers are placed.
    forEach([&](int64_t list, int64_t) {
      if (size_t(list) + 2 < ends.size())
        ++ends[list + 2];
      ++total;
    });
    for (size_t i = 1; i < ends.size(); ++i)
      ends[i] += ends[i - 1];
    numbers.resize(total);
    forEach([&](int64_t list, int64_t number) {
      numbers[ends[list + 1]++] = number;
    });
  }

  llvm::ArrayRef<int64_t> operator[](int64_t list) const {
    return llvm::ArrayRef(numbers).slice(ends[list],
                                         ends[list + 1] - ends[list]);
  }

private:
  std::vector<size_t> ends;
  size_t total = 0;
  std::vector<int64_t> numbers;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_NUMBERLISTS_H
