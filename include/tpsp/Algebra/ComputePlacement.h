/// The compute placement of an operation: the one table that decides all
/// communication.
///
/// For every operation each mesh axis drives at most one of its indices: every
/// rank along the axis does its part of that index. If the axis drives i,
///
///   operand carries i sharded by the axis            nothing
///   operand carries i, unsharded by the axis         slice (free)
///   operand sharded by the axis on j, carries i      all-to-all j -> i
///   operand sharded by the axis on j, lacks i        all-gather j
///   operand pending over the axis                    reduce-scatter onto i, or
///                                                    all-reduce if it lacks i
///   i survives in the result                         result sharded on i
///   i is summed away                                 result pending
///
/// An axis may also drive nothing: every rank does the whole index space. If
/// the operation is linear, the axis may drive the pending sum itself: partial
/// operands pass through, and the result stays partial. So contributions to one
/// gradient are summed before they are reduced. A pending maximum passes
/// through operations that only select elements: a view, a copy of a block.
///
/// An axis may drive only an index on which an operand or the wanted result
/// carries it. For a single operation, the best legal choice has, in this
/// order,
///
/// - the fewest idle gathers, which make a divided operand whole for work that
///   all ranks then repeat;
/// - the fewest collectives against the axes' roles;
/// - the fewest collectives, of operands and result, counted for each axis;
/// - the least work per rank;
/// - the fewest sums taken before the operation that could be taken after it;
/// - the fewest bytes;
/// - the earliest candidate, so that the choice is deterministic.
///
/// The joint choice for all operations (PlacementSearch.h) has further criteria
/// between these, because it knows all uses of a tensor.
/// Bytes come last so that a strategy does not change with the batch size.
/// Collectives are counted per axis so that strategies on different axes
/// compose. A collective is against a role if it moves a weight over a model
/// axis, or another tensor over a data axis. For example, an embedding whose
/// table is sharded can gather the table or reduce the result. Both take one
/// collective, so the role decides.
#ifndef TPSP_ALGEBRA_COMPUTEPLACEMENT_H
#define TPSP_ALGEBRA_COMPUTEPLACEMENT_H

#include "tpsp/Algebra/Collective.h"
#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// The task of one mesh axis in one operation.
struct Drive {
  enum Kind { Nothing, Index, Pending };
  Kind kind = Nothing;
  IndexId index = 0;

  bool operator==(const Drive &other) const {
    return kind == other.kind && (kind != Index || index == other.index);
  }
};

struct PlacementCost {
  unsigned idle = 0; ///< axes of idle gathers
  unsigned againstRole = 0;
  unsigned collectives = 0;
  double work = 0;        ///< scalar operations per rank
  unsigned earlySums = 0; ///< operands' sums taken before the operation
  int64_t bytes = 0;      ///< sent per rank

  /// The same counts for axes of one rank. Their collectives cost nothing; the
  /// counts only make the choice change as few subscripts as possible.
  struct Trivial {
    unsigned collectives = 0, earlySums = 0, againstRole = 0, slices = 0;
  } trivial;

  /// Lexicographic, in the order of the members.
  bool operator<(const PlacementCost &other) const;
};

struct ComputePlacement {
  /// Per mesh axis.
  llvm::SmallVector<Drive, 2> drives;
  /// The placement that each operand must have.
  llvm::SmallVector<Placement, 3> operands;
  /// The placement of each result as computed, before it is brought to the
  /// wanted placement.
  llvm::SmallVector<Placement, 1> results;
  PlacementCost cost;
};

/// The operation with its tensors' placements.
struct PlacedOperation {
  const IndexStructure &structure;
  llvm::ArrayRef<Placement> operands;
  /// Per result; nullopt accepts any placement.
  llvm::ArrayRef<std::optional<Placement>> wanted;
  const Mesh &mesh;
  /// Per operand, then per result: whether it is a parameter of the model or a
  /// parameter's gradient. Empty: none is.
  llvm::ArrayRef<bool> weights = {};
};

/// The drives that `axis` may have: nothing first, then pending, then indices
/// in order.
llvm::SmallVector<Drive, 4> candidates(const PlacedOperation &operation,
                                       AxisId axis);

/// The consequences of a choice; nullopt if it is illegal. A choice is illegal
/// if axes do not divide their extent, or if a result is wanted pending but is
/// not. It is also illegal if a sum is to pass through from a whole operand.
/// Several axes that drive the same index take the cheapest of the tried
/// orders.
std::optional<ComputePlacement> evaluate(const PlacedOperation &operation,
                                         llvm::ArrayRef<Drive> drives);

/// The best legal choice; nullopt if there is none.
std::optional<ComputePlacement>
chooseComputePlacement(const PlacedOperation &operation);

/// The legal choice that sends the fewest bytes, regardless of other costs.
/// Messages compare the best choice with it.
std::optional<ComputePlacement> fewestBytes(const PlacedOperation &operation);

} // namespace tpsp

#endif // TPSP_ALGEBRA_COMPUTEPLACEMENT_H
