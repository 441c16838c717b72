/// Goes through all ways to choose one of several things for each of several
/// others.
///
///   Choices choices({2, 1, 3});
///   do use(choices[0], choices[1], choices[2]); while (choices.next());
#ifndef TPSP_LIB_PLANNER_CHOICES_H
#define TPSP_LIB_PLANNER_CHOICES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tpsp::planner {

class Choices {
public:
  /// `counts`: how many there are to choose from, each at least 1. It must
  /// outlive the choices, the first of which is 0 everywhere.
  explicit Choices(llvm::ArrayRef<size_t> counts)
      : counts(counts), chosen(counts.size(), 0) {}

  size_t operator[](size_t i) const { return chosen[i]; }
  /// Makes the next choice; false after the last.
  bool next() {
    for (size_t i = 0; i < counts.size(); ++i) {
      if (++chosen[i] < counts[i])
        return true;
      chosen[i] = 0;
    }
    return false;
  }

private:
  llvm::ArrayRef<size_t> counts;
  llvm::SmallVector<size_t> chosen;
};

} // namespace tpsp::planner

#endif // TPSP_LIB_PLANNER_CHOICES_H
