/// Chooses the compute placements of all operations of a function together.
///
/// The table (ComputePlacement.h) gives the cost of a drive for given
/// placements of the operands. Earlier operations decide these placements, and
/// which operands have already been gathered or reduced. So the drives of a
/// phase, forward or backward, are chosen together.
///
/// Axes compose, so each axis is searched by itself. Along one axis a tensor
/// has one of a few *states*: whole, a pending sum, a pending maximum, or
/// divided on one of its dimensions. A value may be *available* in several
/// states: the state in which it is computed, and each state that an operation
/// has needed since. Each state is paid for once. A whole tensor is available
/// on every dimension. Axes interact only through the extents that they divide
/// together. So the search of an axis knows the decisions for the axes before
/// it. If an extent was too small for the later axis, the axes are searched in
/// reverse order, too.
///
/// The search is dynamic programming over the operations in program order. A
/// state of the search lists the states in which the live values are available:
/// those that a later operation uses. If two ways lead to one state, the
/// cheaper way survives. Live values are few, so the result is exact. But if
/// more than `mostStates` ways are open at once, only the cheapest are kept.
/// Half of them are so as they are, half if all idle gathers were needed.
///
/// Costs are compared in this order (docs/Design/IndexAnalysis.md says why):
///
/// 1. *Idle gathers*: a tensor is made whole for an operation that could have
///    worked on it as it was, or as it is wanted. A gather is not idle if
///    another operation needs the whole tensor anyway, or if integers look up
///    its rows: each rank would then have a result of full size, mostly zeros.
/// 2. *Against roles*: collectives that move a parameter over a model axis, or
///    an activation over a data axis. Vectors (gains, biases) and small tensors
///    may move; the gradient of a replicated parameter must be reduced. A
///    parameter that meets an activation gathered over a data axis counts, too:
///    its gradient would have to be gathered.
/// 3. Collectives of tensors.
/// 4. Collectives of *small* tensors, which have no index of a parameter
///    (integers, statistics of rows, losses), and reductions of parameters'
///    gradients, which share buckets. Reductions of vectors' gradients are
///    free.
/// 5. Bytes of activations that a rank moves: sent, read or written.
/// 6. Work per rank.
/// 7. Sums taken early.
/// 8. Bytes sent, also of parameters.
/// 9. The order of candidates, so that the choice is deterministic.
#ifndef TPSP_ALGEBRA_PLACEMENTSEARCH_H
#define TPSP_ALGEBRA_PLACEMENTSEARCH_H

#include "tpsp/Algebra/ComputePlacement.h"

#include <vector>

namespace tpsp {

/// The state of a tensor along one axis.
class AxisState {
public:
  static AxisState whole() { return AxisState(0); }
  static AxisState pending(Reduction reduction) {
    return AxisState(reduction == Reduction::Sum ? 1 : 2);
  }
  static AxisState on(unsigned dim) { return AxisState(3 + dim); }
  /// The state of `axis` in `placement`.
  static AxisState of(const Placement &placement, AxisId axis);

  bool isPending() const { return code == 1 || code == 2; }
  /// The dimension that the axis divides, if any.
  std::optional<unsigned> dim() const {
    return code < 3 ? std::nullopt : std::optional<unsigned>(code - 3);
  }
  unsigned number() const { return code; }
  bool operator==(AxisState other) const { return code == other.code; }
  bool operator!=(AxisState other) const { return code != other.code; }

private:
  explicit AxisState(unsigned code) : code(code) {}
  unsigned code;
};

/// A byte that is sent counts as so many that are read or written. It is not
/// the ratio of a machine, so that a program means the same everywhere.
constexpr int64_t sendFactor = 4;

/// The costs of a function along one axis, or the sum over several axes.
struct SearchCost {
  int idle = 0;
  int againstRole = 0;
  int collectives = 0;
  int small = 0;
  /// Bytes of activations that a rank moves: it sends them (`sendFactor` times
  /// each), or its operations read or write them.
  int64_t moved = 0;
  __int128 work = 0; ///< scalar operations per rank
  int earlySums = 0;
  int64_t bytes = 0; ///< sent per rank

  /// Lexicographic, in the order of the members.
  bool operator<(const SearchCost &other) const;
  bool operator==(const SearchCost &other) const;
  SearchCost &operator+=(const SearchCost &other);
  SearchCost &operator-=(const SearchCost &other);
  /// Leaves idle gathers as they are: whether a tensor is gathered in vain does
  /// not depend on how often.
  SearchCost &operator*=(int64_t times);
};

/// A function, or one phase of it, without its IR.
struct PlacementProblem {
  struct Value {
    /// How far the choice may depart from `wanted`.
    enum Freedom {
      Fixed,     ///< not at all
      Undivided, ///< it may stay as computed along axes that do not divide it
      Free       ///< it may stay as computed
    };
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 4;
    /// The placement that the value must have; nullopt accepts any.
    std::optional<Placement> wanted;
    Freedom freedom = Fixed;
    /// The expected placement of an unplaced value, for the sizes of its
    /// shards.
    Placement expected;
    bool isWeight = false; ///< a parameter or a parameter's gradient
    bool isSmall = false;
    /// For each operation of the other phase that reads the value: the
    /// operation's result if it is linear in each operand, else nullopt. A
    /// pending sum is saved as it is, so the other phase reduces the sum, or
    /// the results of linear readers.
    llvm::SmallVector<std::optional<unsigned>, 1> readers;
  };
  struct Operation {
    IndexStructure structure;
    llvm::SmallVector<unsigned, 3> operands; ///< positions in `values`
    llvm::SmallVector<unsigned, 1> results;
    /// Whether it adds its operands. Operands that are pending over the same
    /// axis are added first and then reduced once.
    bool isSum = false;
    /// Whether it only converts one operand to another precision. The sum over
    /// ranks is to be taken in that precision, so it comes after the
    /// conversion.
    bool isConvertingSum = false;
    /// Whether it only moves its operand to a placement that the program asks
    /// for. Its collectives are not the search's choice, so only their bytes
    /// count.
    bool isReshard = false;
    /// The micro-batch. Every micro-batch gathers for itself.
    unsigned part = 0;
    /// How often it runs: one micro-batch may stand for all.
    int64_t times = 1;
  };

  Mesh mesh;
  /// A value that no operation computes has its wanted placement.
  std::vector<Value> values;
  /// In program order.
  std::vector<Operation> operations;
};

struct PlacementAnswer {
  /// Per operation, per axis.
  std::vector<llvm::SmallVector<Drive, 2>> drives;
  /// Per value, per axis: the state in which its operation leaves it. For a
  /// value that no operation computes, its given state.
  std::vector<llvm::SmallVector<AxisState, 2>> homes;
  /// The sum over all axes of more than one rank.
  SearchCost cost;
};

/// The most ways that the search keeps open at once.
constexpr size_t mostStates = 128;

/// The best choice; nullopt if the program has no legal one.
std::optional<PlacementAnswer> searchPlacements(const PlacementProblem &problem,
                                                size_t most = mostStates);

} // namespace tpsp

#endif // TPSP_ALGEBRA_PLACEMENTSEARCH_H
