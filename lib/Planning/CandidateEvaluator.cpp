#include "tpsp/Planning/CandidateEvaluator.h"

#include "StageEvaluation.h"
#include "StepUse.h"
#include "StepWorkOfPlan.h"
#include "tpsp/Passes/Program/LayerRuns.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Abi/PlanMemory.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/InitAll.h"
#include "tpsp/Schedule/Simulator.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <chrono>
#include <map>
#include <utility>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

static DialectRegistry dialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

static MemoryBill billOf(const tpsp::Plan &plan) {
  PlanMemory memory = memoryOf(plan);
  MemoryBill bill;
  bill.parameters = memory.parameters;
  bill.gradients = memory.gradients;
  bill.mostGradients = memory.mostGradients;
  bill.state = memory.master + memory.optimizer;
  bill.inputs = memory.inputs;
  bill.outputs = memory.outputs + memory.choices;
  bill.activations = memory.activations;
  bill.saved = plan.savedBytes;
  bill.total = plan.arenaBytes;
  bill.serial = plan.serialBytes > 0 ? plan.serialBytes : plan.arenaBytes;
  return bill;
}

namespace {

/// The numbers of layers, in two shallow programs, that stand for a whole run.
/// The first and the last layer have other neighbours; additional layers are
/// like those between.
struct Depths {
  size_t base = 2, deeper = 3;

  double step() const { return double(deeper - base); }
  /// The factor on the difference between both programs for a run of `layers`,
  /// beyond `base`.
  double timesFor(size_t layers) const {
    return double(layers - base) / step();
  }
};

} // namespace

/// With overlap more layers are needed: communication that two layers expose
/// may hide under a third.
static Depths depthsFor(StringRef overlap) {
  return overlap == "off" ? Depths() : Depths{4, 6};
}

/// The assumed errors of composed figures, without and with overlap. The
/// largest errors seen were 0.6 % of a step without overlap. With overlap whole
/// steps were 9.4 % shorter, and 2.2 % less busy. Memory was 5 % less and 21 %
/// more (benchmarks/Composition.cpp, docs/Planner.md). A whole step of tensor
/// parallelism over 32 ranks took 18 % longer than composed.
static CompositionError errorOf(StringRef overlap) {
  return overlap == "off" ? CompositionError{0.01, 0.01, 0.01, 0.06, 0.22}
                          : CompositionError{0.1, 0.2, 0.025, 0.06, 0.22};
}

/// The same for steps with stages, whose composed figures are of chunks that
/// are compiled by themselves. The whole step has more kernels in its update,
/// and in backward passes in two parts. The largest errors seen were 2.2 % of a
/// step and 9 % more memory. With backward passes in two parts they were 5.7 %
/// and 8 %. With overlap they were 12.3 % of a step, and 2.4 % less and 6.2 %
/// more memory (benchmarks/Composition.cpp, CompositionTest.cpp).
static CompositionError errorOfStages(StringRef overlap, StringRef schedule) {
  if (overlap != "off")
    return {0.13, 0.13, 0.01, 0.06, 0.12};
  double time = schedule == "zero-bubble" ? 0.06 : 0.025;
  return {time, time, 0.01, 0.06, 0.12};
}

/// Programs with at most as many layers as two serial programs together are
/// compiled whole: that takes no longer, and is exact.
static constexpr size_t longestWhole = 5;

/// Bytes of one layer's gradients on a rank, before data axes divide them.
/// `count`: the number of layers, by which the layers' arguments are
/// recognised.
static double layerGradientBytes(const ProgramFacts &facts,
                                 const Candidate &candidate, size_t count) {
  double bytes = 0;
  for (const TensorFacts &tensor : facts.tensors) {
    if (!tensor.isTrained || tensor.count != int64_t(count))
      continue;
    double local = double(tensor.bytes()) / double(count);
    for (const std::vector<unsigned> &axes : subscriptsOf(tensor, candidate))
      for (unsigned axis : axes)
        if (candidate.axes[axis].use.role == AxisRole::Model)
          local /= double(candidate.axes[axis].size);
    bytes += local;
  }
  return bytes;
}

