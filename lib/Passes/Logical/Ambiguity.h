/// Where the subscripts of an operation do not decide: the ways out, priced.
///
/// Two questions have an answer only in a written result or in an axis role:
///
///   y[b, s, e, ?] = W[e@a, d] x[b@a, s, d]    which of e and b keeps the axis
///   y[b, s, e, ?] = W[e, d@a] x[b, s, d]      gather W, or reduce the sum
#ifndef TPSP_PASSES_LOGICAL_AMBIGUITY_H
#define TPSP_PASSES_LOGICAL_AMBIGUITY_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// An operation of the program with the placements found so far.
struct OpenQuestion {
  IndexedOpInterface op;
  const PlacedOperation &placed;
  AxisId axis;
};

/// Operands that have the axis on indices of their own.
struct Disagreement {
  OpenQuestion question;
  /// (operand, index), without repetition of an index.
  llvm::SmallVector<std::pair<unsigned, IndexId>> claims;

  mlir::LogicalResult refuse() const;
};

/// An index that is summed away and that only some operands have on the axis.
struct OneSidedSum {
  enum Answer { Unknown, Gather, Reduce };

  OpenQuestion question;
  IndexId index;
  /// The operands that have the index on the axis.
  llvm::SmallVector<unsigned> sharded;

  /// What the axis role says. A parameter on a data axis moves to the
  /// activations: it is gathered. In other cases the sharded operand stays,
  /// which is free for the others, and the sum is reduced. Without a role there
  /// is no answer if one operand alone has the axis; several are not gathered
  /// to save one reduction.
  Answer byRole() const;
  mlir::LogicalResult refuse() const;

  /// The sum of one result that is not placed on the axis; nullopt if there is
  /// no such sum.
  static std::optional<OneSidedSum> find(const OpenQuestion &question);
};

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_AMBIGUITY_H
