/// Collectives as differences of placements.
///
/// "Moving or removing a subscript is a collective. Nothing else is." So a
/// collective has no meaning beyond the placements before and after it, and the
/// ones that a tensor needs follow from the two: planTransition. Everything
/// about a kind of collective (name, bytes) is one entry of a table.
///
///   pending axis -> nothing            all_reduce
///   pending axis -> subscript of j     reduce_scatter
///   subscript of j -> nothing          all_gather
///   subscript of j -> subscript of i   all_to_all
///   nothing -> subscript of i          slice (no communication)
///   order of the subscripts of i       permute
#ifndef TPSP_ALGEBRA_COLLECTIVE_H
#define TPSP_ALGEBRA_COLLECTIVE_H

#include "tpsp/Abi/CommandKind.h"
#include "tpsp/Algebra/Placement.h"

namespace tpsp {

/// "all_reduce", ...
llvm::StringRef name(CollectiveKind kind);

/// Bytes that one rank sends, by the ring algorithm, in a group of `group`
/// ranks (nccl-tests' PERFORMANCE.md: busbw factors times the algorithm's
/// size). `localBytes` is the larger of the rank's operand and result:
/// the gathered tensor for all_gather, the unreduced one for reduce_scatter.
int64_t bytesSent(CollectiveKind kind, int64_t localBytes, int64_t group);

/// One collective on a tensor.
struct CollectiveStep {
  CollectiveKind kind;
  /// Major to minor; for reductions of pending axes the order is immaterial.
  AxisList axes;
  /// The dimension that loses `axes` (all_gather, all_to_all, permute).
  std::optional<unsigned> from;
  /// The dimension that gains `axes` (reduce_scatter, all_to_all, slice).
  std::optional<unsigned> to;
  /// The tensor's placement afterwards.
  Placement after;
};

using Transition = llvm::SmallVector<CollectiveStep, 2>;

/// The collectives that take a tensor from one placement to another, cheapest
/// order first: those that shrink the tensor precede those that grow it. Axes
/// that stay in place are not moved. Returns nullopt if `to` is pending over an
/// axis over which `from` is not. A whole tensor cannot become a summand. Every
/// axis is taken to have several ranks.
std::optional<Transition> planTransition(const Placement &from,
                                         const Placement &to);

/// The same on a mesh of which axes may have one rank. These divide nothing, so
/// they make no other axis move. Where one stands between others, or is wanted
/// there, it is gathered from its place and sliced into it.
std::optional<Transition> planTransition(const Placement &from,
                                         const Placement &to, const Mesh &mesh);

/// The step by which one collective of this kind takes a tensor from one
/// placement to another; nullopt if none does. A collective may be written that
/// moves more than the mesh needs: a permute around an axis of one rank.
std::optional<CollectiveStep> stepOfKind(CollectiveKind kind,
                                         const Placement &from,
                                         const Placement &to, const Mesh &mesh);

/// What planTransition's steps cost for a tensor of this global shape.
struct TransitionCost {
  /// Collectives along single axes: one over several axes counts once for each,
  /// so that what is best on one axis does not depend on another. (Counted once
  /// together, gathering a weight over tp too would be free where it is
  /// gathered over fsdp. TP+SP+FSDP would come to depend on the batch size.) A
  /// permute is one exchange of shards among its axes.
  unsigned collectives = 0;
  int64_t bytes = 0;
  /// Collectives along axes of one rank, which are none.
  unsigned trivial = 0;
};
TransitionCost cost(const Transition &transition, const Placement &from,
                    llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                    const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_ALGEBRA_COLLECTIVE_H
