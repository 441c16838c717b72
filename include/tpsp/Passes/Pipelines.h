/// The pipelines: what runs in which order, and why.
#ifndef TPSP_PASSES_PIPELINES_H
#define TPSP_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tpsp {

struct PipelineOptions : public mlir::PassPipelineOptions<PipelineOptions> {
  Option<bool> grad{*this, "grad",
                    llvm::cl::desc("Add the backward pass of every function"),
                    llvm::cl::init(false)};
  Option<bool> keepMasks{
      *this, "keep-masks",
      llvm::cl::desc("Store dropout masks instead of drawing them again"),
      llvm::cl::init(false)};
};

/// A model as written -> placed, differentiated on request; still logical.
void buildLogicalPipeline(mlir::OpPassManager &pm,
                          const PipelineOptions &options);
/// Logical -> with collectives, global shapes.
void buildCollectivePipeline(mlir::OpPassManager &pm);
/// With collectives -> plan, allocated and checked.
void buildPlanPipeline(mlir::OpPassManager &pm);
/// Plan -> LLVM dialect: kernels first, then the programs that name them.
void buildLLVMPipeline(mlir::OpPassManager &pm);

/// --tpsp-pipeline (model to plan), --tpsp-collective-pipeline (model to
/// collectives), --tpsp-llvm-pipeline (plan to LLVM dialect).
void registerPipelines();

} // namespace tpsp

#endif // TPSP_PASSES_PIPELINES_H
