/// Finds the values that become gradients of parameters and have no other use.
///
///   g[w_q] = einsum of g[q], x     a sum over dp, [g, r, k, d]
///   all_reduce                     over dp
///   merge                          [q, d]: the gradient of the argument q_proj
///
/// All three values are on the way to the gradient. Operations on the way are
/// linear, and the same for every micro-batch. So the gradients of
/// micro-batches may be added first, and these operations run once a step.
#ifndef TPSP_PASSES_PROGRAM_GRADIENTWAYS_H
#define TPSP_PASSES_PROGRAM_GRADIENTWAYS_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tpsp {

/// Analyses a function in its present form, on global or on local shapes, in
/// time linear in its operations.
class GradientWays {
public:
  explicit GradientWays(mlir::FunctionOpInterface function);

  /// Whether the value becomes gradients of parameters and has no other use.
  bool has(mlir::Value value) const { return ways.contains(value); }

  /// The numbers of the arguments whose gradients the value becomes, ascending.
  /// Empty if it is not on the way. Also empty in a step with an update after
  /// tpsp-note-gradients has removed the marks (gradientsAttrName).
  llvm::ArrayRef<int64_t> of(mlir::Value value) const;

private:
  using Numbers = llvm::SmallVector<int64_t, 1>;

  void findVarying(mlir::FunctionOpInterface function, mlir::Block &body);
  void findWays(mlir::Block &body);
  void passOn(mlir::Block &body);
  std::optional<Numbers> wayOf(mlir::Value value) const;
  std::optional<Numbers> wayBehind(mlir::OpOperand &use) const;
  static std::optional<Numbers> wayOfReturned(mlir::OpOperand &use);
  bool isSameLinearMap(mlir::OpOperand &use) const;

  /// Values that differ between micro-batches: those that depend on arguments
  /// which are neither parameters nor state.
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseMap<mlir::Value, Numbers> ways;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_GRADIENTWAYS_H
