/// The planner's evaluator: the real pipeline and the real simulator.
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
  /// What every candidate is compiled with. Mesh, micro-batches,
  /// rematerialisation and the axes of the optimizer's state are the
  /// candidate's.
  CompileOptions compile;

  /// `program`, as `compile` wants it stored, how large, and on what.
  PlannedProgramOptions readOptions() const {
    PlannedProgramOptions options = program;
    options.dtype = compile.dtype;
    options.extents = compile.extents;
    options.pad = compile.pad;
    options.forGpu = compile.forGpu;
    return options;
  }
};

/// What a candidate of the program `function` is compiled with: `all`, and its
/// own settings.
CompileOptions compileOptionsFor(const CompileOptions &all,
                                 const std::string &function,
                                 const planner::Candidate &candidate);

/// Evaluators that each read the model for themselves, so that threads share
/// nothing. They refuse every candidate if the model cannot be read; read it
/// once before. On a CPU, bytes are a rank's.
planner::EvaluatorFactory
candidateEvaluators(const CandidateEvaluatorOptions &options);

/// The program compiled for one device.
struct UndividedProgram {
  /// The optimizer's state over all parameters; 0 without an optimizer.
  int64_t stateBytes = 0;
  /// One for each rematerialisation.
  std::vector<planner::Yardstick> yardsticks;
};

/// Of the settings, the rematerialisations count. Fails if the compiler refuses
/// the program.
llvm::Expected<UndividedProgram>
undividedProgram(const CandidateEvaluatorOptions &options,
                 const std::vector<planner::Settings> &settings);

} // namespace tpsp

#endif // TPSP_PLANNING_CANDIDATEEVALUATOR_H
