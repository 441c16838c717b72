/// From a model file to a program that ranks can run, in memory.
#ifndef TPSP_COMPILE_COMPILER_H
#define TPSP_COMPILE_COMPILER_H

#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Runtime/Manifest.h"
#include "tpsp/Runtime/ReferenceProgram.h"
#include "tpsp/Schedule/Step.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace tpsp {

struct CompileOptions {
  /// The function to compile; empty: the module's only one.
  std::string function;
  /// With its backward pass.
  bool grad = false;
  /// If so, of inputs, too.
  bool inputGradients = true;
  /// Store dropout masks instead of drawing them again.
  bool keepMasks = false;
  /// Return what is decided by comparing numbers (a router's experts), for the
  /// reference to go on with.
  bool returnChoices = false;
  /// "f32", "bf16", "f16", or empty for the types as written.
  std::string dtype;
  /// "tp=4" entries that replace the mesh's sizes.
  std::vector<std::string> mesh;
  /// Shard what propagation left replicated: "off" or "memory".
  std::string shardReplicated = "off";
  /// Parts of the batch, one after another, and the index that they cut.
  int64_t microBatches = 1;
  std::string microBatchIndex = "b";
  /// Size of a bucket of reductions; 0 is one for each tensor.
  int64_t bucketBytes = 25 << 20;
  /// How attention is computed: in "rows", in "blocks" of so many keys at most,
  /// or "fused", in one call.
  std::string attention = "rows";
  int64_t attentionBlock = 2048;
  /// What the backward pass redoes: "none", "selective" or "full".
  std::string rematerialize = "none";
  /// Keep gathered tensors for the backward pass.
  bool keepGathered = false;
  /// Keep collectives over a single rank.
  bool keepTrivial = false;
  /// Do what reads a product element by element in its matmul.
  bool epilogues = true;
  /// Communicate under computation, scheduled by what things cost on
  /// `hardware` (a built-in description or a file), with so many compute
  /// threads a rank (0: cores / ranks) and so many buffers.
  bool overlap = false;
  std::string hardware = "cpu";
  int64_t threads = 0;
  int64_t overlapBuffers = 0; // as many as pay
  /// Cut everything that can be cut, reductions into so many chunks; 0: by
  /// cost; 1: nothing.
  int64_t overlapChunks = 0;
  /// Refuse a schedule that hides a smaller share of the communication.
  double requireOverlap = 0;
  /// Kernels for a GPU too: "cuda" or "none". The plan runs on CPUs as well.
  std::string device = "none";
  /// Choose what a GPU's libraries do, even without kernels for one.
  bool forGpu = false;
  /// Changes the program once it is placed and differentiated; may be null. For
  /// tests, which plant mistakes that a run must notice.
  std::function<void(mlir::ModuleOp)> edit;
};

/// Told the name of each phase as it begins.
using CompileProgress = std::function<void(llvm::StringRef phase)>;

struct CompiledModel {
  /// The program as it was written, in one function: what the step must
  /// compute.
  reference::Program reference;
  /// The program as commands, allocated and checked.
  mlir::OwningOpRef<mlir::ModuleOp> plan;
  rt::Manifest manifest;
  /// The plan's commands as plain values.
  Step step;
};

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

/// The manifest of the program called `name`.
rt::Manifest manifestOf(mlir::ModuleOp plan, llvm::StringRef name);

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
