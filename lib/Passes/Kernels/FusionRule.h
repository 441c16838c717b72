/// Which operations of a program may share a kernel, for predictions of systems
/// that fuse less than tpsp.
#ifndef TPSP_PASSES_KERNELS_FUSIONRULE_H
#define TPSP_PASSES_KERNELS_FUSIONRULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tpsp {

enum class FusionKind {
  All,
  /// Those of one operation of the program in one phase, as a norm is one
  /// kernel of a framework, and elementwise operations with each other.
  Pointwise,
  Operations, ///< those of one operation of the program in one phase
  None
};

/// The kind that a word of --fuse names.
FusionKind fusionNamed(llvm::StringRef word);

class FusionRule {
public:
  /// `function`: its loop operations, local and decomposed.
  FusionRule(FusionKind kind, mlir::func::FuncOp function);

  /// Whether two loop operations may be in one kernel. Those of updates always
  /// may: every system updates all elements of a parameter in one kernel.
  bool mayShare(mlir::Operation *a, mlir::Operation *b) const;

private:
  using Source = std::pair<const void *, int>;
  /// The operation of the program that `op` was made for, and its phase.
  static Source sourceOf(mlir::Operation *op);

  FusionKind kind;
  /// The sources that have an operation that is not elementwise.
  llvm::DenseSet<Source> withRows;
};

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_FUSIONRULE_H
