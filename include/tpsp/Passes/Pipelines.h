/// The pipelines: what runs in which order, and why.
#ifndef TPSP_PASSES_PIPELINES_H
#define TPSP_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tpsp {

/// What a plan has kernels for, beside CPUs.
enum class DeviceKind { None, Cuda };

/// How attention is computed.
enum class AttentionForm { Rows, Blocks, Fused };

struct PipelineOptions : public mlir::PassPipelineOptions<PipelineOptions> {
  Option<bool> grad{*this, "grad",
                    llvm::cl::desc("Add the backward pass of every function"),
                    llvm::cl::init(false)};
  Option<std::string> shardReplicated{
      *this, "shard-replicated",
      llvm::cl::desc("Shard what is replicated for no reason: off or memory"),
      llvm::cl::init("off")};
  Option<int64_t> microBatches{
      *this, "micro-batches",
      llvm::cl::desc("Number of parts of the batch, one after another"),
      llvm::cl::init(1)};
  Option<std::string> microBatchIndex{
      *this, "micro-batch-index",
      llvm::cl::desc("The index that micro-batches cut"), llvm::cl::init("b")};
  Option<int64_t> bucketBytes{
      *this, "bucket-bytes",
      llvm::cl::desc("Size of a bucket of reductions; 0 is one per tensor"),
      llvm::cl::init(25 << 20)};
  Option<bool> keepMasks{
      *this, "keep-masks",
      llvm::cl::desc("Store dropout masks instead of drawing them again"),
      llvm::cl::init(false)};
  Option<AttentionForm> attention{
      *this, "attention", llvm::cl::desc("How attention is computed"),
      llvm::cl::init(AttentionForm::Rows),
      llvm::cl::values(
          clEnumValN(AttentionForm::Rows, "rows",
                     "a whole row of scores at once"),
          clEnumValN(
              AttentionForm::Blocks, "blocks",
              "a block of keys at a time, with a running softmax; around "
              "a ring where an axis divides the sequence"),
          clEnumValN(AttentionForm::Fused, "fused",
                     "by a library in one call, where it has one"))};
  Option<int64_t> attentionBlock{*this, "attention-block",
                                 llvm::cl::desc("Keys of a block, at most"),
                                 llvm::cl::init(2048)};
  Option<std::string> rematerialize{
      *this, "rematerialize",
      llvm::cl::desc("What the backward pass redoes instead of keeping it: "
                     "none, selective or full"),
      llvm::cl::init("none")};
  Option<bool> keepGathered{
      *this, "keep-gathered",
      llvm::cl::desc("Keep gathered tensors for the backward pass"),
      llvm::cl::init(false)};
  Option<bool> keepTrivial{
      *this, "keep-trivial",
      llvm::cl::desc("Keep collectives over a single rank"),
      llvm::cl::init(false)};
  Option<bool> epilogues{
      *this, "epilogues",
      llvm::cl::desc(
          "Do what reads a product element by element in its matmul"),
      llvm::cl::init(true)};
  Option<bool> overlap{*this, "overlap",
                       llvm::cl::desc("Communicate under computation"),
                       llvm::cl::init(false)};
  Option<int64_t> overlapBuffers{
      *this, "overlap-buffers",
      llvm::cl::desc("How many times the memory for communication that the "
                     "program needs anyway; 0: 2, or more where it pays"),
      llvm::cl::init(0)};
  Option<double> requireOverlap{
      *this, "require-overlap",
      llvm::cl::desc("Fail if a smaller share of communication is hidden"),
      llvm::cl::init(0)};
  Option<int64_t> overlapChunks{
      *this, "overlap-chunks",
      llvm::cl::desc("Cut all that can be cut, reductions into this many "
                     "chunks, tiles of rings into this many parts; 0: by "
                     "cost; 1: nothing"),
      llvm::cl::init(0)};
  Option<std::string> hardware{
      *this, "hardware",
      llvm::cl::desc("The machine that costs are of: a built-in description, "
                     "or a JSON file"),
      llvm::cl::init("cpu")};
  Option<int64_t> threads{
      *this, "threads",
      llvm::cl::desc("Compute threads of a rank, on CPUs; 0: cores / ranks"),
      llvm::cl::init(0)};
  Option<DeviceKind> device{
      *this, "device", llvm::cl::desc("Make kernels for this device too"),
      llvm::cl::init(DeviceKind::None),
      llvm::cl::values(
          clEnumValN(DeviceKind::None, "none", "for CPUs only"),
          clEnumValN(DeviceKind::Cuda, "cuda", "for NVIDIA's GPUs"))};
  Option<bool> forGpu{*this, "for-gpu",
                      llvm::cl::desc("Choose what a GPU's libraries do, even "
                                     "without kernels for one"),
                      llvm::cl::init(false)};
  bool usesGpuLibraries() const { return forGpu || device == DeviceKind::Cuda; }
};

/// Those of --tpsp-explain: what is compiled, and what is said of it.
struct ExplainOptions : public PipelineOptions {
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
};

/// A model as written -> one function, checked. What it computes is what the
/// reference evaluates.
void buildProgramPipeline(mlir::OpPassManager &pm);
/// One function -> placed, differentiated on request; still logical.
void buildPlacementPipeline(mlir::OpPassManager &pm,
                            const PipelineOptions &options);
/// Both of them.
void buildLogicalPipeline(mlir::OpPassManager &pm,
                          const PipelineOptions &options);
/// Logical -> with collectives, global shapes: what the step redoes, its parts,
/// its collectives.
void buildCollectivePipeline(mlir::OpPassManager &pm,
                             const PipelineOptions &options);
/// With collectives -> plan, allocated and checked.
void buildPlanPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Plan -> LLVM dialect: kernels first, then the programs that name them.
void buildLLVMPipeline(mlir::OpPassManager &pm);
/// The device kernels of a plan that was made for a GPU -> NVVM and LLVM
/// dialects. All else stays.
void buildDevicePipeline(mlir::OpPassManager &pm);

/// --tpsp-pipeline (model to plan), --tpsp-collective-pipeline (model to
/// collectives), --tpsp-llvm-pipeline (plan to LLVM dialect).
void registerPipelines();

} // namespace tpsp

#endif // TPSP_PASSES_PIPELINES_H
