/// Collectives as differences of placements.
///
/// "Moving or removing a subscript is a collective. Nothing else is." So the
/// placements before and after a collective define its meaning, and
/// planTransition derives a tensor's collectives from them. Each kind of
/// collective has one entry in each table (name, bytes).
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
/// size). `localBytes` is the larger of the rank's operand and result: the
/// gathered tensor for all_gather, the unreduced tensor for reduce_scatter. A
/// rank of a permute sends its tensor once.
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

/// The collectives that take a tensor from one placement to another, in a cheap
/// order: collectives that shrink the tensor precede collectives that grow it.
/// Axes that stay in place are not moved. Returns nullopt if `to` is pending
/// over an axis over which `from` is not: a whole tensor cannot become a
/// summand. Assumes that every axis has several ranks.
std::optional<Transition> planTransition(const Placement &from,
                                         const Placement &to);

/// The same on a mesh whose axes may have one rank. An axis of one rank divides
/// nothing, so it makes no other axis move. If it stands between others, or is
/// wanted between others, it is gathered from its old place and sliced into its
/// new place.
std::optional<Transition> planTransition(const Placement &from,
                                         const Placement &to, const Mesh &mesh);

/// The same for a tensor of this shape, which may be cut as a row of elements
/// before or after (Abi/FlatCut.h). A row is gathered whole, before any other
/// step, and is cut after all others: no other step can take a part of it. Rows
/// whose pieces are parts of the other's are moved directly.
std::optional<Transition> planTransition(const Placement &from,
                                         const Placement &to,
                                         llvm::ArrayRef<int64_t> shape,
                                         const Mesh &mesh);

/// The step by which one collective of this kind takes a tensor from one
/// placement to another; nullopt if none does. A program may write a collective
/// that the mesh does not need, such as a permute around an axis of one rank.
std::optional<CollectiveStep> stepOfKind(CollectiveKind kind,
                                         const Placement &from,
                                         const Placement &to, const Mesh &mesh);

/// The step by which shards go to other ranks of `axes` while the placement
/// stays. Returns nullopt if the axes are not those of one dimension.
std::optional<CollectiveStep> shiftStep(const Placement &placement,
                                        const AxisList &axes);

/// The cost of planTransition's steps.
struct TransitionCost {
  /// Collectives along single axes. A collective over several axes counts once
  /// for each axis, so that the best choice on one axis does not depend on the
  /// others. (If it counted once in all, gathering a weight over tp would be
  /// free whenever it is gathered over fsdp. TP+SP+FSDP would then depend on
  /// the batch size.) A permute counts once, as an exchange of shards among its
  /// axes.
  unsigned collectives = 0;
  int64_t bytes = 0;
  /// Collectives along axes of one rank, which move nothing.
  unsigned trivial = 0;
};
TransitionCost cost(const Transition &transition, const Placement &from,
                    llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                    const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_ALGEBRA_COLLECTIVE_H
