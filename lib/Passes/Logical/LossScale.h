/// Loss scales: what keeps gradients of 16 bits from vanishing.
///
/// Gradients are multiplied by the scale from the loss on, and divided by it in
/// the update. A step whose norm is not finite is skipped. A dynamic scale is
/// halved by such a step, and doubled after `window` others in a row. It never
/// exceeds what the types hold that gradients begin in.
/// (Micikevicius et al., Mixed precision training, ICLR 2018, section 3.2.)
#ifndef TPSP_PASSES_LOGICAL_LOSSSCALE_H
#define TPSP_PASSES_LOGICAL_LOSSSCALE_H

#include "Optimizers/Optimizer.h"

#include <optional>

namespace tpsp {

struct LossScale {
  /// 0: gradients are as they come.
  double first = 0;
  bool isDynamic = false;
  /// Steps.
  int64_t window = 2000;
  /// The largest number that gradients may begin from; at most f32's own, in
  /// which the scale is kept.
  double most = 3.4028234663852886e38;

  bool isOn() const { return first > 0; }

  /// Reads "none", a number, "dynamic" or "dynamic:FIRST"; nothing if it is
  /// none of these.
  static std::optional<LossScale> read(llvm::StringRef text);
};

/// 1 where x is a finite number, else 0; of x's type.
mlir::Value isFinite(UpdateBuilder &b, mlir::Value x);

/// What lasts of a dynamic scale: numbers without indices, in f32.
struct DynamicScale {
  mlir::Value scale;
  /// Steps in a row that were not skipped.
  mlir::Value goodSteps;
};

/// After a step that was done (`isDone` 1) or skipped (0).
DynamicScale nextScale(UpdateBuilder &b, DynamicScale now, mlir::Value isDone,
                       const LossScale &settings);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_LOSSSCALE_H
