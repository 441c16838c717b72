/// Loss scales, which keep gradients of 16 bits from vanishing.
///
/// Gradients are multiplied by the scale from the loss on, and divided by it in
/// the update. A step whose norm is not finite is skipped. A skipped step
/// halves a dynamic scale; `window` other steps in a row double it. The scale
/// never exceeds the range of the types in which gradients begin. (Micikevicius
/// et al., Mixed precision training, ICLR 2018, section 3.2.)
#ifndef TPSP_PASSES_LOGICAL_LOSSSCALE_H
#define TPSP_PASSES_LOGICAL_LOSSSCALE_H

#include "Optimizers/Optimizer.h"

#include <optional>

namespace tpsp {

struct LossScale {
  /// The scale at the first step; 0 if gradients are not scaled.
  double first = 0;
  bool isDynamic = false;
  /// Applied steps in a row after which a dynamic scale is doubled.
  int64_t window = 2000;
  /// The largest cotangent that gradients may begin from. At most f32's largest
  /// number, because the scale is kept in f32.
  double most = 3.4028234663852886e38;

  bool isOn() const { return first > 0; }

  /// Reads "none", a number, "dynamic" or "dynamic:FIRST"; nullopt for other
  /// texts.
  static std::optional<LossScale> read(llvm::StringRef text);
};

/// 1 where x is a finite number, else 0; of x's type.
mlir::Value isFinite(UpdateBuilder &b, mlir::Value x);

/// The state of a dynamic scale: numbers without indices, in f32.
struct DynamicScale {
  mlir::Value scale;
  /// Steps in a row that were not skipped.
  mlir::Value goodSteps;
};

/// The state after a step that was applied (`isDone` 1) or skipped (0).
DynamicScale nextScale(UpdateBuilder &b, DynamicScale now, mlir::Value isDone,
                       const LossScale &settings);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_LOSSSCALE_H
