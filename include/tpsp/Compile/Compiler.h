/// From a model file to a program that ranks can run, in memory.
#ifndef TPSP_COMPILE_COMPILER_H
#define TPSP_COMPILE_COMPILER_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Passes/Options/CompileOptions.h"
#include "tpsp/Runtime/ReferenceProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace tpsp {

/// Told the name of each phase as it begins.
using CompileProgress = std::function<void(llvm::StringRef phase)>;

struct CompiledModel {
  /// The program as it was written, in one function: what the step must
  /// compute.
  reference::Program reference;
  /// The program as commands, allocated and checked, and its kernels.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Its commands and buffers as plain values.
  std::shared_ptr<const Plan> plan;
};

/// The options, but "off" wherever one says "time". Compiling with "time"
/// compiles without, too, and keeps what is simulated to be faster.
CompileOptions withoutTimedOptions(CompileOptions options);

/// Parses `path` and compiles it to a plan. Diagnostics go to the context's
/// handler as they arise; the error then is a one-sentence summary.
llvm::Expected<CompiledModel> compileModel(mlir::MLIRContext &context,
                                           llvm::StringRef path,
                                           const CompileOptions &options,
                                           const CompileProgress &progress);

/// The same for a module that has been parsed; messages call it `path`.
llvm::Expected<CompiledModel>
compileModule(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
              const CompileOptions &options, const CompileProgress &progress);

/// The plan alone of a module that has been parsed: for who compiles many and
/// runs none. Passes behind differentiation are not checked.
llvm::Expected<std::shared_ptr<const Plan>>
planOfModule(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
             const CompileOptions &options);

/// Why a module that has been parsed cannot be cut into the options'
/// micro-batches: diagnostics go to the context's handler, and the error is a
/// summary. Of layers that repeat it looks at two.
llvm::Error checkMicroBatches(mlir::OwningOpRef<mlir::ModuleOp> module,
                              llvm::StringRef path,
                              const CompileOptions &options);

/// How much time to spend on machine code.
enum class JitEffort {
  Full,  ///< for speed
  Little ///< to have it soon: many small programs run once each
};

/// Machine code of a plan, in this process.
class JitProgram {
public:
  /// Lowers (and consumes the body of) `plan` and compiles it for this machine.
  static llvm::Expected<JitProgram> create(mlir::ModuleOp plan,
                                           llvm::StringRef program,
                                           JitEffort effort = JitEffort::Full);
  JitProgram(JitProgram &&);
  ~JitProgram();

  /// Issues one step's commands. Valid as long as this object.
  tpsp_rt_status (*step)(tpsp_rt_rank *) = nullptr;

private:
  explicit JitProgram(std::unique_ptr<mlir::ExecutionEngine> engine);
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace tpsp

#endif // TPSP_COMPILE_COMPILER_H
