#include "Trial.h"

#include "Execution.h"
#include "Judgement.h"
#include "WrongAdjoint.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::property;

using Tensors = std::vector<reference::Tensor>;

//===----------------------------------------------------------------------===//
// Outcomes
//===----------------------------------------------------------------------===//

std::string Outcome::signature() const {
  std::string kind;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\'' || c == '[' || c == ']') {
      quoted = c == '\'' ? !quoted : c == '[';
      kind += c;
      continue;
    }
    if (quoted)
      continue;
    bool name = c == '@' || c == '%';
    if (!name && !llvm::isDigit(c)) {
      kind += c;
      continue;
    }
    kind += name ? c : 'N';
    while (i + 1 < text.size() &&
           (llvm::isDigit(text[i + 1]) || text[i + 1] == '.' ||
            text[i + 1] == '-' ||
            (name && (llvm::isAlnum(text[i + 1]) || text[i + 1] == '_'))))
      ++i;
  }
  return kind;
}

static Outcome failed(const std::string &text) {
  return {Outcome::Failed, text};
}

namespace {

/// The errors that a context emits.
class Errors {
public:
  explicit Errors(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          ++count;
          hasPlaces &= !isa<UnknownLoc>(diagnostic.getLocation());
          if (text.empty())
            text = diagnostic.str();
          return success();
        }) {}

  unsigned count = 0;
  bool hasPlaces = true;
  /// The first error.
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

} // namespace

/// Whether the message says that the program cannot be cut into micro-batches.
static bool isRefusalToCut(const Program &program, StringRef message) {
  return program.pipeline.microBatches > 1 &&
         (message.contains("micro-batch") ||
          message.contains("masks by positions along") ||
          message.contains("returns or changes a part of the batch") ||
          message.contains("stages cannot divide these") ||
          message.contains("computes with positions along"));
}

/// Whether the message says that an index cannot be padded.
static bool isRefusalToPad(const Program &program, StringRef message) {
  auto says = [&](StringRef part) { return message.contains(part); };
  return !program.pipeline.pad.empty() &&
         (says("is padded") || says("would have") || says("no multiple of") ||
          says("do not divide"));
}

/// Whether a pass may refuse a valid program with this message. Any other
/// message is an error of the compiler.
static bool isRefusal(const Program &program, StringRef message) {
  static constexpr StringLiteral known[] = {
      "is on different indices of its operands",
      "is not placed",
      "has no gradient",
      "has no legal compute placement",
      // Said of arguments that nothing uses; for others the verifiers say it
      // first.
      "do not divide",
      "which the mesh does not have",
      "the module has no mesh",
  };
  return isRefusalToCut(program, message) || isRefusalToPad(program, message) ||
         llvm::any_of(known,
                      [&](StringRef part) { return message.contains(part); });
}

