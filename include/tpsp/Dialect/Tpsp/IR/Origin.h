/// The origin of an operation: what it was made for, and when it runs.
///
/// It is stored as one attribute, originAttrName. An operation that is made in
/// place of another has the other's origin, so passes hand on one value.
#ifndef TPSP_DIALECT_TPSP_IR_ORIGIN_H
#define TPSP_DIALECT_TPSP_IR_ORIGIN_H

#include "tpsp/Abi/LedgerRow.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <vector>

namespace tpsp {

class OriginAttr;

/// The part of operations that count inputs, such as the number of labels. They
/// run for every micro-batch before all of them.
inline constexpr int64_t countPart = -1;

struct Origin {
  Phase phase = Phase::Forward;
  /// Whether it rematerialises an operation of the forward pass.
  bool isRecomputed = false;
  /// Number of the micro-batch; countPart; or 0 for all micro-batches, if the
  /// function has microBatchesAttrName.
  std::optional<int64_t> part = {};
  /// Number of the chunk of layers, in a program whose layers are divided over
  /// stages.
  std::optional<int64_t> chunk = {};
  /// The stages that run it once a step, ascending; empty: all, or those of its
  /// chunk.
  std::vector<int64_t> stages = {};
  /// Number of the segment of a step (PlanSegment of Abi/Plan.h).
  std::optional<int64_t> segment = {};
};

/// The origin of an operation without the attribute is that of the forward
/// pass.
Origin originOf(mlir::Operation *op);
void setOrigin(mlir::Operation *op, const Origin &origin);
/// Gives `to` the origin of `from`.
void copyOrigin(mlir::Operation *from, mlir::Operation *to);
/// Changes the operation's origin by `change(Origin &)`.
template <typename Change>
void changeOrigin(mlir::Operation *op, Change change) {
  Origin origin = originOf(op);
  change(origin);
  setOrigin(op, origin);
}

Phase phaseOf(mlir::Operation *op);
bool isBackward(mlir::Operation *op);
bool isUpdate(mlir::Operation *op);
bool isRecomputed(mlir::Operation *op);
/// Whether the operation belongs to a micro-batch, or counts its inputs.
bool hasPart(mlir::Operation *op);

/// The attribute that stands for an origin.
OriginAttr originAttr(mlir::MLIRContext *context, const Origin &origin);
/// A key of the operation's part, chunk and stages. Two operations have equal
/// keys if these are equal.
mlir::Attribute placeInStep(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_ORIGIN_H
