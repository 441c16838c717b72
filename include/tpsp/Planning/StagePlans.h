/// From a model's file to the plans of its stages' chunks.
#ifndef TPSP_PLANNING_STAGEPLANS_H
#define TPSP_PLANNING_STAGEPLANS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Compile/Compiler.h"

#include <map>
#include <memory>

namespace tpsp {

/// Plans of chunks, by what makes chunks equal.
using ChunkPlans = std::map<std::string, std::shared_ptr<const Plan>>;

struct StageRequest {
  /// Its micro-batches are the pipeline's.
  CompileOptions compile;
  int64_t chunksPerStage = 1;
  /// The layers of each chunk; empty: equally many.
  std::vector<int64_t> layers;
  /// Of layers in a chunk that repeat, so many are compiled; 0: all. Of those
  /// left out StagePlans::deeper tells what they take.
  size_t keptLayers = 0;
  /// Of requests for the same placed program that differed from this one in
  /// chunks, micro-batches, rematerialisation, overlap and what options say
  /// "time" of at most. Those that are compiled are added. Null: there are
  /// none.
  ChunkPlans *known = nullptr;
};

struct StagePlan {
  /// Of one micro-batch, over the whole mesh. Equal chunks share one.
  std::shared_ptr<const Plan> plan;
  int64_t layers = 0;
  /// The first arguments are received, the first results sent.
  int64_t received = 0, sent = 0;
  /// For each argument its number in the program; -1: it is received.
  std::vector<int64_t> arguments;
  /// How many layers the plan leaves out, by their function; where several
  /// functions take turns, how many turns.
  std::map<std::string, int64_t> leftOut;
};

struct StagePlans {
  std::string program;
  std::vector<MeshAxis> mesh;
  AxisId stageAxis = 0;
  /// Chunk c is of stage c mod the axis's size.
  std::vector<StagePlan> chunks;
  /// A chunk, and its plan with one layer, or turn, more.
  struct Deeper {
    size_t chunk = 0;
    StagePlan plan;
  };
  /// For each function of which layers are left out.
  std::map<std::string, Deeper> deeper;
  /// How many plans were compiled.
  int64_t compiled = 0;
  /// Of the program's arguments; empty where it gives none.
  std::vector<std::string> argumentNames;
};

/// Whether the model, with the options' mesh, divides its layers over more than
/// one stage. False of a model that cannot be read: who compiles it says why.
bool hasStages(mlir::MLIRContext &context, llvm::StringRef path,
               const CompileOptions &options);

/// What of the options is not simulated with stages: a sentence, or "".
std::string stagesProblem(const CompileOptions &options);

/// Messages call the module `path`. Diagnostics go to the context's handler as
/// they arise; the error then is a one-sentence summary. Fails where the
/// layers, or the batch, do not divide, and where there is a stagesProblem().
llvm::Expected<StagePlans>
compileStages(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
              const StageRequest &request, const CompileProgress &progress);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGEPLANS_H
