/// The examples, compiled with their backward pass.
#ifndef TPSP_TEST_UNIT_PLAN_EXAMPLEPLAN_H
#define TPSP_TEST_UNIT_PLAN_EXAMPLEPLAN_H

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace tpsp {

/// Returns the names of all of examples/*.mlir, sorted, without the ending.
std::vector<std::string> exampleNames();

/// A module in its own context, which collects diagnostics.
class Example {
public:
  /// How far to compile: to local shapes, or to the checked plan.
  enum class Stage { Local, Plan };

  /// Changes the pipelines' options; `grad` is already set.
  using Configure = llvm::function_ref<void(CompileOptions &)>;
  /// Changes the program as written, before any pass.
  using Prepare = llvm::function_ref<void(mlir::ModuleOp)>;

  /// `ranks` is the size of the mesh's only axis. With 0, or for a mesh of
  /// several axes, sizes are as written.
  Example(
      const std::string &name, Stage stage, int64_t ranks = 0,
      Configure configure = [](CompileOptions &) {},
      Prepare prepare = [](mlir::ModuleOp) {});

  mlir::ModuleOp module() { return *owner; }
  explicit operator bool() const { return bool(owner); }
  /// Returns the diagnostics, one message per line.
  std::string takeMessages() { return std::move(messages); }

  /// Whether tpsp-check-schedule accepts a changed copy of the module. `change`
  /// gets the copies of the program's commands, in order.
  bool acceptsAfter(
      llvm::function_ref<void(llvm::ArrayRef<mlir::Operation *>)> change);

private:
  bool run(mlir::ModuleOp target,
           llvm::function_ref<void(mlir::OpPassManager &)> build);

  mlir::MLIRContext context;
  std::string messages;
  mlir::OwningOpRef<mlir::ModuleOp> owner;
};

/// Returns the commands of a module's programs, in order.
std::vector<mlir::Operation *> commandsOf(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLAN_EXAMPLEPLAN_H