CompileOptions tpsp::compileOptionsFor(const CompileOptions &all,
                                       const std::string &function,
                                       const Candidate &candidate) {
  CompileOptions compile = all;
  compile.function = function;
  // The placed program has these already.
  compile.dtype.clear();
  compile.extents.clear();
  compile.mesh.clear();
  compile.microBatches = candidate.settings.microBatches;
  Rematerialisation redone = Rematerialisation::of(candidate.settings);
  compile.rematerialize = redone.mode;
  compile.rematerializeLayers = redone.layers;
  if (hasRing(candidate))
    compile.attention = "ring";
  if (candidate.hasStages())
    setForStages(compile);
  compile.optimizerAxes.clear();
  for (const CandidateAxis &axis : candidate.axes)
    if (axis.use.storesState)
      compile.optimizerAxes.push_back(axis.name);
  return compile;
}

/// Bytes of a device's memory; on a CPU a rank's part of the machine's.
static int64_t deviceBytes(const Hardware &machine,
                           const Candidate &candidate) {
  return machine.memoryBytes / (machine.isCpu() ? candidate.numRanks() : 1);
}

/// Adds the layers' part of saved bytes and kernels: `times` the difference.
static void addLayers(const Evaluation &base, const Evaluation &deeper,
                      double times, Evaluation &out) {
  double saved = double(deeper.memory.saved - base.memory.saved);
  out.savedByLayers += int64_t(times * std::max(saved, 0.0));
  double kernels = deeper.work.kernelSeconds - base.work.kernelSeconds;
  out.work.kernelSecondsOfLayers += times * std::max(kernels, 0.0);
}

namespace {

class CandidateEvaluator : public Evaluator {
public:
  explicit CandidateEvaluator(const CandidateEvaluatorOptions &options)
      : options(options),
        context(dialects(), MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
    // Each thread reads the description by itself.
    this->options.compile.hardware = options.compile.hardware.name();
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    auto read =
        PlannedProgram::read(context, options.path, options.readOptions());
    if (read) {
      program = std::move(*read);
      runs = program->layersOfRuns(longestWhole);
    } else {
      unreadable = llvm::toString(read.takeError());
    }
  }

  Evaluation evaluate(const Candidate &candidate) override {
    return compose(candidate, options.compile.overlap);
  }

  Evaluation evaluateSerially(const Candidate &candidate) override {
    return compose(candidate, "off");
  }

  Evaluation evaluateWhole(const Candidate &candidate) override {
    return whole(candidate, options.compile.overlap);
  }

  Evaluation evaluateWholeSerially(const Candidate &candidate) override {
    return whole(candidate, "off");
  }

  /// The factor from programs of few layers to programs of all layers.
  /// Scheduling grows a little faster than the number of layers.
  double wholeEffort() const override {
    Depths depths = depthsFor(options.compile.overlap);
    double layers = 1, compiled = 1;
    for (size_t layersOfRun : runs) {
      layers += double(layersOfRun);
      compiled += double(depths.base + depths.deeper);
    }
    return 1.5 * layers / compiled;
  }

private:
  Evaluation whole(const Candidate &candidate, const std::string &overlap) {
    if (candidate.hasStages())
      return stages(candidate, overlap, /*isWhole=*/true);
    return evaluateWith(candidate, optionsFor(candidate, overlap), {});
  }

  Evaluation compose(const Candidate &candidate, const std::string &overlap) {
    if (candidate.hasStages())
      return stages(candidate, overlap, /*isWhole=*/runs.empty());
    Rematerialisation redone = Rematerialisation::of(candidate.settings);
    bool isMixed = redone.layers > 0;
    if (runs.empty() || (isMixed && !program->facts().areLayersAlike))
      return evaluateWith(candidate, optionsFor(candidate, overlap), {});
    return isMixed ? composeMixed(candidate, redone, overlap)
                   : composedOnce(candidate, overlap);
  }

  /// Composes a step that rematerialises some layers from one that does so in
  /// none and one that does so in all.
  Evaluation composeMixed(const Candidate &candidate,
                          const Rematerialisation &redone,
                          const std::string &overlap) {
    Candidate other = candidate;
    other.settings.rematerialize = "none";
    Evaluation none = composedOnce(other, overlap);
    other.settings.rematerialize = redone.mode;
    Evaluation all = composedOnce(other, overlap);
    if (!none.isLegal() || !all.isLegal())
      return none.isLegal() ? all : none;
    double share = double(redone.layers) / double(program->facts().layers);
    Evaluation mixed = mixtureOf(none, all, std::min(share, 1.0));
    mixed.candidate = candidate;
    boundByBusiest(mixed);
    return mixed;
  }

