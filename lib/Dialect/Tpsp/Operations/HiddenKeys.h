/// What hides a key from a query of attention, in one place for all forms that
/// are made of operations: rows, and blocks of keys.
///
/// Hidden is what is later than the query if causal, what its window has left
/// behind, what is of another segment, what lies behind the length, and what
/// has a bias of minus infinity. Nothing else is: any other bias is a number
/// that is added, however low. The score of a hidden key is minus infinity,
/// that of any other is a number.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <limits>

namespace tpsp {

/// The score of a hidden key.
inline constexpr double hiddenScore = -std::numeric_limits<double>::infinity();

/// The lowest number that `element` holds. A row's largest score is kept from
/// there on. Then its difference to a hidden one is minus infinity where all
/// is hidden, too, and exp of it is 0.
double lowestNumber(mlir::Type element);

/// Emits what is computed of scores.
struct ScoreBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::RankedTensorType type;
  /// Whether what is emitted is marked `tpsp.recompute`.
  bool isRecomputed = false;

  template <typename Part, typename... Args>
  mlir::Value add(mlir::ValueRange operands, Args... args) {
    mlir::Value part = Part::create(b, loc, type, operands, args...);
    if (isRecomputed)
      part.getDefiningOp()->setAttr(recomputeAttrName, b.getUnitAttr());
    return part;
  }
};

/// Which keys an attention hides.
struct HiddenKeys {
  /// The operands of an attention, or of its gradient, that hide keys; null or
  /// empty if it has none.
  template <typename Op>
  HiddenKeys(Op op, mlir::Value bias, mlir::ValueRange segments,
             mlir::Value lengths, TileAttr tile = {})
      : bias(bias), lengths(lengths), segments(segments),
        query(op.getQueryAttr()), key(op.getKeyAttr()),
        window(op.getWindowAttr()), tile(tile), isCausal(op.getCausal()) {}

  /// Whether there may be a query that sees no key. Under `causal` alone the
  /// first key is seen by all.
  bool mayBeAll() const { return bias || lengths || !segments.empty(); }

  /// Scaled and capped scores with the bias, and `hiddenScore` for what is
  /// hidden.
  mlir::Value applyTo(mlir::Value scores, ScoreBuilder to) const;

  mlir::Value bias, lengths;
  llvm::SmallVector<mlir::Value> segments;

private:
  mlir::StringAttr query, key;
  mlir::IntegerAttr window;
  /// Where the keys lie in a longer index.
  TileAttr tile;
  bool isCausal;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H
