/// The buffers of a program under construction, by the values that they hold.
#ifndef TPSP_PASSES_PLAN_PLANBUFFERS_H
#define TPSP_PASSES_PLAN_PLANBUFFERS_H

#include "Passes/Program/GradientWays.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "tpsp/Algebra/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

class PlanBuffers {
public:
  /// Buffers of the values of `function`, made where `builder` stands.
  PlanBuffers(mlir::OpBuilder &builder, mlir::func::FuncOp function,
              const Mesh &mesh)
      : b(builder), function(function), mesh(mesh) {}

  /// Buffers of the arguments. Fails with a diagnostic if two parameters have
  /// one name: files of weights know them by that.
  mlir::LogicalResult addArguments();
  /// Marks the buffers of what the function returns.
  void markResults(mlir::Operation *terminator);

  bool has(mlir::Value value) const { return buffers.contains(value); }
  /// What a value is in: a buffer, or of a view its bytes under the view's
  /// shape. The value has been defined.
  mlir::Value of(mlir::Value value);
  llvm::SmallVector<mlir::Value> of(mlir::ValueRange values);
  /// The buffer for what a command is about to make: a new one, or that of the
  /// argument that it takes the place of.
  mlir::Value define(mlir::Value value);
  /// Values that are made in the memory of arguments (InPlaceUpdates.h).
  void setInPlace(llvm::DenseMap<mlir::Value, mlir::BlockArgument> updates) {
    inPlace = std::move(updates);
  }
  /// Sets what becomes gradients of the function whose commands are emitted.
  /// Buffers that are made from now on say whether they hold such values.
  void setGradients(GradientWays ways) { gradients = std::move(ways); }
  /// The argument in whose memory the value is made; null if in none.
  mlir::BlockArgument overwritten(mlir::Value value) const {
    return inPlace.lookup(value);
  }
  /// A buffer that holds no value of the function.
  plan::BufferOp temporary(mlir::Type tensor, mlir::Location loc);

private:
  void describeArgument(plan::BufferOp buffer, unsigned number);
  mlir::TypeAttr globalTensor(mlir::Type local) const;
  void copyTo(mlir::Value target, mlir::Value value);
  plan::BufferOp resultBuffer(mlir::Value value);
  void markUpdate(unsigned argument, unsigned result, mlir::Value value);
  BufferKind resultKind(unsigned number);

  mlir::OpBuilder &b;
  mlir::func::FuncOp function;
  const Mesh &mesh;
  std::optional<GradientWays> gradients;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> inPlace;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANBUFFERS_H
