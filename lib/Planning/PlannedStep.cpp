#include "tpsp/Planning/PlannedStep.h"

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Passes/Explain/Explanation.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tpsp;

llvm::Expected<PlannedStep>
tpsp::planStep(MLIRContext &context, const CandidateEvaluatorOptions &options,
               const planner::Candidate &candidate) {
  std::string first;
  ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
    if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      first = diagnostic.str();
  });
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
  if (plan) {
    step.plan = std::move(*plan);
    return step;
  }
  std::string summary = llvm::toString(plan.takeError());
  return llvm::createStringError(first.empty() ? summary : first);
}
