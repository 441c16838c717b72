/// Emits a planned program's commands as operations of the plan dialect.
#ifndef TPSP_PASSES_PLAN_COMMANDEMISSION_H
#define TPSP_PASSES_PLAN_COMMANDEMISSION_H

#include "PlanBuffers.h"
#include "PlannedCommands.h"

#include <map>
#include <vector>

namespace tpsp {

/// The kernel of a group of operations, shared by all equal groups.
struct GroupKernel {
  mlir::StringAttr callee;
  /// The kernel; its function and values are those of the first group.
  Kernel kernel;
  /// Numbers of values, in the order in which a group's values are numbered.
  llvm::SmallVector<size_t, 4> inputs, outputs, updated;
};

/// Kernels of a module, one per distinct function body.
class KernelLibrary {
public:
  /// Keeps `function` or erases it in favour of an equal one; returns the name
  /// to call.
  mlir::StringAttr unique(mlir::func::FuncOp function, llvm::StringRef stem);

  /// Kernels by everything that they depend on, so that equal layers share
  /// them.
  std::map<std::vector<const void *>, GroupKernel> ofGroups;
  /// Whether kernels keep sums across rows in f64.
  bool widensSums = false;

private:
  std::map<std::vector<const void *>, mlir::StringAttr> known;
};

/// A program under construction. Commands are added at its end.
struct ProgramBuilder {
  ProgramBuilder(mlir::func::FuncOp function, plan::ProgramOp program,
                 const Mesh &mesh, KernelLibrary &library)
      : b(mlir::OpBuilder::atBlockEnd(&program.getBody().front())),
        program(program), mesh(mesh), library(library),
        buffers(b, function, mesh) {}

  mlir::OpBuilder b;
  plan::ProgramOp program;
  const Mesh &mesh;
  KernelLibrary &library;
  PlanBuffers buffers;
};

/// Adds `command`. Fails with a diagnostic if an operation cannot become a
/// command.
mlir::LogicalResult emitCommand(ProgramBuilder &to,
                                const PlannedCommand &command);

/// The start of this rank's part of `extent` positions of an index that `axes`
/// divide, or of the part that `tile` gives. It is [stride, shift, offset,
/// axes...], as in operations of the plan.
mlir::DenseI64ArrayAttr startOfPart(ProgramBuilder &to, int64_t extent,
                                    mlir::ArrayAttr axes, TileAttr tile = {});

// One function for each form, in files named after the forms.
void emitMatmul(ProgramBuilder &to, const PlannedCommand &command);
void emitGroupedMatmul(ProgramBuilder &to, const PlannedCommand &command);
void emitKernelCall(ProgramBuilder &to, const KernelGroup &group);
/// For an operation with buckets, with rows, or with rows that read its
/// buckets.
void emitRowKernels(ProgramBuilder &to, mlir::Operation *op);
void emitBlockCopyKernel(ProgramBuilder &to, BlockCopyOpInterface op);
void emitCollective(ProgramBuilder &to, CollectiveOpInterface op);
void emitExchange(ProgramBuilder &to, ExchangeOpInterface op);
/// Emits the side of a transfer that tpsp.send or tpsp.receive is.
void emitTransfer(ProgramBuilder &to, mlir::Operation *op);
mlir::LogicalResult emitAttention(ProgramBuilder &to, AttentionOpInterface op);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_COMMANDEMISSION_H
