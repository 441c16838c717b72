/// Errors about operations whose subscripts do not decide a placement. They
/// list the ways out and their prices.
///
/// Only a written result or an axis role answers two questions:
///
///   y[b, s, e, ?] = W[e@a, d] x[b@a, s, d]    which of e and b keeps the axis
///   y[b, s, e, ?] = W[e, d@a] x[b, s, d]      gather W, or reduce the sum
#ifndef TPSP_PASSES_LOGICAL_AMBIGUITY_H
#define TPSP_PASSES_LOGICAL_AMBIGUITY_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// An operation of the program, with the placements found so far, and an axis.
struct OpenQuestion {
  IndexedOpInterface op;
  const PlacedOperation &placed;
  AxisId axis;
};

/// Operands that have the axis on different indices.
struct Disagreement {
  OpenQuestion question;
  /// (operand, index) pairs; each index occurs once.
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

  /// The answer of the axis role. A parameter on a data axis is gathered,
  /// because it moves to the activations. Otherwise the sharded operand stays,
  /// which is free for the others, and the sum is reduced. Without a role there
  /// is no answer if a single operand has the axis. Several operands are not
  /// gathered to save one reduction.
  Answer byRole() const;
  mlir::LogicalResult refuse() const;

  /// Finds such a sum in an operation whose single result is not placed on the
  /// axis; nullopt if there is none.
  static std::optional<OneSidedSum> find(const OpenQuestion &question);
};

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_AMBIGUITY_H
