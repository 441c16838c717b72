/// Which keys are hidden from a query of attention. All decompositions of
/// attention share this definition: rows, and blocks of keys.
///
/// A key is hidden if it is later than the query under `causal`, too early for
/// the window, or of another segment. It is also hidden if it lies beyond the
/// length, or if its bias is minus infinity. No other bias hides a key: it is a
/// number that is added, however low. The score of a hidden key is minus
/// infinity, and that of any other is a number.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <limits>

namespace tpsp {

/// The score of a hidden key.
inline constexpr double hiddenScore = -std::numeric_limits<double>::infinity();

/// The lowest number of type `element`. A row's largest score is raised to at
/// least this number. So the difference of a hidden score to it is minus
/// infinity even if all keys are hidden, and exp of the difference is 0.
double lowestNumber(mlir::Type element);

/// Emits operations on scores.
struct ScoreBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::RankedTensorType type;
  /// Whether the operations are marked `tpsp.recompute`.
  bool isRecomputed = false;

  template <typename Part, typename... Args>
  mlir::Value add(mlir::ValueRange operands, Args... args) {
    mlir::Value part = Part::create(b, loc, type, operands, args...);
    if (isRecomputed)
      part.getDefiningOp()->setAttr(recomputeAttrName, b.getUnitAttr());
    return part;
  }
};

/// The keys that an attention hides.
struct HiddenKeys {
  /// `extras` are the operands of an attention or of its gradient.
  template <typename Op>
  HiddenKeys(Op op, const OptionalOperands &extras, TileAttr tile = {})
      : bias(extras.bias), lengths(extras.lengths), segments(extras.segments),
        query(op.getQueryAttr()), key(op.getKeyAttr()),
        shard(op.getShardAttr()), tile(tile), mask(op.getScoreOptions()) {}

  /// Whether a query may see no key. Under `causal` alone every query sees the
  /// first key. Under a window, queries that padding adds may be too late for
  /// the last key.
  bool mayBeAll() const {
    return bias || lengths || mask.hidesEarlyKeys() || !segments.empty();
  }

  /// The scaled and capped scores plus the bias, with `hiddenScore` for hidden
  /// keys.
  mlir::Value applyTo(mlir::Value scores, ScoreBuilder to) const;

  mlir::Value bias, lengths;
  llvm::SmallVector<mlir::Value> segments;

private:
  mlir::StringAttr query, key;
  /// The index of shards of queries and keys; null if there are none.
  mlir::StringAttr shard;
  /// Where the keys lie in a longer index.
  TileAttr tile;
  PositionMask mask;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_HIDDENKEYS_H
