#include "tpsp/Planning/PlannedStep.h"

#include "StageEvaluation.h"

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Passes/Explain/Explanation.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Keeps the first diagnostic, which says more than the error of a compilation.
class FirstDiagnostic {
public:
  explicit FirstDiagnostic(MLIRContext &context)
      : listen(&context, [this](Diagnostic &diagnostic) {
          if (first.empty() &&
              diagnostic.getSeverity() == DiagnosticSeverity::Error)
            first = diagnostic.str();
        }) {}

  llvm::Error errorFor(llvm::Error error) const {
    std::string summary = llvm::toString(std::move(error));
    return llvm::createStringError(first.empty() ? summary : first);
  }

private:
  std::string first;
  ScopedDiagnosticHandler listen;
};

} // namespace

llvm::Expected<PlannedStep>
tpsp::planStep(MLIRContext &context, const CandidateEvaluatorOptions &options,
               const planner::Candidate &candidate) {
  FirstDiagnostic diagnostic(context);
  auto program =
      PlannedProgram::read(context, options.path, options.readOptions());
  if (!program)
    return program.takeError();
  PlannedStep step;
  CompileOptions compile = compileOptionsFor(
      options.compile, (*program)->facts().program, candidate);
  compile.withCollectives = [&](ModuleOp module) {
    step.explanation = explanationOf(module);
  };
  auto plan = planOfModule((*program)->place(candidate), options.path, compile);
  if (!plan)
    return diagnostic.errorFor(plan.takeError());
  step.plan = std::move(*plan);
  return step;
}

llvm::Expected<SimulatedStages>
tpsp::planStages(MLIRContext &context, const CandidateEvaluatorOptions &options,
                 const planner::Candidate &candidate) {
  FirstDiagnostic diagnostic(context);
  auto program =
      PlannedProgram::read(context, options.path, options.readOptions());
  if (!program)
    return program.takeError();
  llvm::Expected<const Hardware &> hardware = options.compile.hardware.read();
  if (!hardware)
    return hardware.takeError();
  StageRequest request;
  request.compile = compileOptionsFor(options.compile,
                                      (*program)->facts().program, candidate);
  auto stages = simulateCandidate((*program)->place(candidate), options.path,
                                  request, *hardware, candidate);
  if (!stages)
    return diagnostic.errorFor(stages.takeError());
  return stages;
}
