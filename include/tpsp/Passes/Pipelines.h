/// The pipelines: which passes run in which order, and why.
#ifndef TPSP_PASSES_PIPELINES_H
#define TPSP_PASSES_PIPELINES_H

#include "tpsp/Passes/Options/CompileOptions.h"

#include "mlir/Pass/PassManager.h"

namespace tpsp {

/// A model as written -> one function, checked. The reference evaluates the
/// program in this form.
void buildProgramPipeline(mlir::OpPassManager &pm,
                          const CompileOptions &options);
/// One function -> placed, on global shapes.
void buildPlacementPipeline(mlir::OpPassManager &pm,
                            const CompileOptions &options);
/// Placed -> differentiated on request, without duplicate operations.
void buildDerivativePipeline(mlir::OpPassManager &pm,
                             const CompileOptions &options);
/// All of the above.
void buildLogicalPipeline(mlir::OpPassManager &pm,
                          const CompileOptions &options);
/// Logical -> with collectives, on global shapes: rematerialisation,
/// micro-batches, collectives.
void buildCollectivePipeline(mlir::OpPassManager &pm,
                             const CompileOptions &options);
/// With collectives -> plan, allocated and checked.
void buildPlanPipeline(mlir::OpPassManager &pm, const CompileOptions &options);
/// Plan -> LLVM dialect: kernels first, then the programs that name them.
void buildLLVMPipeline(mlir::OpPassManager &pm);
/// The device kernels of a plan for a GPU -> NVVM and LLVM dialects. The rest
/// of the module stays.
void buildDevicePipeline(mlir::OpPassManager &pm);

/// --tpsp-pipeline (model to plan), --tpsp-collective-pipeline (model to
/// collectives), --tpsp-llvm-pipeline (plan to LLVM dialect).
void registerPipelines();

} // namespace tpsp

#endif // TPSP_PASSES_PIPELINES_H
