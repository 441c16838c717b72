/// Judges by brute force whether a step is right; ScheduleProof is compared
/// with it. It shares no code with HappensBefore and ScheduleProof. The order
/// is an explicit closure over all pairs of commands, and memory is checked
/// byte by byte.
#ifndef TPSP_TEST_UNIT_PLANNER_SCHEDULEORACLE_H
#define TPSP_TEST_UNIT_PLANNER_SCHEDULEORACLE_H

#include "tpsp/Abi/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

namespace tpsp {

/// Says which positions of an order of issue have certainly ended before
/// another begins. Streams run in order, and a wait follows its record.
class IssueClosure {
public:
  IssueClosure() = default;
  /// Takes these commands of `step`, in this order. Sets `wrong` to an error in
  /// its events, if there is one.
  IssueClosure(const Plan &step, llvm::ArrayRef<int64_t> issue,
               std::string &wrong);

  bool endsBefore(size_t earlier, size_t later) const {
    return before[later].test(earlier);
  }
  bool areOrdered(size_t a, size_t b) const {
    return endsBefore(a, b) || endsBefore(b, a);
  }

private:
  std::vector<llvm::BitVector> before;
};

/// Judges orders in which a rank issues commands of one allocated step.
class ScheduleOracle {
public:
  explicit ScheduleOracle(const Plan &step);

  /// Judges these commands of the step, in this order. Returns an error as a
  /// sentence, or "" if the order is right, which means: every wait follows its
  /// record. Two commands are ordered if both touch a byte and one writes it,
  /// or if they are collectives of the same ranks. Every byte of a buffer is
  /// written at most once and before it is read. A command reads only the
  /// buffer's own values. Arguments are never overwritten. Every result is
  /// complete at the end.
  std::string judge(llvm::ArrayRef<int64_t> issue) const;

  /// Judges all commands in the step's own order.
  std::string judge() const;

private:
  struct Touch {
    int64_t command, buffer;
    bool isWrite;
  };
  /// Bytes of the arena that are all touched by the same accesses.
  using ByteClass = std::vector<Touch>;

  void findClasses();
  void findConflicts();
  std::string judgeBytes(const ByteClass &bytes,
                         llvm::ArrayRef<int64_t> positionOf) const;

  const Plan &step;
  std::vector<ByteClass> classes;
  /// Pairs of commands that must be ordered.
  std::vector<std::pair<int64_t, int64_t>> conflicts;
};

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLANNER_SCHEDULEORACLE_H
