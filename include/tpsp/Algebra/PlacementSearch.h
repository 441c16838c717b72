/// The compute placements of all operations of a function, chosen together.
///
/// The table (ComputePlacement.h) says what a drive costs where the operands
/// are. Where they are, and what of them has been gathered or reduced already,
/// is decided by the operations before. So the drives of a phase, forward or
/// backward, are chosen together.
///
/// Axes compose, so each axis is searched by itself. Along one axis a tensor
/// has one of a few *states*: whole, a pending sum, a pending maximum, or
/// divided on one of its dimensions. A value may be *available* in several: the
/// one that it is made in, and each that an operation has needed since, paid
/// for once. A whole tensor is available on every dimension. What axes do not
/// know of each other is which extents they divide together. So each knows what
/// was decided of those before it. If that was too much for one, the axes are
/// searched the other way round, too.
///
/// The search is dynamic programming over the operations in program order. A
/// state of the search says in which states the live values are available that
/// a later operation uses. Of two ways to one state the cheaper survives. Live
/// values are few, so the result is exact. But where more than `mostStates`
/// ways are open at once, the cheapest go on.
///
/// Costs are compared in this order (docs/Design/IndexAnalysis.md says why):
///
/// 1. *Idle gathers*: making a tensor whole for an operation that could have
///    worked on it where it was, or is wanted, unless another operation needs
///    the whole tensor anyway.
/// 2. *Against roles*: collectives that move a parameter over a model axis, or
///    an activation over a data axis. Vectors (gains, biases) and small tensors
///    may move; the gradient of a replicated parameter must be reduced.
/// 3. Collectives of tensors.
/// 4. Collectives of *small* tensors, those without an index of a parameter
///    (integers, statistics of rows, losses), and reductions of parameters'
///    gradients, which share buckets. Those of vectors count for nothing.
/// 5. Work per rank.
/// 6. Sums taken early.
/// 7. Bytes.
/// 8. The order of candidates, so that the choice is deterministic.
#ifndef TPSP_ALGEBRA_PLACEMENTSEARCH_H
#define TPSP_ALGEBRA_PLACEMENTSEARCH_H

#include "tpsp/Algebra/ComputePlacement.h"

#include <vector>

namespace tpsp {

/// What one axis makes of a tensor.
class AxisState {
public:
  static AxisState whole() { return AxisState(0); }
  static AxisState pending(Reduction reduction) {
    return AxisState(reduction == Reduction::Sum ? 1 : 2);
  }
  static AxisState on(unsigned dim) { return AxisState(3 + dim); }
  /// What `placement` says of `axis`.
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

/// Costs of a function along one axis, or of several added up.
struct SearchCost {
  int idle = 0;
  int againstRole = 0;
  int collectives = 0;
  int small = 0;
  __int128 work = 0; ///< scalar operations per rank
  int earlySums = 0;
  int64_t bytes = 0; ///< sent per rank

  /// Lexicographic, in the order of the members.
  bool operator<(const SearchCost &other) const;
  bool operator==(const SearchCost &other) const;
  SearchCost &operator+=(const SearchCost &other);
  SearchCost &operator-=(const SearchCost &other);
  /// But for idle gathers: whether a tensor is gathered in vain does not depend
  /// on how often.
  SearchCost &operator*=(int64_t times);
};

/// A function, or one phase of it, without its IR.
struct PlacementProblem {
  struct Value {
    /// How far the choice may depart from `wanted`.
    enum Freedom {
      Fixed,     ///< not at all
      Undivided, ///< it may stay as it comes out over axes that do not divide
                 ///< it
      Free       ///< it may stay as it comes out
    };
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 4;
    /// Where the value is to be; nullopt takes what comes out.
    std::optional<Placement> wanted;
    Freedom freedom = Fixed;
    /// Where an unplaced value is expected, for the sizes of its shards.
    Placement expected;
    bool isWeight = false; ///< a parameter or the gradient of one
    bool isSmall = false;
    /// Per operation of the other phase that reads the value: if it is linear
    /// in each operand, the value that it makes. A sum that waits is saved as
    /// it is. So the other phase reduces it, or what linear readers make of it.
    llvm::SmallVector<std::optional<unsigned>, 1> readers;
  };
  struct Operation {
    IndexStructure structure;
    llvm::SmallVector<unsigned, 3> operands; ///< positions in `values`
    llvm::SmallVector<unsigned, 1> results;
    /// Whether it adds its operands: those that are pending alike are added
    /// first and reduced once.
    bool isSum = false;
    /// Whether it is a sum of one in another precision. That is the one of its
    /// sum over ranks, so it comes before that.
    bool isConvertingSum = false;
    /// The micro-batch. What one has gathered, another gathers again.
    unsigned part = 0;
    /// How often it is done: one micro-batch may stand for all.
    int64_t times = 1;
  };

  Mesh mesh;
  /// A value that no operation makes is where it is wanted.
  std::vector<Value> values;
  /// In program order.
  std::vector<Operation> operations;
};

struct PlacementAnswer {
  /// Per operation, per axis.
  std::vector<llvm::SmallVector<Drive, 2>> drives;
  /// Per value, per axis: the state that its operation leaves it in. For values
  /// that no operation makes, the state that they are in.
  std::vector<llvm::SmallVector<AxisState, 2>> homes;
  /// Of all axes of more than one rank.
  SearchCost cost;
};

/// Ways that the search keeps open at once.
constexpr size_t mostStates = 128;

/// The best choice; nullopt if the program has no legal one.
std::optional<PlacementAnswer> searchPlacements(const PlacementProblem &problem,
                                                size_t most = mostStates);

} // namespace tpsp

#endif // TPSP_ALGEBRA_PLACEMENTSEARCH_H