/// Judges a program that was not compiled.
static Outcome judgeRefusal(const Program &program, const Errors &errors,
                            StringRef phase) {
  std::string text = errors.text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (errors.count == 0)
    return failed("refused without a diagnostic while " + phase.str());
  if (!errors.hasPlaces)
    return failed("refused without a location: " + text);
  bool mayRefuse = phase == "parsing" || phase == "configuring" ||
                   phase == "checking" || phase == "placing" ||
                   phase == "differentiating" ||
                   phase == "inserting collectives";
  if (!mayRefuse || (phase != "parsing" && !isRefusal(program, text)))
    return failed("the compiler failed while " + phase.str() + ": " + text);
  // Without a role a sum whose index only one operand divides is ambiguous.
  if (isRefusalToCut(program, text) || isRefusalToPad(program, text))
    return {Outcome::Refused, text};
  bool isOpen = text.find(" op sums over '") != std::string::npos &&
                text.find("give the axis a role") != std::string::npos;
  // The placements of a composite's parts may be ambiguous, too.
  isOpen |=
      (program.hasHiddenValues() || !program.pipeline.pad.empty()) &&
      text.find("is on different indices of its operands") != std::string::npos;
  if (program.expectation == Expectation::Legal && !isOpen)
    return failed("a legal program was refused: " + text);
  if (program.expectation == Expectation::Illegal && !isOpen &&
      llvm::none_of(program.messages, [&](const std::string &part) {
        return StringRef(text).contains(part);
      }))
    return failed("refused for another reason than '" +
                  program.messages.front() + "': " + text);
  return {Outcome::Refused, text};
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

static double dot(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Returns random arguments of a compiled program, including cotangents.
static Tensors argumentsOf(const CompiledModel &model, uint64_t seed) {
  Tensors tensors;
  for (const PlanBuffer &tensor : model.plan->tensors()) {
    if (!tensor.isArgument())
      continue;
    const reference::ValueType &type =
        reference::argumentType(model.reference, tensors.size());
    tensors.push_back({type.indices, type.shape, wholeArgument(tensor, seed)});
  }
  return tensors;
}

static std::string evaluate(const reference::Program &program,
                            const Tensors &arguments, Tensors &results,
                            const reference::EvaluationOptions &options = {}) {
  std::vector<const reference::Tensor *> pointers;
  for (const reference::Tensor &argument : arguments)
    pointers.push_back(&argument);
  return reference::evaluate(program, pointers, results, options);
}

namespace {

/// Compares the reference's gradients with finite differences of its values.
/// Each argument is moved along one random direction.
class GradientCheck {
public:
  GradientCheck(const reference::Program &program, const Tensors &arguments,
                const Tensors &results)
      : program(program), forward(program), arguments(arguments),
        results(results) {
    forward.cotangents.clear();
    forward.gradients.clear();
  }

  /// Returns a message about the argument whose gradient is wrong; empty if
  /// none is.
  std::string run() const {
    for (size_t number = 0; number < program.gradients.size(); ++number) {
      std::string problem;
      // A step may cross a kink that a smaller one does not reach.
      for (double step : {1e-5, 1e-6, 3e-5, 1e-7}) {
        problem = compare(number, step);
        if (problem.empty())
          break;
      }
      if (!problem.empty())
        return problem;
    }
    return "";
  }

private:
  /// `number` is the gradient's.
  std::string compare(size_t number, double step) const {
    size_t input = program.gradients[number];
    std::vector<double> direction =
        randomArgument(/*seed=*/77, input, arguments[input].data.size());
    double scale = 0, difference = 0;
    for (double sign : {1.0, -1.0}) {
      Tensors moved(arguments.begin(), arguments.begin() + program.arguments);
      for (size_t i = 0; i < direction.size(); ++i)
        moved[input].data[i] += sign * step * direction[i];
      Tensors values;
      if (std::string problem = evaluate(forward, moved, values);
          !problem.empty())
        return problem;
      for (size_t i = 0; i < program.cotangents.size(); ++i) {
        const std::vector<double> &cotangent =
            arguments[program.arguments + i].data;
        const std::vector<double> &value = values[program.cotangents[i]].data;
        difference += sign * dot(cotangent, value) / (2 * step);
        scale += std::sqrt(dot(cotangent, cotangent) * dot(value, value));
      }
    }
    double gradient =
        dot(results[program.results.size() + number].data, direction);
    double tolerance = 1e-5 * (std::abs(difference) + std::abs(gradient)) +
                       1e-14 * scale / step + 1e-8 * scale;
    if (std::abs(difference - gradient) <= tolerance)
      return "";
    return llvm::formatv("the gradient of argument {0} is {1:e9} along a "
                         "direction, by finite differences {2:e9}",
                         input, gradient, difference);
  }

  const reference::Program &program;
  /// The program without its gradients.
  reference::Program forward;
  const Tensors &arguments, &results;
};

} // namespace

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

static DialectRegistry registry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Trial::Trial() : context(registry(), MLIRContext::Threading::DISABLED) {
  context.printOpOnDiagnostic(false);
}

/// Returns the step without its update.
static reference::Program withoutUpdate(reference::Program program) {
  program.operations.resize(program.operations.size() - program.updates);
  program.values.resize(program.arguments + program.operations.size());
  llvm::erase_if(program.results, [&](size_t result) {
    return result >= program.values.size();
  });
  program.updates = 0;
  return program;
}

static std::string checkGradients(const reference::Program &step,
                                  const Tensors &arguments) {
  reference::Program program = withoutUpdate(step);
  Tensors results;
  if (std::string problem = evaluate(program, arguments, results);
      !problem.empty())
    return problem;
  return GradientCheck(program, arguments, results).run();
}

/// Sets `expected` to the results of the unsharded program, in f64 and rounded.
/// Returns "" or an error in them.
static std::string expectedResults(const CompiledModel &model, uint64_t seed,
                                   std::vector<rt::ExpectedValues> &expected) {
  const reference::Program &program = model.reference;
  Tensors arguments = argumentsOf(model, seed), results;
  std::string problem = evaluate(program, arguments, results);
  for (reference::Tensor &result : results)
    expected.push_back({std::move(result.data), {}});
  for (const reference::EvaluationOptions &options :
       reference::roundings(program)) {
    if (problem.empty())
      problem = evaluate(program, arguments, results, options);
    for (size_t i = 0; problem.empty() && i < results.size(); ++i)
      expected[i].add(results[i].data, options);
  }
  if (!problem.empty())
    return "the reference failed: " + problem;
  return checkGradients(program, arguments);
}

static CompileOptions compileOptions(const Program &program) {
  CompileOptions options;
  options.grad = program.grad;
  for (const auto &[index, multiple] : program.pipeline.pad)
    options.pad.push_back(index + "=" + std::to_string(multiple));
  options.microBatches = program.pipeline.microBatches;
  options.microBatchIndex = program.pipeline.microBatchIndex;
  options.stageSchedule = program.pipeline.stageSchedule;
  options.stagePlacement = program.pipeline.stagePlacement;
  options.rematerialize = program.pipeline.rematerialize;
  options.keepGathered = program.pipeline.keepGathered;
  options.keepMasks = program.pipeline.keepMasks;
  if (program.pipeline.attentionBlock > 0) {
    options.attention = "blocks";
    options.attentionBlock = program.pipeline.attentionBlock;
  } else if (program.pipeline.attentionFused) {
    options.attention = program.pipeline.attentionRing ? "ring" : "fused";
    options.balanceAttention = program.pipeline.balanceAttention;
  }
  options.optimizer = program.grad ? program.pipeline.optimizer : "none";
  options.optimizerAxes = program.pipeline.optimizerAxes;
  options.clip = program.pipeline.clip;
  options.reduceGradients = program.pipeline.reduceGradients;
  options.reduceDtype = program.pipeline.reduceDtype;
  options.gatherParameters = program.pipeline.gatherParameters;
  options.lossScale = program.pipeline.lossScale;
  options.shardReplicated = program.pipeline.shardReplicated;
  options.bucketBytes = program.pipeline.bucketBytes;
  options.overlap = program.pipeline.overlap ? "on" : "off";
  options.hardware = program.pipeline.hardware;
  options.overlapChunks = program.pipeline.overlapChunks;
  options.overlapMemory = program.pipeline.overlapMemory;
  return options;
}

/// A run on several streams, and its results.
struct Trial::Run {
  const Program &program;
  uint64_t seed;
  CodeEffort effort;
  const std::vector<rt::ExpectedValues> &expected;
  const ResultBytes &bytes;
  int64_t arenaBytes;
};

Outcome Trial::runSerial(OwningOpRef<ModuleOp> written, const Run &overlapped) {
  Program program = overlapped.program;
  program.pipeline.overlap = false;
  Errors errors(context);
  auto model = compileModule(std::move(written), "random.mlir",
                             compileOptions(program), [](StringRef) {});
  if (!model) {
    llvm::consumeError(model.takeError());
    return failed("only compiled with overlap; without: " + errors.text);
  }
  // Micro-batches that are not written out need less memory.
  double most = 1 + program.pipeline.overlapMemory;
  if (program.pipeline.microBatches == 1 &&
      double(overlapped.arenaBytes) > most * double(model->plan->arenaBytes))
    return failed("overlap takes " + std::to_string(overlapped.arenaBytes) +
                  " bytes, without it takes " +
                  std::to_string(model->plan->arenaBytes));
  ResultBytes bytes;
  auto compared =
      runAndCompare(*model, overlapped.effort, overlapped.seed,
                    overlapped.expected, toleranceOf(program.element), bytes);
  if (!compared)
    return failed("the run failed without overlap: " +
                  llvm::toString(compared.takeError()));
  // Streams do not change the order of any sum. If a product was cut, the
  // matmul library may sum a tile in another order than the whole, because it
  // chooses by the shape. (Seed 701738.)
  // Micro-batches that are not written out add to zeros, so a -0 is lost.
  constexpr int64_t nothingCut = 1;
  if (program.pipeline.overlapChunks == nothingCut &&
      program.pipeline.microBatches == 1 && bytes != overlapped.bytes)
    return failed(std::string("overlap changes the results"));
  return {Outcome::Agrees, Outcome::overlapped};
}

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

/// If an error is allowed only because of rounding, a run in f64 decides.
Outcome Trial::run(const Program &program, uint64_t seed) {
  Outcome outcome = runOnce(program, seed);
  if (outcome.verdict != Outcome::Agrees ||
      outcome.text != Outcome::losesDigits)
    return outcome;
  Program precise = program;
  precise.element = "f64";
  precise.pipeline.reduceDtype = ""; // it would round to f32
  Outcome decided = runOnce(precise, seed);
  return decided.verdict == Outcome::Agrees ? outcome : decided;
}

/// Axes need not divide an extent that is padded. So a padded program is
/// verified only after leavePaddingOpen().
OwningOpRef<ModuleOp> Trial::parse(const Program &program) {
  ParserConfig config(&context, program.pipeline.pad.empty());
  auto module =
      parseSourceString<ModuleOp>(toText(program), config, "random.mlir");
  if (!module || config.shouldVerifyAfterParse())
    return module;
  leavePaddingOpen(*module);
  return succeeded(verify(*module)) ? std::move(module) : nullptr;
}

Outcome Trial::runOnce(const Program &program, uint64_t seed,
                       const Mistakes &mistakes) {
  Errors errors(context);
  std::string phase = "parsing";
  auto module = parse(program);
  if (!module)
    return judgeRefusal(program, errors, phase);
  OwningOpRef<ModuleOp> written = module->clone();
  CompileOptions options = compileOptions(program);
  options.edit = mistakes.edit;
  auto model = compileModule(std::move(module), "random.mlir", options,
                             [&](StringRef name) { phase = name.str(); });
  if (!model) {
    llvm::consumeError(model.takeError());
    return judgeRefusal(program, errors, phase);
  }
  if (program.expectation == Expectation::Illegal)
    return failed("was compiled, although " + program.kind);
  std::vector<rt::ExpectedValues> expected;
  if (std::string problem = expectedResults(*model, seed, expected);
      !problem.empty())
    return failed(problem);
  // Most programs run once, so their machine code need not be good.
  CodeEffort effort = seed % 4 == 0 ? CodeEffort::Full : CodeEffort::Little;
  ResultBytes bytes;
  double tolerance = toleranceOf(program.element);
  auto compared = runAndCompare(*model, effort, seed, expected, tolerance,
                                bytes, mistakes.planted);
  if (!compared)
    return failed("the run failed: " + llvm::toString(compared.takeError()));
  if (mistakes.errors)
    *mistakes.errors = *compared;
  Outcome outcome = judged(*compared, program.element);
  if (outcome.verdict == Outcome::Agrees && outcome.text.empty() &&
      model->plan->numStreams > 1)
    return runSerial(std::move(written), {program, seed, effort, expected,
                                          bytes, model->plan->arenaBytes});
  return outcome;
}

Outcome Trial::runWithWrongAdjoint(const Program &program, uint64_t seed,
                                   const std::string &mnemonic,
                                   unsigned &planted) {
  planted = 0;
  Mistakes mistakes;
  mistakes.edit = [&](ModuleOp module) {
    planted = tripleAdjoints(module, toText(program), mnemonic);
  };
  return runOnce(program, seed, mistakes);
}

Outcome Trial::runWithPlantedResults(const Program &program, uint64_t seed,
                                     double factor,
                                     std::vector<rt::TensorError> &errors) {
  errors.clear();
  Mistakes mistakes;
  mistakes.planted.factor = factor;
  mistakes.errors = &errors;
  return runOnce(program, seed, mistakes);
}
