/// The planner's evaluator: the real pipeline and the real simulator.
#ifndef TPSP_COMPILE_CANDIDATEEVALUATOR_H
#define TPSP_COMPILE_CANDIDATEEVALUATOR_H

#include "tpsp/Compile/PlannedProgram.h"
#include "tpsp/Passes/CompileOptions.h"
#include "tpsp/Planner/Evaluation.h"
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
};

/// Evaluators that each read the model for themselves, so that threads share
/// nothing. They refuse every candidate if the model cannot be read; read it
/// once before. On a CPU, bytes are a rank's.
planner::EvaluatorFactory
candidateEvaluators(const CandidateEvaluatorOptions &options);

/// The optimizer's state over all parameters, unsharded, in bytes; 0 without an
/// optimizer. Compiles the program for one device.
llvm::Expected<int64_t>
unshardedStateBytes(const CandidateEvaluatorOptions &options);

} // namespace tpsp

#endif // TPSP_COMPILE_CANDIDATEEVALUATOR_H
