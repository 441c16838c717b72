/// The compute placement of an operation: the one table that decides all
/// communication.
///
/// For every operation each mesh axis drives at most one of its indices: every
/// rank along the axis does its part of that index. With the axis driving i,
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
/// An axis may also drive nothing: every rank does the whole index space. Where
/// the operation is linear, it may drive the pending sum itself: partial
/// operands pass through, and the result stays partial. That is why
/// contributions to one gradient are summed before they are reduced. A pending
/// maximum passes through operations that only select elements: a view, a copy
/// of a block.
///
/// An axis may drive only an index on which an operand or the wanted result
/// carries it. For an operation by itself, the best of the legal choices has,
/// in this order,
///
/// - the fewest idle gathers: of an operand that is divided on an index of the
///   operation, for work that all ranks then do alike;
/// - the fewest collectives against the axes' roles;
/// - the fewest collectives, of operands and result, counted for each axis;
/// - the least work per rank;
/// - the fewest sums taken before the operation that could be taken after it;
/// - the fewest bytes;
/// - the earliest candidate, so that the choice is deterministic.
///
/// It is the order in which operations are chosen together (PlacementSearch.h).
/// Bytes come last so that a strategy does not change with the batch size. Axes
/// count for themselves so that strategies on different axes compose. A
/// collective is against a role if it moves a weight over a model axis or
/// anything else over a data axis. An embedding whose table is sharded can
/// gather the table or reduce the result, one collective either way. Only the
/// role says which.
#ifndef TPSP_ALGEBRA_COMPUTEPLACEMENT_H
#define TPSP_ALGEBRA_COMPUTEPLACEMENT_H

#include "tpsp/Algebra/Collective.h"
#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// What one mesh axis does in one operation.
struct Drive {
  enum Kind { Nothing, Index, Pending };
  Kind kind = Nothing;
  IndexId index = 0;

  bool operator==(const Drive &other) const {
    return kind == other.kind && (kind != Index || index == other.index);
  }
};

struct PlacementCost {
  unsigned idle = 0; ///< axes over which a divided operand is made whole alike
  unsigned againstRole = 0;
  unsigned collectives = 0;
  double work = 0;        ///< scalar operations per rank
  unsigned earlySums = 0; ///< of operands, taken before the operation
  int64_t bytes = 0;      ///< sent per rank

  /// The same of axes of one rank. They cost nothing; that as few subscripts
  /// change as may be is all that they decide.
  struct Trivial {
    unsigned collectives = 0, earlySums = 0, againstRole = 0, slices = 0;
  } trivial;

  /// Lexicographic, in the order of the members.
  bool operator<(const PlacementCost &other) const;
};

struct ComputePlacement {
  /// Per mesh axis.
  llvm::SmallVector<Drive, 2> drives;
  /// What each operand must be placed as.
  llvm::SmallVector<Placement, 3> operands;
  /// What each result comes out as, before it is brought to the wanted one.
  llvm::SmallVector<Placement, 1> results;
  PlacementCost cost;
};

/// The operation with its tensors' placements.
struct PlacedOperation {
  const IndexStructure &structure;
  llvm::ArrayRef<Placement> operands;
  /// Per result; nullopt takes whatever comes out.
  llvm::ArrayRef<std::optional<Placement>> wanted;
  const Mesh &mesh;
  /// Per operand, then per result: whether it is a parameter of the model, or
  /// the gradient of one. Empty: none is.
  llvm::ArrayRef<bool> weights = {};
};

/// What `axis` may drive, Nothing first, then pending, then indices in order.
llvm::SmallVector<Drive, 4> candidates(const PlacedOperation &operation,
                                       AxisId axis);

/// The consequences of a choice; nullopt if it is illegal. Illegal are an
/// extent that its axes do not divide and a result wanted pending that is not.
/// So is a sum that passes through from an operand that is whole. Axes that
/// drive the same index stand in the order, of those that the tensors have,
/// that costs least.
std::optional<ComputePlacement> evaluate(const PlacedOperation &operation,
                                         llvm::ArrayRef<Drive> drives);

/// The best legal choice. nullopt if there is none.
std::optional<ComputePlacement>
chooseComputePlacement(const PlacedOperation &operation);

/// The legal choice that sends the fewest bytes, whatever else it costs: what
/// the best choice is compared with for people.
std::optional<ComputePlacement> fewestBytes(const PlacedOperation &operation);

} // namespace tpsp

#endif // TPSP_ALGEBRA_COMPUTEPLACEMENT_H