  /// composeAlike(), which remembers what it made of this candidate.
  Evaluation composedOnce(const Candidate &candidate,
                          const std::string &overlap) {
    std::string text = overlap + " " +
                       subscriptText(candidate, program->facts()) + " " +
                       settingsText(candidate.settings);
    constexpr size_t most = 64;
    if (composed.size() > most)
      composed.clear();
    auto [entry, isNew] = composed.try_emplace(text);
    if (isNew)
      return entry->second = composeAlike(candidate, overlap);
    Evaluation known = entry->second;
    known.evaluationSeconds = 0;
    return known;
  }

  /// Composes a step whose layers are alike but for their runs.
  Evaluation composeAlike(const Candidate &candidate,
                          const std::string &overlap) {
    size_t numRuns = runs.size();
    Depths compiled = depthsFor(overlap);
    SmallVector<size_t> depths(numRuns, compiled.base);
    CompileOptions compile = optionsFor(candidate, overlap);
    // This also applies to a serial step that bounds the step with overlap.
    if (options.compile.overlap != "off")
      compile.bucketBytes = shallowBucket(candidate);
    Evaluation base = evaluateWith(candidate, compile, depths), result = base;
    for (size_t i = 0; i < numRuns && result.isLegal(); ++i) {
      depths[i] = compiled.deeper;
      Evaluation deeper = evaluateWith(candidate, compile, depths);
      depths[i] = compiled.base;
      if (!deeper.isLegal())
        return deeper;
      addDifference(result, base, deeper, compiled.timesFor(runs[i]));
      addLayers(base, deeper, double(runs[i]) / compiled.step(), result);
    }
    if (!result.isLegal())
      return result;
    boundByBusiest(result);
    // The hardware can be read: evaluating `base` has read it.
    const Hardware &hardware = llvm::cantFail(options.compile.hardware.read());
    boundBySerial(result.memory, overlap == "off" ? 0 : compile.overlapMemory,
                  deviceBytes(hardware, candidate));
    result.error = errorOf(overlap);
    return result;
  }

  /// The bucket size for shallow programs. Several layers may share a bucket,
  /// and all layers together have many. A shallow program would have only one,
  /// reduced when nothing is left to hide it under. Each layer would then seem
  /// to add an exposed reduction, so a bucket holds one layer instead. Without
  /// overlap all reductions are exposed, and fewer are faster.
  int64_t shallowBucket(const Candidate &candidate) const {
    int64_t bucket = options.compile.bucketBytes;
    double least = double(bucket);
    for (size_t layers : runs) {
      double layer = layerGradientBytes(program->facts(), candidate, layers);
      if (layer > 0 && layer * double(layers) > double(bucket))
        least = std::min(least, layer);
    }
    return int64_t(least);
  }

  CompileOptions optionsFor(const Candidate &candidate,
                            const std::string &overlap) const {
    CompileOptions compile =
        compileOptionsFor(options.compile, program->facts().program, candidate);
    compile.overlap = overlap;
    return compile;
  }

  /// Evaluates the program with `depths` layers of each run, or with all layers
  /// if `depths` is empty.
  Evaluation evaluateWith(const Candidate &candidate,
                          const CompileOptions &compile,
                          ArrayRef<size_t> depths) {
    return find(candidate, [&](Evaluation &out) {
      OwningOpRef<ModuleOp> placed = program->place(candidate);
      if (!depths.empty()) {
        auto function =
            placed->lookupSymbol<func::FuncOp>(program->facts().program);
        keepLayers(function, layerRuns(function, longestWhole), depths);
      }
      return compileAndSimulate(std::move(placed), compile, out);
    });
  }

  /// Evaluates a candidate with stages. Compiles few layers of each chunk, and
  /// the whole step if `isWhole`.
  Evaluation stages(const Candidate &candidate, const std::string &overlap,
                    bool isWhole) {
    return find(candidate, [&](Evaluation &out) -> llvm::Error {
      llvm::Expected<const Hardware &> hardware =
          options.compile.hardware.read();
      if (!hardware)
        return hardware.takeError();
      StageRequest request;
      request.compile = optionsFor(candidate, overlap);
      request.keptLayers = runs.empty() ? 0 : Depths().base;
      request.isWhole = isWhole;
      request.known = &chunkPlansOf(candidate);
      llvm::Error error = evaluateStages(program->place(candidate),
                                         options.path, request, *hardware, out);
      if (out.isComposed)
        out.error = errorOfStages(overlap, candidate.settings.schedule);
      return error;
    });
  }

