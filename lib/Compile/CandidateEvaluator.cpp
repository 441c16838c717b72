#include "tpsp/Compile/CandidateEvaluator.h"

#include "LayerRuns.h"

#include "tpsp/Abi/PlanMemory.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Schedule/Simulator.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

/// "all_gather over fsdp".
static std::string partOf(const LedgerRow &row) {
  std::string text = row.kind + " over ";
  for (const std::string &axis : row.axes)
    text += (&axis == &row.axes.front() ? "" : ", ") + axis;
  return text;
}

/// What the step's time is made of.
static void addParts(const tpsp::Plan &plan, const SimulatedStep &step,
                     Evaluation &out) {
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const PlanCommand &command = plan.commands[i];
    if (command.isEvent() || command.kind == CommandKind::Collective)
      continue;
    const char *kind = command.kind == CommandKind::Matmul      ? "products"
                       : command.kind == CommandKind::Attention ? "attention"
                       : command.kind == CommandKind::Kernel    ? "kernels"
                                                                : "copies";
    out.parts[kind] += step.commands[i].seconds();
  }
  std::map<std::string, double> longest;
  for (size_t i = 0; i < plan.ledger.size(); ++i) {
    const LedgerRow &row = plan.ledger[i];
    std::string part = partOf(row);
    double exposed = step.exposure.collectives[i].exposed;
    out.parts[part] += exposed;
    if (exposed > longest[part] || out.tensors[part].empty()) {
      longest[part] = exposed;
      out.tensors[part] = row.tensor;
    }
  }
}

static MemoryBill billOf(const tpsp::Plan &plan) {
  PlanMemory memory = memoryOf(plan);
  MemoryBill bill;
  bill.parameters = memory.parameters;
  bill.gradients = memory.gradients;
  bill.state = memory.master + memory.optimizer;
  bill.inputs = memory.inputs;
  bill.outputs = memory.outputs + memory.choices;
  bill.activations = memory.activations;
  bill.saved = plan.savedBytes;
  bill.total = plan.arenaBytes;
  return bill;
}

/// Layers of a run that stand for all of it: the first and the last are beside
/// other things, and one more is like those between. Shorter runs are compiled
/// as they are.
static constexpr size_t baseDepth = 2, shortestRun = 3;

namespace {

class CandidateEvaluator : public Evaluator {
public:
  explicit CandidateEvaluator(const CandidateEvaluatorOptions &options)
      : options(options),
        context(dialects(), MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
    // A description is read by each thread for itself.
    this->options.compile.hardware = options.compile.hardware.name();
    this->options.program.dtype = options.compile.dtype;
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    auto read = PlannedProgram::read(context, options.path, options.program);
    if (read) {
      program = std::move(*read);
      runs = program->layersOfRuns(shortestRun);
    } else {
      unreadable = llvm::toString(read.takeError());
    }
  }

  Evaluation evaluate(const Candidate &candidate) override {
    size_t numRuns = runs.size();
    if (numRuns == 0)
      return evaluateWhole(candidate);
    SmallVector<size_t> depths(numRuns, baseDepth);
    Evaluation base = evaluateWith(candidate, depths), result = base;
    for (size_t i = 0; i < numRuns && result.isLegal(); ++i) {
      ++depths[i];
      Evaluation deeper = evaluateWith(candidate, depths);
      --depths[i];
      if (!deeper.isLegal())
        return deeper;
      addDifference(result, base, deeper, double(runs[i] - baseDepth));
    }
    return result;
  }

  Evaluation evaluateWhole(const Candidate &candidate) override {
    return evaluateWith(candidate, {});
  }

private:
  CompileOptions optionsFor(const Candidate &candidate) const {
    CompileOptions compile = options.compile;
    compile.function = program->facts().program;
    compile.dtype.clear(); // The program has it already.
    compile.mesh.clear();
    compile.microBatches = candidate.settings.microBatches;
    compile.rematerialize = candidate.settings.rematerialize;
    compile.optimizerAxes.clear();
    for (const CandidateAxis &axis : candidate.axes)
      if (axis.use.storesState)
        compile.optimizerAxes.push_back(axis.name);
    return compile;
  }

  /// Of the program with so many layers of each run; all of them, if `depths`
  /// is empty.
  Evaluation evaluateWith(const Candidate &candidate, ArrayRef<size_t> depths) {
    Evaluation result;
    result.candidate = candidate;
    if (!program) {
      result.refusal = unreadable;
      return result;
    }
    std::string first;
    ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
      if (first.empty() &&
          diagnostic.getSeverity() == DiagnosticSeverity::Error)
        first = diagnostic.str();
    });
    OwningOpRef<ModuleOp> placed = program->place(candidate);
    if (!depths.empty()) {
      auto function =
          placed->lookupSymbol<func::FuncOp>(program->facts().program);
      keepLayers(function, layerRuns(function, shortestRun), depths);
    }
    if (llvm::Error error =
            compileAndSimulate(std::move(placed), candidate, result)) {
      std::string summary = llvm::toString(std::move(error));
      result.refusal = first.empty() ? summary : first;
    }
    return result;
  }

  llvm::Error compileAndSimulate(OwningOpRef<ModuleOp> placed,
                                 const Candidate &candidate, Evaluation &out) {
    auto compiled =
        compileModule(std::move(placed), options.path, optionsFor(candidate),
                      [](llvm::StringRef) {});
    if (!compiled)
      return compiled.takeError();
    llvm::Expected<const Hardware &> hardware = options.compile.hardware.read();
    if (!hardware)
      return hardware.takeError();
    const tpsp::Plan &plan = *compiled->plan;
    if (std::string misfit = misfitOf(*hardware, plan.mesh); !misfit.empty())
      return llvm::createStringError(misfit);
    auto step = simulate(
        plan, CostModel(*hardware, plan.mesh, options.compile.threads));
    if (!step)
      return step.takeError();
    out.seconds = step->seconds;
    out.exposed = step->exposure.exposed;
    out.communication = step->exposure.communication;
    out.memory = billOf(plan);
    for (int64_t buffer : step->memory.liveAtPeak)
      if (out.largest.size() < 3)
        out.largest.push_back(
            {plan.buffers[buffer].name, plan.buffers[buffer].bytes});
    addParts(plan, *step, out);
    return llvm::Error::success();
  }

  CandidateEvaluatorOptions options;
  MLIRContext context;
  std::unique_ptr<PlannedProgram> program;
  std::string unreadable;
  /// The layers of each run.
  SmallVector<size_t> runs;
};

} // namespace

EvaluatorFactory
tpsp::candidateEvaluators(const CandidateEvaluatorOptions &options) {
  return [options]() -> std::unique_ptr<Evaluator> {
    return std::make_unique<CandidateEvaluator>(options);
  };
}

llvm::Expected<int64_t>
tpsp::unshardedStateBytes(const CandidateEvaluatorOptions &given) {
  if (given.compile.optimizer == "none")
    return 0;
  CandidateEvaluatorOptions options = given;
  options.program.forgetsPlacements = true;
  Evaluation whole = candidateEvaluators(options)()->evaluate(Candidate());
  if (!whole.isLegal())
    return llvm::createStringError(whole.refusal);
  return whole.memory.state;
}
