/// Runs kernels of a program on the same random data in three ways: as on a
/// CPU, as on a GPU, and in f64.
#ifndef TPSP_TEST_DEVICE_KERNELTRIAL_H
#define TPSP_TEST_DEVICE_KERNELTRIAL_H

#include "tpsp/Compile/Compiler.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace tpsp::device {

/// Returns a context with all dialects of programs.
std::unique_ptr<mlir::MLIRContext> newContext();

/// A program compiled with device kernels.
struct Program {
  /// Compiles `text`. If that fails, the test fails and there is no model.
  Program(const std::string &text, CompileOptions options);

  explicit operator bool() const { return bool(model.module); }

  std::unique_ptr<mlir::MLIRContext> context;
  std::string messages;
  CompiledModel model;
};

/// Returns a function @f of one operation, for example "layer_norm" with the
/// signature "b=2,s=3,d=5; d=5; d=5 -> b=2,s=3,d=5". Elements are f32, or i32
/// for an operand that begins with "#".
std::string operationText(const std::string &mnemonic,
                          const std::string &signature,
                          const std::string &attributes = "");
std::string exampleText(const std::string &name);

/// Changes a plan's device kernels before they run.
using Change = llvm::function_ref<void(mlir::ModuleOp)>;

/// Returns the first difference of any kernel of the program, in any order of a
/// block's threads; "" if there is none. Checks at least one kernel.
std::string firstDifference(
    const std::string &text, const CompileOptions &options,
    Change change = [](mlir::ModuleOp) {});

} // namespace tpsp::device

#endif // TPSP_TEST_DEVICE_KERNELTRIAL_H
