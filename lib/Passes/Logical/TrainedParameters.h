/// The trained parameters of a function: their optimizers, and the placement of
/// their state.
#ifndef TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H
#define TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H

#include "LossScale.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace tpsp {

/// The options of tpsp-build-update, parsed.
struct UpdateSettings {
  std::string optimizer;
  llvm::SmallVector<AxisId> axes;
  /// Settings by name; absent settings have the optimizer's defaults.
  llvm::StringMap<double> numbers;
  /// The largest norm; 0 if gradients are not clipped.
  double clip = 0;
  /// The type of gradients; null: that of their parameter.
  mlir::Type reduceType;
  /// Whether a step begins by gathering the parameters that the previous step
  /// updated.
  bool gathersForward = false;
  bool isForwardOnly = false;
  LossScale lossScale;
};

/// A parameter that is trained.
struct Trained {
  unsigned argument;
  const Optimizer *optimizer;
  /// The role of each index; empty if the parameter is not a matrix.
  llvm::SmallVector<MatrixRole> matrix;
  /// The type of its state: at least f32, with the parameter's subscripts and
  /// the optimizer's axes.
  mlir::RankedTensorType stateType;
  bool hasMaster;
  /// Arguments of the function: the master, if there is one, then the state.
  llvm::SmallVector<unsigned> state;
  double learningRateFactor = 1;

  mlir::Type element() const { return stateType.getElementType(); }
};

/// "no optimizer is called 'adam'; there are ...".
std::string noOptimizer(llvm::StringRef name);

/// Finds the trained parameters of `function`, and notes on their arguments
/// where gradients are wanted (tpsp.gradient_at). If a step begins with
/// gathering, the arguments get the placement of their state. Fails with a
/// diagnostic if an optimizer does not exist or does not suit, or if a
/// parameter is partial.
mlir::FailureOr<std::vector<Trained>>
findTrained(mlir::func::FuncOp function, const UpdateSettings &settings);

/// Marks every other argument tpsp.frozen, because its gradient is not needed.
void freezeOthers(mlir::func::FuncOp function);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H
