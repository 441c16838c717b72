/// An operation as one axis sees it: numbers alone, so that operations of equal
/// layers and micro-batches are equal.
#ifndef TPSP_ALGEBRA_AXISOPERATION_H
#define TPSP_ALGEBRA_AXISOPERATION_H

#include "tpsp/Algebra/PlacementSearch.h"

#include <vector>

namespace tpsp {

/// The states in which a value is available: a bit for each. One more says that
/// only an operation which could have done without it has gathered it.
using States = char32_t;
constexpr States idleBit = States(1) << 31;
inline States bit(AxisState state) { return States(1) << state.number(); }
inline const States wholeBit = bit(AxisState::whole());
inline const States pendingBits = bit(AxisState::pending(Reduction::Sum)) |
                                  bit(AxisState::pending(Reduction::Max));
constexpr unsigned mostDims = 27; // more bits there are not

/// One drive of an operation.
struct AxisWay {
  Drive drive;
  llvm::SmallVector<AxisState, 3> needs;
  llvm::SmallVector<AxisState, 1> results;
  /// Whether a tensor is wanted on the index, wherever it comes out.
  bool isWanted = false;

  bool operator==(const AxisWay &other) const;
};

/// A tensor of an operation.
struct AxisTensor {
  /// Of a rank's shard, were it not for the axis.
  int64_t elements = 1;
  int64_t elementBytes = 4;
  /// Where it is to be; nullopt takes what comes out.
  std::optional<AxisState> wanted;
  /// States in which the operation, done alike by all ranks, could have worked
  /// on it.
  States divisible = 0;
  bool isWeight = false, isSmall = false, isVector = false;
  /// Whether it may be elsewhere than where it is wanted; whether as a sum.
  bool mayDepart = false, mayWait = false;

  bool operator==(const AxisTensor &other) const;
  States wantedBit() const { return wanted ? bit(*wanted) : 0; }
};

struct AxisOperation {
  /// In the order of preference among equals.
  std::vector<AxisWay> ways;
  llvm::SmallVector<AxisTensor, 3> operands;
  llvm::SmallVector<AxisTensor, 1> results;
  /// Per result what another phase reduces if the result stays a sum.
  llvm::SmallVector<llvm::SmallVector<AxisTensor, 1>, 1> reducedLater;
  /// Per operand: the first that is the same value.
  llvm::SmallVector<unsigned, 3> sameAs;
  bool isSum = false;
  bool isConvertingSum = false;
  __int128 work = 0; ///< by one rank alone
  int64_t times = 1; ///< that it is done

  bool operator==(const AxisOperation &other) const;
  /// Equal ones have equal numbers.
  size_t hash() const;
};

/// What one way makes of the states of an operation's tensors, operands first.
struct AxisOutcome {
  unsigned way = 0;
  unsigned kept = 0; ///< per result a bit: whether it stays as it comes out
  SearchCost cost;   ///< of this operation alone, as often as it is done
  std::u32string states;
};

/// All that the operation may do along an axis of this role and size, where its
/// operands are available in `states`. In the order of its ways, and of each
/// way those that bring results first.
std::vector<AxisOutcome> outcomesOf(const AxisOperation &operation,
                                    llvm::ArrayRef<States> states,
                                    AxisRole role, int64_t size);

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISOPERATION_H
