#include "tpsp/Passes/Pipelines.h"

#include "Kernels/DeviceLimits.h"
#include "tpsp/Passes/Options/OptionFlags.h"

#include "tpsp/Passes/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Removes dead code only. Folding is off because the reference evaluates the
/// program as written.
static void addDeadCodeElimination(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.enableFolding(false);
  pm.addPass(createCanonicalizerPass(config, /*disabledPatterns=*/{},
                                     /*enabledPatterns=*/{"none"}));
}

void tpsp::buildProgramPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  // First, because until then axes need not divide padded indices.
  if (!options.pad.empty())
    addPass(pm, createSetPadding(), options);
  pm.addPass(createCheckProgram());
  // A model may be written as functions that call each other.
  pm.addPass(createSeedCalls());
  addPass(pm, createAssignStages(), options);
  pm.addPass(createInlineCalls());
  addDeadCodeElimination(pm.nest<func::FuncOp>());
  if (options.optimizer != "none")
    addPass(pm, createBuildUpdate(), options);
}

void tpsp::buildLogicalPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  buildProgramPipeline(pm, options);
  buildPlacementPipeline(pm, options);
  buildDerivativePipeline(pm, options);
}

void tpsp::buildPlacementPipeline(OpPassManager &pm,
                                  const CompileOptions &options) {
  // Initialised while the program's uses of parameters are as written.
  pm.addPass(createInitializeArguments());
  // After the update, whose numbers depend on the program's extents.
  pm.addPass(createPadExtents());
  addPass(pm, createDecomposeEarly(), options);
  if (options.keepMasks)
    pm.addPass(createKeepMasks());
  pm.addPass(createPropagate());
  if (options.shardReplicated != "off")
    addPass(pm, createShardReplicated(), options);
}

void tpsp::buildDerivativePipeline(OpPassManager &pm,
                                   const CompileOptions &options) {
  if (options.grad)
    addPass(pm, createDifferentiate(), options);
  pm.addPass(createCanonicalizerPass());
  // Adjoints recompute the values that they need; CSE merges those of several.
  pm.addPass(createCSEPass());
  pm.addPass(createBoundIntegers());
}

void tpsp::buildCollectivePipeline(OpPassManager &pm,
                                   const CompileOptions &options) {
  // First, so that rematerialised values get their collectives like all others.
  // Also before the batch is cut, while there is one forward pass to save from.
  addPass(pm, createRematerialize(), options);
  addPass(pm, createMicroBatch(), options);
  pm.addPass(createComposeStep());
  addPass(pm, createPlaceStages(), options);
  // After everything that sees attention as one operation.
  addPass(pm, createRingAttention(), options);
  pm.addPass(createInsertCollectives());
  addPass(pm, createFuseCollectives(), options);
  pm.addPass(createNoteGradients());
  if (options.bucketLayers != "off")
    addPass(pm, createBucketLayers(), options);
  addPass(pm, createBucketCollectives(), options);
}

void tpsp::buildPlanPipeline(OpPassManager &pm, const CompileOptions &options) {
  addPass(pm, createPartition(), options);
  addPass(pm, createSweep(), options);
  // The attention that is left becomes library calls.
  if (options.keepsCalls() && options.balanceAttention != "off")
    addPass(pm, createBalanceAttention(), options);
  pm.addPass(createDecomposeLate());
  // Before kernels are formed, merge values that two composites both compute.
  pm.addPass(createCSEPass());
  bool forGpu = options.usesGpuLibraries();
  addPass(
      pm,
      createConvertTpspToPlan({/*wideSums=*/!forGpu,
                               /*keptBytes=*/forGpu ? blockMemoryBytes : 0}),
      options);
  // Before memory is assigned, because commands that overlap must not share it.
  if (options.overlap != "off")
    addPass(pm, createOverlap(), options);
  addPass(pm, createOrderSegments(), options);
  pm.addPass(createAllocate());
  pm.addPass(createCheckSchedule());
  if (options.overlap != "off")
    addPass(pm, createRequireOverlap(), options);
  // After overlap, which may cut a kernel's command.
  if (options.device == "cuda")
    pm.addPass(createEmitDeviceKernels());
}

void tpsp::buildDevicePipeline(OpPassManager &pm) {
  pm.addPass(createLowerKernelMath());
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createConvertLinalgToLoopsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.indexBitwidth = 64;
  nvvm.useBarePtrCallConv = true;
  kernels.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void tpsp::buildLLVMPipeline(OpPassManager &pm) {
  // Before mathematics are expanded, because shared random words are found in
  // loops.
  pm.nest<func::FuncOp>().addPass(createConvertLinalgToLoopsPass());
  buildDevicePipeline(pm);
  pm.addPass(createCompileDeviceKernels());
  pm.nest<func::FuncOp>().addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  // Functions without an LLVM intrinsic (erf of f64) become libm calls.
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  // Kernels take plain addresses, because their buffers are contiguous and
  // static.
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createReconcileUnrealizedCastsPass());
  // The kernels that programs name exist as LLVM functions only now.
  pm.addPass(createConvertPlanToLLVM());
}

