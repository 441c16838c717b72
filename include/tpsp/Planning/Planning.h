/// From a model's file to its decision matrix.
#ifndef TPSP_PLANNING_PLANNING_H
#define TPSP_PLANNING_PLANNING_H

#include "tpsp/Planner/Bounds.h"
#include "tpsp/Planner/Matrix.h"
#include "tpsp/Planning/CandidateEvaluator.h"

#include <set>

namespace tpsp {

/// Settings that the request decides: `compile` has them, and no plan changes
/// them.
struct GivenSettings {
  bool microBatches = false, rematerialize = false, microBatchIndex = false;
};

/// Of pipelines.
struct StageChoice {
  /// As SpaceOptions::stages.
  int64_t stages = 0;
  /// Of pipelinePolicies().
  std::string schedule = "1f1b";
  /// How many chunks of layers a stage has; 0: any number up to 16 that leaves
  /// chunks alike, or nearly.
  int64_t chunks = 0;
};

struct PlanningRequest {
  /// Its hardware is the machine; see clusterOf().
  CandidateEvaluatorOptions evaluator;
  /// 0: a node of the machine; a machine without nodes has 2.
  int64_t devices = 0;
  /// Of a device, in bytes; 0: what the machine has.
  int64_t memoryLimit = 0;
  std::vector<std::string> pins;
  unsigned maxAxes = 3;
  GivenSettings given;
  StageChoice stages;
  /// Options of the compiler that tpsp-run would choose alike by itself.
  std::set<std::string> automatic;
  /// Memory, settings and what is named are filled in.
  planner::SearchOptions search;
  /// Plans that are compiled in any case: usual names ("FSDP 8") or subscripts.
  /// What no plan is called so (a rank) changes nothing.
  std::vector<std::string> named;
  /// Of the matrix.
  size_t rows = 10;
};

struct Planning {
  planner::ProgramFacts facts;
  planner::SearchResult result;
  /// Reads the result.
  planner::Matrix matrix;
  /// What candidates were compiled with: the request's, on a machine that has
  /// the devices.
  CandidateEvaluatorOptions evaluator;

  /// Where nothing fits: "; 16 devices would do: ...", or empty if no number of
  /// the machine's that was tried does.
  std::string wouldFit;

  /// The best plan that fits; null if none does.
  const planner::Evaluation *best() const;
};

/// The settings that save more and more memory, in the order in which the
/// planner tries them. They are fewer micro-batches before more, and all of
/// these before rematerialisation. `batch` is the extent of the index that
/// micro-batches cut; 1: none does.
std::vector<planner::Settings> memorySettings(const CompileOptions &compile,
                                              GivenSettings given,
                                              int64_t batch);

/// The settings of plans with stages: by rematerialisation, and of these by
/// chunks of the program's `layers`. Of these the most micro-batches come
/// first: all numbers from 2 to 512 that divide `batch`.
std::vector<planner::Settings> stageSettings(const CompileOptions &compile,
                                             GivenSettings given, int64_t batch,
                                             int64_t layers,
                                             const StageChoice &stages);

/// What bounds may rely on when every candidate is compiled with `compile`.
planner::BoundOptions boundOptions(const CompileOptions &compile,
                                   const UndividedProgram &undivided,
                                   int64_t devices,
                                   const planner::SearchOptions &search);

/// The name of a description that has so many devices: `name` itself, or else
/// NAME-cluster, which is nodes of it. The error says how many there are.
llvm::Expected<std::string> clusterOf(llvm::StringRef name, int64_t devices);

/// Searches. Fails with a sentence if the program cannot be planned, a pin
/// contradicts, or no factorisation of the devices is legal. That no plan fits
/// is no failure. Diagnostics of reading the model go to `context`.
llvm::Expected<std::unique_ptr<Planning>>
planProgram(mlir::MLIRContext &context, const PlanningRequest &request,
            const planner::SearchProgress &progress);

/// The program with a plan's mesh and subscripts, as text. A comment at its
/// head has the command that predicts the plan: the same step and bytes, where
/// the plan was compiled whole.
llvm::Expected<std::string> placedText(mlir::MLIRContext &context,
                                       const PlanningRequest &request,
                                       const planner::Evaluation &plan);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANNING_H
