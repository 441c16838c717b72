/// Modules from text, passes over them, and their value by the reference.
///
/// Programs of one operation are written by a signature of index names,
///
///   oneOperation("einsum", "s,d; e,d -> s,e")
///
/// where every name has an extent of its own (see TestProgram.cpp) unless one
/// is given, as in "s,e=12". A scalar is ".".
#ifndef TPSP_TEST_UNIT_JIT_TESTPROGRAM_H
#define TPSP_TEST_UNIT_JIT_TESTPROGRAM_H

#include "TestTensors.h"
#include "tpsp/Runtime/ReferenceProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"

#include <random>

namespace tpsp {

using Tensors = std::vector<reference::Tensor>;

/// "tensor<5x3xf64, #tpsp.idx<s, d>>" for "s,d".
std::string tensorType(llvm::StringRef indices);

/// A function @f of one operation on its arguments.
std::string oneOperation(llvm::StringRef mnemonic, llvm::StringRef signature,
                         llvm::StringRef attributes = "");

/// What random numbers to draw: all keep away from 0, where relu has a kink
/// and quotients a pole.
enum class Sign { Any, Positive };

/// A module with a context of its own. What goes wrong is a test failure,
/// except where the caller asks whether it does.
class TestProgram {
public:
  using PassList = std::vector<std::unique_ptr<mlir::Pass> (*)()>;

  explicit TestProgram(const std::string &text);

  mlir::func::FuncOp function(llvm::StringRef name = "f");

  /// Whether all passes succeed.
  bool run(const PassList &passes);
  /// The messages so far, one per line.
  const std::string &diagnostics() const { return messages; }

  /// Random tensors of these types.
  Tensors random(mlir::TypeRange types, Sign sign, std::mt19937 &engine);

  /// The results; none after a failure.
  Tensors evaluate(const Tensors &arguments, llvm::StringRef name = "f");

private:
  mlir::MLIRContext context;
  std::string messages;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The results of `function` for these arguments, one per argument of the
/// function, with its type's index names and shape: referenceProgramOf, then
/// reference::evaluate, and their errors.
llvm::Expected<Tensors>
evaluateReference(mlir::func::FuncOp function,
                  llvm::ArrayRef<const reference::Tensor *> arguments,
                  const reference::Progress &progress = {});

/// The value of `function`, with errors as a test failure.
Tensors evaluateOrFail(mlir::func::FuncOp function, const Tensors &arguments);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_JIT_TESTPROGRAM_H
