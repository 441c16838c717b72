/// Makes the decision matrix of a model's file. This folder lets the planner
/// search programs: it compiles, simulates and cuts its candidates.
#ifndef TPSP_PLANNING_PLANNING_H
#define TPSP_PLANNING_PLANNING_H

#include "tpsp/Planner/Bounds.h"
#include "tpsp/Planner/Matrix.h"
#include "tpsp/Planner/Profile.h"
#include "tpsp/Planning/CandidateEvaluator.h"

#include <set>

namespace tpsp {

/// Settings that the request fixes: `compile` has them, and no plan changes
/// them.
struct GivenSettings {
  bool microBatches = false, rematerialize = false, microBatchIndex = false;
};

/// The choice of stages.
struct StageChoice {
  /// As SpaceOptions::stages.
  int64_t stages = 0;
  /// A name of pipelinePolicies().
  std::string schedule = "1f1b";
  /// The number of chunks of layers per stage. 0: any number up to 16 with
  /// which chunks are equal, or nearly.
  int64_t chunks = 0;
};

struct PlanningRequest {
  /// Its hardware is the machine's description; see clusterOf().
  CandidateEvaluatorOptions evaluator;
  /// 0: the devices of one node, or 2 on a machine without nodes.
  int64_t devices = 0;
  /// The memory of a device in bytes; 0: the machine's.
  int64_t memoryLimit = 0;
  std::vector<std::string> pins;
  /// Who has to be able to express the plans.
  planner::Reader reader;
  /// The profile of the system that runs the plans. Plans have to fit by it,
  /// too. Null: tpsp itself.
  std::shared_ptr<const planner::Profile> profile;
  unsigned maxAxes = 3;
  GivenSettings given;
  StageChoice stages;
  /// Compiler options for which tpsp-run would choose the same value by
  /// default.
  std::set<std::string> automatic;
  /// planProgram() fills in memory, settings and named plans.
  planner::SearchOptions search;
  /// Plans that are always compiled: usual names ("FSDP 8") or subscripts.
  /// Other texts, such as a rank, have no effect.
  std::vector<std::string> named;
  /// The number of rows of the matrix.
  size_t rows = 10;
};

struct Planning {
  planner::ProgramFacts facts;
  planner::SearchResult result;
  /// The matrix. It refers to `result`.
  planner::Matrix matrix;
  /// The request's evaluator, with a machine that has enough devices.
  CandidateEvaluatorOptions evaluator;

  /// If nothing fits: "; 16 devices would do: ...", or empty if no number of
  /// devices that was tried does.
  std::string wouldFit;

  /// The best plan that fits; null if none does.
  const planner::Evaluation *best() const;
};

/// The settings, each saving more memory than the one before, in the order in
/// which the planner tries them. Few micro-batches come before many, and both
/// before rematerialisation: of some of the `layers`, and then of all. Their
/// numbers are all divisors of `batch` up to 512, or with overlap 1, 2, 4
/// and 8. `batch` is the extent of the index that micro-batches cut; 1: there
/// is none.
std::vector<planner::Settings> memorySettings(const CompileOptions &compile,
                                              GivenSettings given,
                                              int64_t batch, int64_t layers);

/// The settings of plans with stages, ordered by rematerialisation, then by
/// chunks of the program's `layers`, then by micro-batches. Numbers of
/// micro-batches are all from 2 to 512 that divide `batch`, the largest first.
std::vector<planner::Settings> stageSettings(const CompileOptions &compile,
                                             GivenSettings given, int64_t batch,
                                             int64_t layers,
                                             const StageChoice &stages);

/// Options of bounds that hold if every candidate is compiled with `compile`.
planner::BoundOptions boundOptions(const CompileOptions &compile,
                                   const UndividedProgram &undivided,
                                   int64_t devices,
                                   const planner::SearchOptions &search);

/// The name of a description with enough devices: `name` itself, or
/// NAME-cluster, which has several of its nodes. The error says how many
/// devices there are.
llvm::Expected<std::string> clusterOf(llvm::StringRef name, int64_t devices);

/// Searches for plans. Fails with a sentence if the program cannot be planned,
/// pins contradict each other, or no factorisation of the devices is legal. It
/// does not fail if no plan fits. Diagnostics of reading the model go to
/// `context`.
llvm::Expected<std::unique_ptr<Planning>>
planProgram(mlir::MLIRContext &context, const PlanningRequest &request,
            const planner::SearchProgress &progress);

/// The program with a plan's mesh and subscripts, as text. A comment at its
/// head gives the `tpsp-run` command that predicts this plan. The command
/// predicts the same seconds and bytes if the plan was compiled whole.
llvm::Expected<std::string> placedText(mlir::MLIRContext &context,
                                       const PlanningRequest &request,
                                       const planner::Evaluation &plan);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANNING_H
