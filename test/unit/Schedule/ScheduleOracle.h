/// Whether a step is right, found out by brute force: what ScheduleProof says
/// is held against it. Shares nothing with HappensBefore and ScheduleProof:
/// the order is an explicit closure over all pairs of commands, and memory is
/// looked at byte by byte.
#ifndef TPSP_TEST_UNIT_PLANNER_SCHEDULEORACLE_H
#define TPSP_TEST_UNIT_PLANNER_SCHEDULEORACLE_H

#include "tpsp/Abi/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

namespace tpsp {

/// Which positions of an order of issue have certainly ended before another
/// begins: streams run in order, and a wait follows its record.
class IssueClosure {
public:
  IssueClosure() = default;
  /// Of `step`'s commands these, in this order. `wrong` becomes what is wrong
  /// with its events, if something is.
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

/// Judges what a rank may issue of one allocated step's commands.
class ScheduleOracle {
public:
  explicit ScheduleOracle(const Plan &step);

  /// Of the step's commands these, in this order: what goes wrong then, in
  /// words; "" if nothing does. Right is: every wait follows its record; of two
  /// commands that touch the same byte, one writing, or that are collectives of
  /// the same ranks, one ends before the other begins; every byte of a buffer
  /// is written at most once and before it is read; what is read is the
  /// buffer's own; arguments are never overwritten; all of every result is
  /// there at the end.
  std::string judge(llvm::ArrayRef<int64_t> issue) const;

  /// All commands in the step's own order.
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
