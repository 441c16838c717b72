/// Parses modules, runs passes over them, and evaluates them by the reference.
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

/// Returns "tensor<5x3xf64, #tpsp.idx<s, d>>" for "s,d".
std::string tensorType(llvm::StringRef indices);

/// Returns a function @f of one operation on its arguments.
std::string oneOperation(llvm::StringRef mnemonic, llvm::StringRef signature,
                         llvm::StringRef attributes = "");

/// The signs of random numbers. All numbers keep away from 0, where relu has a
/// kink and quotients a pole.
enum class Sign { Any, Positive };

/// A module with its own context. An error fails the test, unless a function
/// returns it.
class TestProgram {
public:
  using PassList = std::vector<std::unique_ptr<mlir::Pass> (*)()>;

  explicit TestProgram(const std::string &text);

  mlir::func::FuncOp function(llvm::StringRef name = "f");

  /// Runs the passes and returns whether all succeed.
  bool run(const PassList &passes);
  /// The messages so far, one per line.
  const std::string &diagnostics() const { return messages; }

  /// Returns random tensors of these types.
  Tensors random(mlir::TypeRange types, Sign sign, std::mt19937 &engine);

  /// Returns the results; none after a failure.
  Tensors evaluate(const Tensors &arguments, llvm::StringRef name = "f");

private:
  mlir::MLIRContext context;
  std::string messages;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Returns the results of `function` for these arguments, by referenceProgramOf
/// and reference::evaluate, or their errors. There is one argument for each of
/// the function's, with its type's index names and shape.
llvm::Expected<Tensors>
evaluateReference(mlir::func::FuncOp function,
                  llvm::ArrayRef<const reference::Tensor *> arguments,
                  const reference::Progress &progress = {});

/// Returns the results of `function`. An error fails the test.
Tensors evaluateOrFail(mlir::func::FuncOp function, const Tensors &arguments);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_JIT_TESTPROGRAM_H
