/// What a function on local shapes becomes, before any command is made: which
/// operations are products of matrices, which share a kernel, in which order.
///
/// Views are no commands: whoever reads one reads the bytes that it shows.
#ifndef TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H
#define TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H

#include "Passes/Kernels/Kernels.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Algebra/MatmulForm.h"

#include <optional>
#include <vector>

namespace tpsp {

/// What becomes of an operation.
enum class CommandForm {
  /// Part of a kernel, with other loop operations.
  Kernel,
  View,
  Matmul,
  /// A product whose rows choose their matrices.
  GroupedMatmul,
  /// A kernel of its own, by rows or buckets.
  Rows,
  BlockCopy,
  Attention,
  Collective,
  /// A piece of a collective: every rank gets another's tensor.
  Exchange,
  /// It should have been decomposed or moved before.
  None
};

/// The form of an operation on local shapes.
CommandForm commandFormOf(mlir::Operation *op);

/// The value that `value` shows, through views.
mlir::Value withoutViews(mlir::Value value);

/// A matrix product. The tensors are values of the function.
struct PlannedMatmul {
  MatmulForm form;
  mlir::Value a, b, c;
  llvm::SmallVector<rt::EpilogueStep, 3> epilogue = {};
  /// The tensors of the epilogue's steps, in order.
  llvm::SmallVector<mlir::Value, 1> reads = {}, writes = {};

  /// Adds a step to the epilogue; `tensor` is null if the step has none.
  void add(rt::EpilogueStep step, mlir::Value tensor);
};

/// A grouped product. The tensors are values of the function.
struct PlannedGroupedMatmul {
  GroupedMatmulForm form;
  mlir::Value a, b, ids, c;
  /// The index that the integers are positions along, and who has it.
  llvm::StringRef chosen;
  mlir::Value matrices;
};

struct PlannedCommand {
  CommandForm form = CommandForm::None;
  /// The operation; of a kernel its first.
  mlir::Operation *op = nullptr;
  /// Of Kernel, of Matmul, and of GroupedMatmul.
  std::optional<KernelGroup> group = {};
  std::optional<PlannedMatmul> matmul = {};
  std::optional<PlannedGroupedMatmul> groupedMatmul = {};
};

struct PlannedCommands {
  std::vector<PlannedCommand> commands;
  /// Products that no layout of theirs is a matrix for; they are in kernels.
  llvm::SmallVector<mlir::Operation *> withoutLayout;
};

/// Decides it for all operations of `function`, which may get copies of cheap
/// ones that several kernels make. Fails with a diagnostic on an operation that
/// has no command. `keptBytes`: what a kernel's item may keep of rows
/// (KernelGroup); 0: any number.
mlir::FailureOr<PlannedCommands> planCommands(mlir::func::FuncOp function,
                                              int64_t keptBytes);

/// "square_reduce_rsqrt": the first few operations, to name a kernel.
std::string stemOf(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H
