/// What of a function is trained: its parameters, by which optimizer, and where
/// their state lies.
#ifndef TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H
#define TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H

#include "LossScale.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace tpsp {

/// What the options say, read.
struct UpdateSettings {
  std::string optimizer;
  llvm::SmallVector<AxisId> axes;
  /// By name; what is not there is the optimizer's default.
  llvm::StringMap<double> numbers;
  /// 0: gradients are taken as they are.
  double clip = 0;
  /// What gradients come in; null: in their parameter's type.
  mlir::Type reduceType;
  /// Whether a step begins with gathering what the one before updated.
  bool gathersForward = false;
  bool isForwardOnly = false;
  LossScale lossScale;
};

/// A parameter that is trained.
struct Trained {
  unsigned argument;
  const Optimizer *optimizer;
  /// A role for each index; empty for what is no matrix.
  llvm::SmallVector<MatrixRole> matrix;
  /// Of its state: at least f32, with the parameter's subscripts and the
  /// optimizer's axes.
  mlir::RankedTensorType stateType;
  bool hasMaster;
  /// Arguments of the function: the master, if there is one, then the state.
  llvm::SmallVector<unsigned> state;
  double learningRateFactor = 1;

  mlir::Type element() const { return stateType.getElementType(); }
};

/// "no optimizer is called 'adam'; there are ...".
std::string noOptimizer(llvm::StringRef name);

/// Finds the parameters of `function` that are trained, and says on their
/// arguments where gradients are wanted (tpsp.gradient_at). Where a step begins
/// with gathering, the arguments are moved to where their state is. Fails with
/// a diagnostic on an optimizer that does not exist or does not suit, and on a
/// parameter that is a sum over ranks.
mlir::FailureOr<std::vector<Trained>>
findTrained(mlir::func::FuncOp function, const UpdateSettings &settings);

/// Marks every other argument tpsp.frozen: nobody asks for its gradient.
void freezeOthers(mlir::func::FuncOp function);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_TRAINEDPARAMETERS_H
