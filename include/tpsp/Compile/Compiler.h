/// Compiles a model file, in memory, to a program that ranks can run.
#ifndef TPSP_COMPILE_COMPILER_H
#define TPSP_COMPILE_COMPILER_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Passes/Options/CompileOptions.h"
#include "tpsp/Runtime/ReferenceProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace tpsp {

/// Called with the name of each phase as it begins.
using CompileProgress = std::function<void(llvm::StringRef phase)>;

struct CompiledModel {
  /// The program as written, in one function. It defines the step's values.
  reference::Program reference;
  /// The program as allocated and checked commands, with its kernels.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The commands and buffers as plain values.
  std::shared_ptr<const Plan> plan;
};

/// The options with "time" replaced by "off". Compiling with "time" compiles
/// both with and without the transformation, and keeps the faster simulated
/// step.
CompileOptions withoutTimedOptions(CompileOptions options);

/// Parses `path` and compiles it to a plan. Diagnostics go to the context's
/// handler as they arise, and the error is a one-sentence summary.
llvm::Expected<CompiledModel> compileModel(mlir::MLIRContext &context,
                                           llvm::StringRef path,
                                           const CompileOptions &options,
                                           const CompileProgress &progress);

/// The same for a parsed module. Messages call it `path`.
llvm::Expected<CompiledModel>
compileModule(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
              const CompileOptions &options, const CompileProgress &progress);

/// Only the plan of a parsed module, for callers that compile many plans and
/// run none. The IR is not verified after placement.
llvm::Expected<std::shared_ptr<const Plan>>
planOfModule(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
             const CompileOptions &options);

/// Checks that a parsed module can be cut into the options' micro-batches.
/// Diagnostics go to the context's handler, and the error is a summary. If
/// layers repeat, only two of them are checked.
llvm::Error checkMicroBatches(mlir::OwningOpRef<mlir::ModuleOp> module,
                              llvm::StringRef path,
                              const CompileOptions &options);

/// How much time to spend on optimising machine code.
enum class CodeEffort {
  Full,  ///< for fast code
  Little ///< for fast compilation: many small programs, each run once
};

/// LLVM's level of optimisation, of its passes and of its code generator alike.
llvm::CodeGenOptLevel levelOf(CodeEffort effort);

/// Machine code of a plan, in this process.
class JitProgram {
public:
  /// Lowers (and consumes the body of) `plan` and compiles it for this machine.
  static llvm::Expected<JitProgram>
  create(mlir::ModuleOp plan, llvm::StringRef program,
         CodeEffort effort = CodeEffort::Full);
  JitProgram(JitProgram &&);
  ~JitProgram();

  /// Issues one step's commands. Valid as long as this object lives.
  tpsp_rt_status (*step)(tpsp_rt_rank *, int64_t segment) = nullptr;

private:
  explicit JitProgram(std::unique_ptr<mlir::ExecutionEngine> engine);
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace tpsp

#endif // TPSP_COMPILE_COMPILER_H