namespace {

/// Options of --tpsp-graph: those of the compilation and of the graph.
struct GraphFlags : public tpsp::PipelineFlags {
  Option<bool> everyLayer{
      *this, "every-layer",
      llvm::cl::desc("Draw layers that come again every time"),
      llvm::cl::init(false)};
};

/// Options of --tpsp-explain: those of the compilation and of the explanation.
struct ExplainFlags : public tpsp::PipelineFlags {
  Option<std::string> notation{
      *this, "notation",
      llvm::cl::desc("subscripts (z[b, s@tp, d]), explicit (z_{b t0 l d}, with "
                     "ranges) or latex (both)"),
      llvm::cl::init("subscripts")};
  Option<bool> extents{
      *this, "extents",
      llvm::cl::desc("List every tensor with its extents, one rank's, and "
                     "bytes"),
      llvm::cl::init(false)};
  Option<bool> rule{
      *this, "rule",
      llvm::cl::desc("List which gradients need collectives by the rule of "
                     "thumb must_have_bwd_comms, and which by derivation"),
      llvm::cl::init(false)};
  Option<bool> parts{
      *this, "parts",
      llvm::cl::desc("Write parts of adjoints as equations of their own"),
      llvm::cl::init(false)};
  Option<bool> everyLayer{
      *this, "every-layer",
      llvm::cl::desc("Write layers that come again every time"),
      llvm::cl::init(false)};
  Option<bool> dtensor{
      *this, "dtensor",
      llvm::cl::desc("List every tensor with its placements as PyTorch's "
                     "DTensor has them"),
      llvm::cl::init(false)};
};

} // namespace

static void buildToCollectives(OpPassManager &pm,
                               const tpsp::CompileOptions &options) {
  tpsp::buildLogicalPipeline(pm, options);
  tpsp::buildCollectivePipeline(pm, options);
}

/// Forward and backward pass with collectives, and source names of values.
static void buildToNamedCollectives(OpPassManager &pm,
                                    tpsp::CompileOptions options) {
  options.grad = true;
  pm.addPass(tpsp::createNameValues());
  tpsp::buildLogicalPipeline(pm, options);
  pm.addPass(tpsp::createDropPrimals());
  tpsp::buildCollectivePipeline(pm, options);
}

/// Gives every tensor a collective of its own, so that layers are equal.
static void buildFormulasPipeline(OpPassManager &pm,
                                  const tpsp::PipelineFlags &flags) {
  tpsp::CompileOptions options = flags.values();
  options.bucketBytes = 0;
  // The pass refuses more micro-batches than one.
  tpsp::CompileOptions inOnePiece = options;
  inOnePiece.microBatches = 1;
  buildToNamedCollectives(pm, inOnePiece);
  tpsp::addPass(pm, tpsp::createPrintFormulas(), options);
}

static void buildExplainPipeline(OpPassManager &pm, const ExplainFlags &flags) {
  buildToNamedCollectives(pm, flags.values());
  pm.addPass(tpsp::createPrintExplanation({flags.notation, flags.extents,
                                           flags.rule, flags.parts,
                                           flags.everyLayer, flags.dtensor}));
}

static void buildGraphPipeline(OpPassManager &pm, const GraphFlags &flags) {
  buildToNamedCollectives(pm, flags.values());
  pm.addPass(tpsp::createPrintGraph({flags.everyLayer}));
}

namespace {

/// Options of --tpsp-to-stablehlo: the compilation's, as far as they apply to a
/// program for other compilers.
struct StablehloFlags : public PassPipelineOptions<StablehloFlags> {
  Option<bool> grad{*this, "grad",
                    llvm::cl::desc("With all gradients, of cotangents that are "
                                   "arguments"),
                    llvm::cl::init(false)};
  Option<bool> collectives{
      *this, "collectives",
      llvm::cl::desc(
          "Say every placement before and behind tpsp's collectives"),
      llvm::cl::init(false)};
  Option<std::string> function{
      *this, "function",
      llvm::cl::desc(
          "The function that becomes @main; needed if there are several"),
      llvm::cl::init("")};
};

} // namespace

static void buildStablehloPipeline(OpPassManager &pm,
                                   const StablehloFlags &flags) {
  tpsp::CompileOptions options;
  options.grad = flags.grad;
  pm.addPass(tpsp::createNameValues());
  tpsp::buildLogicalPipeline(pm, options);
  if (options.grad)
    pm.addPass(tpsp::createDropPrimals());
  if (flags.collectives) {
    pm.addPass(tpsp::createInsertCollectives());
    tpsp::addPass(pm, tpsp::createFuseCollectives(), options);
  }
  pm.addPass(tpsp::createConvertTpspToStablehlo({flags.function}));
}

void tpsp::registerPipelines() {
  PassPipelineRegistration<PipelineFlags>(
      "tpsp-pipeline", "From a model to its plan",
      [](OpPassManager &pm, const PipelineFlags &flags) {
        CompileOptions options = flags.values();
        buildToCollectives(pm, options);
        buildPlanPipeline(pm, options);
      });
  PassPipelineRegistration<PipelineFlags>(
      "tpsp-collective-pipeline", "From a model to its collectives",
      [](OpPassManager &pm, const PipelineFlags &flags) {
        buildToCollectives(pm, flags.values());
      });
  PassPipelineRegistration<ExplainFlags>(
      "tpsp-explain",
      "Print the program, forward and backward, in sharded einsum notation, "
      "and the collective ledger",
      buildExplainPipeline);
  PassPipelineRegistration<GraphFlags>(
      "tpsp-graph",
      "Print the program, forward and backward, as a graph for Graphviz, with "
      "its pending sums and collectives",
      buildGraphPipeline);
  PassPipelineRegistration<PipelineFlags>(
      "tpsp-formulas",
      "Print the program's collectives, FLOPs and memory, forward and "
      "backward, as polynomials in the names of indices and axes",
      buildFormulasPipeline);
  PassPipelineRegistration<StablehloFlags>(
      "tpsp-to-stablehlo",
      "From a model to StableHLO with its placement, for XLA and JAX",
      buildStablehloPipeline);
  PassPipelineRegistration<>("tpsp-llvm-pipeline",
                             "From a plan to the LLVM dialect",
                             buildLLVMPipeline);
}
