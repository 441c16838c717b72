/// Plans the commands of a function on local shapes before any is created:
/// which operations are matrix products, which share a kernel, and the order.
///
/// Views are not commands: their users read the bytes that they show.
#ifndef TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H
#define TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H

#include "Passes/Kernels/Kernels.h"
#include "SumMemory.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Algebra/MatmulForm.h"

#include <optional>
#include <vector>

namespace tpsp {

class CostModel;

/// The kind of command that an operation becomes.
enum class CommandForm {
  /// Part of a kernel, with other loop operations.
  Kernel,
  View,
  Matmul,
  /// A product in which integers choose the matrix of each row.
  GroupedMatmul,
  /// A kernel of its own, by rows or buckets.
  Rows,
  BlockCopy,
  Attention,
  Collective,
  /// A piece of a collective: every rank receives another rank's tensor.
  Exchange,
  /// A stage sends a tensor to another, or receives it.
  Transfer,
  /// None: the operation should have been decomposed or moved before.
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
  /// The index whose positions the integers are; below, the tensor that has it.
  llvm::StringRef chosen;
  mlir::Value matrices;
};

struct PlannedCommand {
  CommandForm form = CommandForm::None;
  /// The operation; for a kernel, its first.
  mlir::Operation *op = nullptr;
  /// Set for Kernel, Matmul and GroupedMatmul respectively.
  std::optional<KernelGroup> group = {};
  std::optional<PlannedMatmul> matmul = {};
  std::optional<PlannedGroupedMatmul> groupedMatmul = {};
};

struct PlannedCommands {
  std::vector<PlannedCommand> commands;
  /// Products for which no layout is a matrix; they are in kernels.
  llvm::SmallVector<mlir::Operation *> withoutLayout;
};

/// The costs by which is decided what a product does besides.
struct FusionCost {
  /// Not owned; null: not known, and a product does all that it can.
  const CostModel *model = nullptr;
  /// Whether products may sum their operands over rows (fuseEpilogues()).
  bool hasEpilogues = false;
};

/// Plans all operations of `function`. Cheap operations may be copied into
/// several kernels. Fails with a diagnostic on an operation that has no
/// command. `keptBytes`: bytes of rows that a kernel's item may keep
/// (KernelLimits); 0: any number. `fusion`: what may share a kernel. `added`:
/// sums over micro-batches to which products shall be added. Such an addition
/// is a kernel of its own, so that fuseAdditions() can move it to the product.
/// Additions that are faster in a kernel, by `cost`, share kernels.
mlir::FailureOr<PlannedCommands>
planCommands(mlir::func::FuncOp function, int64_t keptBytes, FusionKind fusion,
             const SumMemory &added, FusionCost cost);

/// A stem for a kernel's name: the first few operations, "square_reduce_rsqrt".
std::string stemOf(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANNEDCOMMANDS_H