  ChunkPlans &chunkPlansOf(const Candidate &candidate) {
    std::string text = subscriptText(candidate, program->facts());
    if (std::exchange(staged, text) != text)
      chunkPlans.clear();
    return chunkPlans;
  }

  /// Makes an evaluation that `fill` fills in. An error of `fill` becomes the
  /// refusal.
  Evaluation find(const Candidate &candidate,
                  llvm::function_ref<llvm::Error(Evaluation &)> fill) {
    auto begin = std::chrono::steady_clock::now();
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
    if (llvm::Error error = fill(result)) {
      std::string summary = llvm::toString(std::move(error));
      result.refusal = first.empty() ? summary : first;
    }
    result.evaluationSeconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    return result;
  }

  llvm::Error compileAndSimulate(OwningOpRef<ModuleOp> placed,
                                 const CompileOptions &compile,
                                 Evaluation &out) {
    auto compiled = planOfModule(std::move(placed), options.path, compile);
    if (!compiled)
      return compiled.takeError();
    llvm::Expected<const Hardware &> hardware = options.compile.hardware.read();
    if (!hardware)
      return hardware.takeError();
    const tpsp::Plan &plan = **compiled;
    if (std::string misfit = misfitOf(*hardware, plan.mesh); !misfit.empty())
      return llvm::createStringError(misfit);
    CostModel cost(*hardware, plan.mesh, options.compile.threads);
    auto step = simulate(plan, cost);
    if (!step)
      return step.takeError();
    out.seconds = step->seconds;
    out.memory = billOf(plan);
    for (int64_t buffer : memoryUse(plan, step->rank).liveAtPeak)
      if (out.largest.size() < 3)
        out.largest.push_back(
            {plan.buffers[buffer].name, plan.buffers[buffer].bytes});
    addUse(plan, *step, cost, /*times=*/1, out);
    out.work = workOf(plan, *hardware, program->facts());
    return llvm::Error::success();
  }

  CandidateEvaluatorOptions options;
  MLIRContext context;
  std::unique_ptr<PlannedProgram> program;
  std::string unreadable;
  /// The layers of each run.
  SmallVector<size_t> runs;
  /// The text of the last candidate with stages, and its chunks' plans. Its
  /// settings are tried one after the other.
  std::string staged;
  ChunkPlans chunkPlans;
  /// Composed steps, by the text of overlap, subscripts and settings.
  std::map<std::string, Evaluation> composed;
};

} // namespace

EvaluatorFactory
tpsp::candidateEvaluators(const CandidateEvaluatorOptions &options) {
  return [options]() -> std::unique_ptr<Evaluator> {
    return std::make_unique<CandidateEvaluator>(options);
  };
}

llvm::Expected<UndividedProgram>
tpsp::undividedProgram(const CandidateEvaluatorOptions &given,
                       const std::vector<Settings> &settings) {
  CandidateEvaluatorOptions options = given;
  options.program.forgetsPlacements = true;
  options.compile.overlap = "off";
  std::unique_ptr<Evaluator> evaluator = candidateEvaluators(options)();
  UndividedProgram result;
  // The settings without rematerialisation come first, because others are
  // compared with them.
  std::vector<Settings> all = {Settings()};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const Settings &each : all) {
    auto isThis = [&](const Yardstick &known) {
      return known.rematerialize == each.rematerialize;
    };
    if (llvm::any_of(result.yardsticks, isThis))
      continue;
    Candidate candidate;
    candidate.settings.rematerialize = each.rematerialize;
    Evaluation whole = evaluator->evaluate(candidate);
    if (!whole.isLegal())
      return llvm::createStringError(whole.refusal);
    result.stateBytes = whole.memory.state;
    result.yardsticks.push_back({each.rematerialize, whole.memory.saved,
                                 whole.savedByLayers, std::move(whole.work)});
  }
  return result;
}
