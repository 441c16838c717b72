/// The planner's evaluator, which runs the real pipeline and the real
/// simulator.
#ifndef TPSP_PLANNING_CANDIDATEEVALUATOR_H
#define TPSP_PLANNING_CANDIDATEEVALUATOR_H

#include "tpsp/Passes/Options/CompileOptions.h"
#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planning/PlannedProgram.h"
#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

struct CandidateEvaluatorOptions {
  /// The model's file.
  std::string path;
  PlannedProgramOptions program;
  /// The options for every candidate. The candidate replaces mesh,
  /// micro-batches, rematerialisation and the axes of the optimizer's state.
  CompileOptions compile;

  /// `program` with the element type, extents, padding and target of `compile`.
  PlannedProgramOptions readOptions() const {
    PlannedProgramOptions options = program;
    options.dtype = compile.dtype;
    options.extents = compile.extents;
    options.pad = compile.pad;
    options.forGpu = compile.forGpu;
    return options;
  }
};

/// The options for a candidate of the program `function`: `all`, and the
/// candidate's own settings.
CompileOptions compileOptionsFor(const CompileOptions &all,
                                 const std::string &function,
                                 const planner::Candidate &candidate);

/// Makes evaluators that each read the model themselves, so that threads share
/// nothing. If the model cannot be read, they refuse every candidate, so
/// callers should read it once before. On a CPU, bytes are those of a rank.
planner::EvaluatorFactory
candidateEvaluators(const CandidateEvaluatorOptions &options);

/// The program compiled for one device.
struct UndividedProgram {
  /// The optimizer's state over all parameters; 0 without an optimizer.
  int64_t stateBytes = 0;
  /// One for each rematerialisation.
  std::vector<planner::Yardstick> yardsticks;
};

/// Compiles the program for one device with each rematerialisation of
/// `settings`. Fails if the compiler refuses the program.
llvm::Expected<UndividedProgram>
undividedProgram(const CandidateEvaluatorOptions &options,
                 const std::vector<planner::Settings> &settings);

} // namespace tpsp

#endif // TPSP_PLANNING_CANDIDATEEVALUATOR_H
