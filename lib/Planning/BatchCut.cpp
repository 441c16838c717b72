#include "BatchCut.h"

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

/// Why the program on one device cannot be cut into `parts` micro-batches;
/// empty if it can.
static std::string cutProblem(MLIRContext &context,
                              CandidateEvaluatorOptions options,
                              int64_t parts) {
  options.program.forgetsPlacements = true;
  std::string first;
  ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
    if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      first =
          formatLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
  });
  auto program =
      PlannedProgram::read(context, options.path, options.readOptions());
  if (!program)
    return llvm::toString(program.takeError());
  Candidate undivided;
  undivided.settings.microBatches = parts;
  llvm::Error error = checkMicroBatches(
      (*program)->place(undivided), options.path,
      compileOptionsFor(options.compile, (*program)->facts().program,
                        undivided));
  std::string summary = error ? llvm::toString(std::move(error)) : "";
  return summary.empty() || first.empty() ? summary : first;
}

static int64_t leastDivisor(int64_t extent) {
  for (int64_t each = 2; each * each <= extent; ++each)
    if (extent % each == 0)
      return each;
  return extent;
}

static std::string unknownIndex(const std::string &index,
                                const ProgramFacts &facts) {
  std::vector<std::string> known;
  for (ClassId id : facts.activationClasses)
    known.push_back(facts.classes[id].name());
  return "--micro-batch-index '" + index +
         "' is no index of the program; its inputs have " +
         llvm::join(known, ", ");
}

llvm::Expected<std::optional<ClassId>>
tpsp::findBatch(MLIRContext &context, const CandidateEvaluatorOptions &options,
                const GivenSettings &given, const ProgramFacts &facts) {
  const CompileOptions &compile = options.compile;
  bool isAsked =
      given.microBatchIndex || (given.microBatches && compile.microBatches > 1);
  std::optional<ClassId> batch = facts.find(compile.microBatchIndex);
  if (!batch && isAsked)
    return llvm::createStringError(
        unknownIndex(compile.microBatchIndex, facts));
  if (!batch)
    return batch;
  int64_t parts = given.microBatches
                      ? compile.microBatches
                      : leastDivisor(facts.classes[*batch].extent);
  std::string problem = parts > 1 ? cutProblem(context, options, parts) : "";
  if (!problem.empty() && isAsked)
    return llvm::createStringError(
        llvm::formatv("{0} micro-batches of index '{1}': {2}", parts,
                      compile.microBatchIndex, problem)
            .str());
  if (!problem.empty() || !llvm::is_contained(facts.activationClasses, *batch))
    return std::nullopt;
  return batch;
}
