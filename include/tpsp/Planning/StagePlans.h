/// Compiles a model to the plans of its stages' chunks.
#ifndef TPSP_PLANNING_STAGEPLANS_H
#define TPSP_PLANNING_STAGEPLANS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/Schedule/ChunkWork.h"

#include <map>
#include <memory>
#include <optional>

namespace tpsp {

/// Plans of chunks, by the text that equal chunks share.
using ChunkPlans = std::map<std::string, std::shared_ptr<const Plan>>;

struct StageRequest {
  /// Its micro-batches are the pipeline's.
  CompileOptions compile;
  int64_t chunksPerStage = 1;
  /// The layers of each chunk; empty: equally many for each.
  std::vector<int64_t> layers;
  /// The number of repeated layers in a chunk that are compiled; 0: all.
  /// StagePlans::deeper tells the cost of the layers left out.
  size_t keptLayers = 0;
  /// Whether the whole step, with all layers, is compiled and measured, too.
  bool isWhole = true;
  /// A cache of chunks' plans, or null. Requests may share it if they have the
  /// same placed program and differ only in chunks, micro-batches,
  /// rematerialisation, overlap and options that say "time". Newly compiled
  /// plans are added.
  ChunkPlans *known = nullptr;
};

struct StagePlan {
  /// The plan for one micro-batch, over the whole mesh. Equal chunks share a
  /// plan.
  std::shared_ptr<const Plan> plan;
  int64_t layers = 0;
  /// The number of arguments that are received, and of results that are sent.
  /// They come first.
  int64_t received = 0, sent = 0;
  /// For each argument, its number in the program; -1 if it is received.
  std::vector<int64_t> arguments;
  /// The number of layers that the plan leaves out, by their function. If
  /// several functions take turns, it is the number of turns.
  std::map<std::string, int64_t> leftOut;
};

struct StagePlans {
  std::string program;
  std::vector<MeshAxis> mesh;
  AxisId stageAxis = 0;
  /// Chunk c belongs to stage c mod the axis's size.
  std::vector<StagePlan> chunks;
  /// A chunk, and its plan with one more layer, or turn.
  struct Deeper {
    size_t chunk = 0;
    StagePlan plan;
  };
  /// By function, for each function whose layers were left out.
  std::map<std::string, Deeper> deeper;
  /// The number of plans that were compiled.
  int64_t compiled = 0;
  SumOptions sums;
  /// The names of the program's arguments; empty for arguments without a name.
  std::vector<std::string> argumentNames;
};

/// How a step with these options adds up gradients.
SumOptions sumOptionsOf(const CompileOptions &options);

/// Whether the model, with the options' mesh, divides its layers over more than
/// one stage. Returns nullopt if the model is not valid. Compiling it says why.
std::optional<bool> hasStages(mlir::MLIRContext &context, llvm::StringRef path,
                              const CompileOptions &options);

/// A sentence about an option that cannot be simulated with stages, or "".
std::string stagesProblem(const CompileOptions &options);

/// The same about an option for which chunks of few layers do not predict the
/// whole step. The planner composes steps of such chunks.
std::string stagesUnplanned(const CompileOptions &options);

/// Sets options of data parallelism that stages do not take, and that change no
/// result, to those that they take.
void setForStages(CompileOptions &options);

/// Compiles the chunks of a module, which messages call `path`. Diagnostics go
/// to the context's handler as they arise, and the error is a one-sentence
/// summary. Fails if the layers or the batch cannot be divided, or if there is
/// a stagesProblem().
llvm::Expected<StagePlans>
compileStages(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
              const StageRequest &request, const CompileProgress &progress);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGEPLANS_H
