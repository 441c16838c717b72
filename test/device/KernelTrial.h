/// Kernels of a program in three ways on the same random data: as the CPU runs
/// them, as a GPU would, and in f64.
#ifndef TPSP_TEST_DEVICE_KERNELTRIAL_H
#define TPSP_TEST_DEVICE_KERNELTRIAL_H

#include "tpsp/Compile/Compiler.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace tpsp::device {

/// With all that programs have.
std::unique_ptr<mlir::MLIRContext> newContext();

/// A program compiled with device kernels.
struct Program {
  /// A test failure, and no model, if `text` does not compile.
  Program(const std::string &text, CompileOptions options);

  explicit operator bool() const { return bool(model.module); }

  std::unique_ptr<mlir::MLIRContext> context;
  std::string messages;
  CompiledModel model;
};

/// A function @f of one operation: "layer_norm", "b=2,s=3,d=5; d=5; d=5 ->
/// b=2,s=3,d=5". Elements are f32; an operand that begins with "#" has i32.
std::string operationText(const std::string &mnemonic,
                          const std::string &signature,
                          const std::string &attributes = "");
std::string exampleText(const std::string &name);

/// Changes a plan's device kernels before they run.
using Change = llvm::function_ref<void(mlir::ModuleOp)>;

/// The first difference of any kernel of the program, in any order of a block's
/// threads; "" if there is none. Checks at least one kernel.
std::string firstDifference(
    const std::string &text, const CompileOptions &options,
    Change change = [](mlir::ModuleOp) {});

} // namespace tpsp::device

#endif // TPSP_TEST_DEVICE_KERNELTRIAL_H
