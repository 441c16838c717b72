/// From a model's file to the plans of its stages' chunks.
#ifndef TPSP_COMPILE_STAGEPLANS_H
#define TPSP_COMPILE_STAGEPLANS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Compile/Compiler.h"

#include <memory>
#include <optional>

namespace tpsp {

struct StageRequest {
  /// Its micro-batches are the pipeline's.
  CompileOptions compile;
  int64_t chunksPerStage = 1;
  /// The layers of each chunk; empty: equally many.
  std::vector<int64_t> layers;
};

struct StagePlan {
  /// Of one micro-batch, over the whole mesh. Equal chunks share one.
  std::shared_ptr<const Plan> plan;
  int64_t layers = 0;
  /// The first arguments are received, the first results sent.
  int64_t received = 0, sent = 0;
  /// For each argument its number in the program; -1: it is received.
  std::vector<int64_t> arguments;
};

struct StagePlans {
  std::string program;
  std::vector<MeshAxis> mesh;
  AxisId stageAxis = 0;
  /// Chunk c is of stage c mod the axis's size.
  std::vector<StagePlan> chunks;
  /// How many chunks differ.
  int64_t compiled = 0;
  /// Of the program's arguments; empty where it gives none.
  std::vector<std::string> argumentNames;
};

/// Whether the model, with the options' mesh, divides its layers over more than
/// one stage. False of a model that cannot be read: who compiles it says why.
bool hasStages(mlir::MLIRContext &context, llvm::StringRef path,
               const CompileOptions &options);

/// Diagnostics go to the context's handler as they arise; the error then is a
/// one-sentence summary. Fails where the layers, or the batch, do not divide.
llvm::Expected<StagePlans> compileStages(mlir::MLIRContext &context,
                                         llvm::StringRef path,
                                         const StageRequest &request,
                                         const CompileProgress &progress);

} // namespace tpsp

#endif // TPSP_COMPILE_STAGEPLANS_H
