/// Which values are on the way to gradients of parameters, and to nothing else.
///
///   g[w_q] = einsum of g[q], x     a sum over dp, [g, r, k, d]
///   all_reduce                     over dp
///   merge                          [q, d]: the gradient of the argument q_proj
///
/// All three values are on the way. What is done on the way is linear, and the
/// same for every micro-batch. So gradients of micro-batches may be added up
/// first, and it is done once a step.
#ifndef TPSP_PASSES_PROGRAM_GRADIENTWAYS_H
#define TPSP_PASSES_PROGRAM_GRADIENTWAYS_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tpsp {

/// Analyses a function as it is now, on global or on local shapes, in time
/// linear in its operations.
class GradientWays {
public:
  explicit GradientWays(mlir::FunctionOpInterface function);

  /// Whether the value becomes gradients of parameters, and nothing else.
  bool has(mlir::Value value) const { return ways.contains(value); }

  /// The numbers of the arguments whose gradients it becomes, ascending. Empty
  /// if it is not on the way. Empty, too, in a step with an update of which
  /// tpsp-note-gradients has taken the marks (gradientsAttrName).
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

  /// Values that are others in each micro-batch: those made of arguments that
  /// are neither parameters nor state.
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseMap<mlir::Value, Numbers> ways;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_GRADIENTWAYS_H
