/// An operation as one axis sees it. It consists of numbers alone, so that
/// operations of equal layers and micro-batches compare equal.
#ifndef TPSP_ALGEBRA_AXISOPERATION_H
#define TPSP_ALGEBRA_AXISOPERATION_H

#include "tpsp/Algebra/PlacementSearch.h"

#include <vector>

namespace tpsp {

/// The states in which a value is available, one bit for each. `idleBit` marks
/// a value that was gathered in vain so far: the operation could have worked
/// without the gather.
using States = char32_t;
constexpr States idleBit = States(1) << 31;
inline States bit(AxisState state) { return States(1) << state.number(); }
inline const States wholeBit = bit(AxisState::whole());
inline const States pendingBits = bit(AxisState::pending(Reduction::Sum)) |
                                  bit(AxisState::pending(Reduction::Max));
constexpr unsigned mostDims = 27; // the bits left in States

/// One drive of an operation, with the states that it needs and yields.
struct AxisWay {
  Drive drive;
  llvm::SmallVector<AxisState, 3> needs;
  llvm::SmallVector<AxisState, 1> results;
  /// Whether some tensor is wanted on the index.
  bool isWanted = false;

  bool operator==(const AxisWay &other) const;
};

/// A tensor of an operation.
struct AxisTensor {
  /// Elements of a rank's shard without the axis's division.
  int64_t elements = 1;
  int64_t elementBytes = 4;
  /// The wanted state; nullopt accepts any.
  std::optional<AxisState> wanted;
  /// The states in which the operation could have worked on it without making
  /// it whole, and would have done less work.
  States divisible = 0;
  bool isWeight = false, isSmall = false, isVector = false;
  /// Whether it may be in another state than the wanted one.
  bool mayDepart = false;

  bool operator==(const AxisTensor &other) const;
  States wantedBit() const { return wanted ? bit(*wanted) : 0; }
};

struct AxisOperation {
  /// The first of equally good ways is preferred.
  std::vector<AxisWay> ways;
  llvm::SmallVector<AxisTensor, 3> operands;
  llvm::SmallVector<AxisTensor, 1> results;
  /// Per result, the tensors that another phase reduces if the result stays a
  /// sum.
  llvm::SmallVector<llvm::SmallVector<AxisTensor, 1>, 1> reducedLater;
  /// Per operand: the first operand that is the same value.
  llvm::SmallVector<unsigned, 3> sameAs;
  bool isSum = false;
  bool isConvertingSum = false;
  bool isReshard = false;
  __int128 work = 0; ///< if one rank does it all
  int64_t times = 1; ///< how often it runs

  bool operator==(const AxisOperation &other) const;
  /// Equal operations have equal hashes.
  size_t hash() const;
};

/// One way's effect on the states of an operation's tensors, operands first.
struct AxisOutcome {
  unsigned way = 0;
  unsigned kept = 0; ///< per result a bit: whether it stays as it comes out
  SearchCost cost;   ///< of this operation alone, all its runs together
  std::u32string states;
};

/// Every outcome of the operation along an axis of this role and size, if its
/// operands are available in `states`. Ordered by way; within a way, outcomes
/// that bring results to their wanted states come first.
std::vector<AxisOutcome> outcomesOf(const AxisOperation &operation,
                                    llvm::ArrayRef<States> states,
                                    AxisRole role, int64_t size);

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISOPERATION_H
