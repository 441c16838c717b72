#include "Analysis.h"

#include "tpsp/Dialect/Tpsp/Syntax/SourceText.h"

#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/InitAll.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::lsp;

/// The most layers that are compiled of a repetition: with fewer, the first and
/// the last could not be told from the others.
static constexpr int64_t mostLayers = 3;

/// Writes `repeat 3  ` for `repeat 126`, so that columns stay. A pipeline's
/// stages divide the layers that are written.
static std::string withFewLayers(const SourceText &source) {
  std::string text = source.text();
  for (const SourceAxis &axis : source.axes())
    if (axis.role == "stage")
      return text;
  ArrayRef<SourceWord> words = source.words();
  for (size_t i = 1; i < words.size(); ++i) {
    int64_t times = 0;
    if (words[i].kind != SourceWord::Number ||
        !words[i - 1].text.ends_with("repeat") ||
        words[i].text.getAsInteger(10, times) || times <= mostLayers)
      continue;
    size_t at = words[i].text.data() - source.text().data();
    std::string fewer = std::to_string(mostLayers);
    fewer.resize(words[i].text.size(), ' ');
    text.replace(at, fewer.size(), fewer);
  }
  return text;
}

/// The first place in a source file within a location, where it is written.
static FileLineColLoc placeIn(Location loc) {
  return callPlaceOf(loc).written->findInstanceOf<FileLineColLoc>();
}

namespace {

/// Notes the problems that a context reports while this lives.
class Problems {
public:
  explicit Problems(MLIRContext &context)
      : handler(&context,
                [this](Diagnostic &diagnostic) { note(diagnostic); }) {}
  std::vector<Problem> found;

private:
  void note(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      return;
    Problem problem;
    problem.isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    problem.message = diagnostic.str();
    if (FileLineColLoc place = placeIn(diagnostic.getLocation())) {
      problem.line = place.getLine();
      problem.column = place.getColumn();
    }
    for (Diagnostic &note : diagnostic.getNotes()) {
      problem.message += "\n" + note.str();
      if (FileLineColLoc place = placeIn(note.getLocation()))
        problem.message += " (line " + std::to_string(place.getLine()) + ")";
    }
    found.push_back(std::move(problem));
  }

  ScopedDiagnosticHandler handler;
};

} // namespace

/// Compiles the module to collectives, with the backward pass if `grad`.
static LogicalResult compile(ModuleOp module, bool grad) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  CompileOptions options;
  options.grad = grad;
  // A collective of its own for each tensor, at the line that needs it.
  options.bucketBytes = 0;
  options.bucketLayers = "off";
  buildLogicalPipeline(passes, options);
  if (grad)
    passes.addPass(createDropPrimals());
  buildCollectivePipeline(passes, options);
  return passes.run(module);
}

/// Replaces what is written by what was found. Tensors that the compiled
/// program lacks, such as arguments of called functions, stay as written.
static void addFound(LineFacts &facts, LineFacts found) {
  for (auto &[line, fact] : found) {
    LineFact &known = facts[line];
    for (const TensorFact &tensor : fact.tensors)
      llvm::erase_if(known.tensors, [&](const TensorFact &written) {
        return written.name == tensor.name;
      });
    llvm::append_range(known.tensors, fact.tensors);
    known.collectives = std::move(fact.collectives);
  }
}

/// Compiles with gradients, or without them if only that is possible.
static void addPlacements(ModuleOp module, Analysis &analysis) {
  for (bool grad : {true, false}) {
    OwningOpRef<ModuleOp> copy = module.clone();
    Problems problems(*module.getContext());
    bool isCompiled = succeeded(compile(*copy, grad));
    if (isCompiled)
      addFound(analysis.facts, lineFactsOf(*copy));
    if (isCompiled || !grad) {
      llvm::append_range(analysis.problems, problems.found);
      return;
    }
  }
}

/// Whether the module is a program. An editor opens other modules, too.
static bool isProgram(ModuleOp module) {
  if (!module.getOps<ModuleOp>().empty())
    return false;
  return module.walk([](IndexedOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

Analysis tpsp::lsp::analyse(StringRef path, StringRef text) {
  Analysis analysis;
  if (llvm::Error problem = checkModelText(path, text)) {
    analysis.problems.push_back(
        {0, 0, true, llvm::toString(std::move(problem))});
    return analysis;
  }
  std::string shortened = withFewLayers(SourceText(text.str()));
  SourceText compiled(shortened);
  for (const SourceFunction &function : compiled.functions())
    analysis.compiledCalls[function.name.str()] = function.calls;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(shortened, path), llvm::SMLoc());
  OwningOpRef<ModuleOp> module;
  {
    Problems problems(context);
    module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
    analysis.problems = std::move(problems.found);
  }
  analysis.parses = bool(module);
  if (!module)
    return analysis;
  SourceNames names;
  names.add(path, shortened);
  nameValues(*module, names);
  analysis.facts = lineFactsOf(*module);
  if (isProgram(*module))
    addPlacements(*module, analysis);
  return analysis;
}
