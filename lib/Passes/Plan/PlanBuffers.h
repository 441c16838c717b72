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
  /// Creates buffers of the values of `function` at the position of `builder`.
  PlanBuffers(mlir::OpBuilder &builder, mlir::func::FuncOp function,
              const Mesh &mesh)
      : b(builder), function(function), mesh(mesh) {}

  /// Adds buffers of the arguments. Fails with a diagnostic if two parameters
  /// share a name, because files of weights identify them by it.
  mlir::LogicalResult addArguments();
  /// Marks the buffers of the values that the function returns.
  void markResults(mlir::ValueRange results);

  bool has(mlir::Value value) const { return buffers.contains(value); }
  /// The memory of a value that has been defined: a buffer, or for a view its
  /// bytes in the view's shape.
  mlir::Value of(mlir::Value value);
  llvm::SmallVector<mlir::Value> of(mlir::ValueRange values);
  /// The buffer for a value that the next command computes: a new one, or that
  /// of the value that it replaces.
  mlir::Value define(mlir::Value value);
  /// Sets the values that are computed in the memory of others
  /// (InPlaceUpdates.h).
  void setInPlace(llvm::DenseMap<mlir::Value, mlir::Value> updates) {
    inPlace = std::move(updates);
  }
  /// Sets which values become gradients in the function whose commands are
  /// emitted. Buffers created later are marked if they hold such values.
  void setGradients(GradientWays ways) { gradients = std::move(ways); }
  /// The value in whose memory the value is computed; null if there is none.
  mlir::Value overwritten(mlir::Value value) const {
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
  llvm::DenseMap<mlir::Value, mlir::Value> inPlace;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANBUFFERS_H
