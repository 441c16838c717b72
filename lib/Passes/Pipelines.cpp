#include "tpsp/Passes/Pipelines.h"

#include "tpsp/Passes/Passes.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tpsp::buildProgramPipeline(OpPassManager &pm) {
  pm.addPass(createCheckProgram());
  // A model may be written as functions that call each other.
  pm.addPass(createSeedCalls());
  pm.addPass(createInlinerPass());
}

void tpsp::buildLogicalPipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  buildProgramPipeline(pm);
  buildPlacementPipeline(pm, options);
}

void tpsp::buildPlacementPipeline(OpPassManager &pm,
                                  const PipelineOptions &options) {
  // While what the program does is as it is written.
  pm.addPass(createInitializeArguments());
  pm.addPass(createDecomposeEarly(
      {/*keepSwept=*/options.attention == AttentionForm::Blocks,
       /*keepCalls=*/options.attention == AttentionForm::Fused,
       options.usesGpuLibraries()}));
  if (options.keepMasks)
    pm.addPass(createKeepMasks());
  bool shards = options.shardReplicated != "off";
  pm.addPass(createPropagate({/*mark=*/shards}));
  if (shards)
    pm.addPass(createShardReplicated({options.shardReplicated, options.hardware,
                                      options.threads, options.grad}));
  if (options.grad)
    pm.addPass(createDifferentiate());
  // Adjoints recompute what they need; what two of them need is made once.
  pm.addPass(createCSEPass());
  pm.addPass(createBoundIntegers());
}

void tpsp::buildCollectivePipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  // First, so that what is redone gets its collectives as all else does; and
  // before the batch is cut, while there is one forward pass to keep.
  pm.addPass(createRematerialize({options.rematerialize}));
  pm.addPass(createMicroBatch({options.microBatches, options.microBatchIndex}));
  pm.addPass(createInsertCollectives());
  pm.addPass(createFuseCollectives({options.keepGathered}));
  pm.addPass(createBucketCollectives({options.bucketBytes}));
}

void tpsp::buildPlanPipeline(OpPassManager &pm,
                             const PipelineOptions &options) {
  pm.addPass(createPartition({options.keepTrivial}));
  pm.addPass(
      createSweep({options.attentionBlock,
                   /*keepCalls=*/options.attention == AttentionForm::Fused,
                   options.usesGpuLibraries()}));
  pm.addPass(createDecomposeLate());
  // Before kernels form: what two composites both compute is made once.
  pm.addPass(createCSEPass());
  pm.addPass(createConvertTpspToPlan());
  // Before products are cut, so that their tiles have their epilogues.
  if (options.epilogues)
    pm.addPass(createFuseEpilogues({options.hardware, options.threads}));
  // Before memory is given out: what runs at once must not share it.
  if (options.overlap)
    pm.addPass(createOverlap({options.hardware, options.threads,
                              options.overlapBuffers, options.overlapChunks,
                              options.requireOverlap}));
  pm.addPass(createAllocate());
  pm.addPass(createCheckSchedule());
  if (options.overlap)
    pm.addPass(createRequireOverlap(
        {options.requireOverlap, options.hardware, options.threads}));
  // Behind overlap, which may cut a kernel's command.
  if (options.device == DeviceKind::Cuda)
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
  buildDevicePipeline(pm);
  pm.addPass(createCompileDeviceKernels());
  OpPassManager &kernels = pm.nest<func::FuncOp>();
  kernels.addPass(createConvertLinalgToLoopsPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertMathToLLVMPass());
  // What is no intrinsic of LLVM's (erf of f64) is a function of libm's.
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  // Kernels take plain addresses: their buffers are contiguous and static.
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createReconcileUnrealizedCastsPass());
  // Only now do the kernels that programs name exist as LLVM functions.
  pm.addPass(createConvertPlanToLLVM());
}

void tpsp::registerPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "tpsp-pipeline", "From a model to its plan",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildLogicalPipeline(pm, options);
        buildCollectivePipeline(pm, options);
        buildPlanPipeline(pm, options);
      });
  PassPipelineRegistration<PipelineOptions>(
      "tpsp-collective-pipeline", "From a model to its collectives",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildLogicalPipeline(pm, options);
        buildCollectivePipeline(pm, options);
      });
  PassPipelineRegistration<ExplainOptions>(
      "tpsp-explain",
      "Print the program, forward and backward, in sharded einsum notation, "
      "and the collective ledger",
      [](OpPassManager &pm, const ExplainOptions &chosen) {
        ExplainOptions options;
        options.copyOptionValuesFrom(chosen);
        options.grad = true;
        pm.addPass(createNameValues());
        buildLogicalPipeline(pm, options);
        pm.addPass(createDropPrimals());
        buildCollectivePipeline(pm, options);
        pm.addPass(createPrintExplanation({options.notation, options.extents,
                                           options.rule, options.parts,
                                           options.everyLayer}));
      });
  PassPipelineRegistration<>("tpsp-llvm-pipeline",
                             "From a plan to the LLVM dialect",
                             buildLLVMPipeline);
}
