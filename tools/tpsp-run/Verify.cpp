#include "Execute.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"
#include "tpsp/Runtime/Driver/Tensors/PartialTensor.h"
#include "tpsp/Runtime/HostMemory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

using namespace tpsp;
using namespace tpsp::run;

/// Whether a result is a choice of the reference program; its gradients never
/// are. A result is found by its number in the function, because the plan lists
/// buffers in the order in which they are made.
static bool isChoice(const PlanBuffer &result,
                     const reference::Program &reference) {
  auto number = static_cast<size_t>(result.resultNumber());
  return number < reference.results.size() &&
         reference::isChoice(reference, reference.results[number]);
}

/// Returns the results that are choices, or those that are not.
static std::vector<const PlanBuffer *> resultsOf(const Program &program,
                                                 bool choices) {
  std::vector<const PlanBuffer *> results;
  for (const PlanBuffer &tensor : program.plan().tensors())
    if (tensor.resultNumber() >= 0 &&
        isChoice(tensor, program.description.reference) == choices)
      results.push_back(&tensor);
  return results;
}

/// The results of the unsharded program, by number; empty if another process
/// evaluated it.
using Values = std::vector<rt::ExpectedValues>;

/// Whether a result is a parameter for the next step, or its master.
static bool isNewParameter(const PlanBuffer &tensor) {
  return tensor.kind == BufferKind::Parameter || tensor.isMaster;
}

/// Pools the rounding of all new parameters of one type. Parameters and masters
/// have different types and so different rounding.
static void poolNewParameters(const std::vector<const PlanBuffer *> &results,
                              std::vector<rt::TensorError> &errors) {
  std::map<int64_t, std::vector<rt::TensorError *>> byType;
  for (size_t i = 0; i < results.size(); ++i)
    if (isNewParameter(*results[i]))
      byType[results[i]->dtype].push_back(&errors[i]);
  for (const auto &[type, pool] : byType)
    rt::poolRounding(pool);
}

/// Returns the expected values of a result; none if another process evaluated
/// them.
static const rt::ExpectedValues &expectedOf(const PlanBuffer &tensor,
                                            const Values &values) {
  static const rt::ExpectedValues none;
  return values.empty() ? none : values[tensor.resultNumber()];
}

/// Compares the results that are not choices with the unsharded values.
static rt::Status compareResults(const Program &program, rt::World &world,
                                 const Values &values,
                                 std::vector<rt::TensorError> &errors) {
  std::vector<const PlanBuffer *> results = resultsOf(program, false);
  for (const PlanBuffer *tensor : results) {
    rt::TensorError error;
    TPSP_TRY(rt::compareTensor(world, program.plan(), *tensor,
                               expectedOf(*tensor, values),
                               rt::toleranceOf(tensor->dtype), error));
    errors.push_back(error);
  }
  poolNewParameters(results, errors);
  return {};
}

/// Gathers the choices of the run.
static rt::Status takenChoices(const Program &program, rt::World &world,
                               std::vector<reference::Choice> &choices) {
  const reference::Program &reference = program.description.reference;
  for (const PlanBuffer *tensor : resultsOf(program, true)) {
    reference::Choice choice;
    choice.value = reference.results[tensor->resultNumber()];
    const reference::ValueType &type = reference.values[choice.value];
    choice.taken = {type.indices, type.shape, {}};
    TPSP_TRY(
        rt::gatherTensor(world, program.plan(), *tensor, choice.taken.data));
    choices.push_back(std::move(choice));
  }
  return {};
}

/// Returns the tolerance of the coarsest type that the program stores. A choice
/// may compare numbers that come from any stored value.
static double toleranceOfChoices(const reference::Program &program) {
  double tolerance = rt::toleranceOf(TPSP_RT_F32);
  for (const reference::ValueType &value : program.values) {
    if (value.element == reference::Element::BF16)
      tolerance = std::max(tolerance, rt::toleranceOf(TPSP_RT_BF16));
    if (value.element == reference::Element::F16)
      tolerance = std::max(tolerance, rt::toleranceOf(TPSP_RT_F16));
  }
  return tolerance;
}

/// Compares choices. The error of a choice is by how much it falls short of the
/// best. If replicas on different ranks differ, the error is 1. `rounding`: the
/// errors of the choices that the rounded program makes.
static rt::Status compareChoices(const Program &program, rt::World &world,
                                 const std::vector<reference::Choice> &choices,
                                 const std::vector<double> &rounding,
                                 std::vector<rt::TensorError> &errors) {
  auto results = resultsOf(program, true);
  double tolerance = toleranceOfChoices(program.description.reference);
  for (size_t i = 0; i < results.size(); ++i) {
    rt::TensorError error;
    TPSP_TRY(rt::compareTensor(world, program.plan(), *results[i],
                               {choices[i].taken.data, {}}, tolerance, error));
    // All positions may be 0, which is no sign that only rounding is left.
    error.zeroReference = false;
    error.rounding = rounding[i];
    error.allow();
    error.relative = error.maxAbsolute > 0 ? 1 : choices[i].shortfall;
    errors.push_back(error);
  }
  return {};
}

namespace {

/// The unsharded program with the arguments of a run.
class Reference {
public:
  Reference(const Program &program, Progress &progress)
      : program(program.description.reference), progress(progress) {}

  rt::Status readArguments(const Program &program,
                           const rt::TensorSource &source) {
    rt::Status status =
        rt::wholeArguments(program.description, source, arguments);
    for (const reference::Tensor &argument : arguments)
      pointers.push_back(&argument);
    for (const PlanBuffer &tensor : program.plan().tensors())
      if (tensor.isArgument()) {
        if (tensor.isStepNumber())
          stepNumbers.push_back(updatedBy.size());
        updatedBy.push_back(tensor.updatedBy);
      }
    return status;
  }

  /// Computes the results of the last of `steps` steps. Each step begins with
  /// the arguments that the step before has updated. Without an update only the
  /// last step is evaluated.
  ///
  /// The last step makes `choices`; null: its own, as the others do.
  rt::Status evaluate(reference::EvaluationOptions options, int steps,
                      std::vector<reference::Choice> *choices,
                      std::vector<reference::Tensor> &results) {
    options.progress = [&](size_t done, size_t total) {
      progress.detail(fmt::format("{}/{}", done, total));
    };
    bool updates = program.updates > 0;
    std::vector<reference::Tensor> begin;
    if (updates && steps > 1)
      begin = arguments;
    int last = steps - 1, first = updates ? 0 : last;
    advance(first);
    for (int step = first; step <= last; ++step) {
      if (step > first)
        update(results);
      // The run's choices are known for the last step only.
      options.choices = step == last ? choices : nullptr;
      TPSP_TRY(evaluate(options, results));
    }
    if (begin.empty())
      advance(-first);
    else
      std::move(begin.begin(), begin.end(), arguments.begin());
    return {};
  }

  const reference::Tensor &argument(size_t number) const {
    return arguments[number];
  }

private:
  void update(std::vector<reference::Tensor> &results) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (updatedBy[i] >= 0)
        arguments[i] = std::move(results[updatedBy[i]]);
    advance(1);
  }

  void advance(int steps) {
    for (size_t i : stepNumbers)
      arguments[i].data.front() += steps;
  }

  rt::Status evaluate(const reference::EvaluationOptions &options,
                      std::vector<reference::Tensor> &results) {
    std::string problem =
        reference::evaluate(program, pointers, results, options);
    return problem.empty() ? rt::Status()
                           : rt::Status{TPSP_RT_INTERNAL, problem};
  }

  const reference::Program &program;
  Progress &progress;
  std::vector<reference::Tensor> arguments;
  std::vector<const reference::Tensor *> pointers;
  /// For each argument, the result that replaces it in the next step; -1: none.
  std::vector<int64_t> updatedBy;
  /// The arguments that hold the step number.
  std::vector<size_t> stepNumbers;
};

} // namespace

/// Evaluates the unsharded program with the run's choices, exactly and rounded.
static rt::Status evaluate(const reference::Program &program,
                           Reference &reference, int steps, Progress &progress,
                           std::vector<reference::Choice> &choices,
                           Values &values) {
  progress.phase("reference in f64");
  std::vector<reference::Tensor> results;
  TPSP_TRY(reference.evaluate({}, steps, &choices, results));
  for (reference::Tensor &result : results)
    values.push_back({std::move(result.data), {}});
  for (const reference::EvaluationOptions &options :
       reference::roundings(program)) {
    progress.phase(
        options.draw == 0
            ? std::string("reference, rounded")
            : fmt::format("reference, rounded by chance ({})", options.draw));
    // A copy, so that this evaluation does not change the shortfalls of
    // `choices`.
    std::vector<reference::Choice> same = choices;
    TPSP_TRY(reference.evaluate(options, steps, &same, results));
    for (size_t i = 0; i < results.size(); ++i)
      values[i].add(std::move(results[i].data), options);
  }
  return {};
}

/// Sets `rounding` to the errors of the choices that the rounded program makes,
/// in the program in f64. They are wanted only if a choice of the run is off:
/// after an update a router has other scores, by the rounding of parameters.
static rt::Status
roundingOfChoices(const reference::Program &program, Reference &reference,
                  int steps, Progress &progress,
                  const std::vector<reference::Choice> &choices,
                  std::vector<double> &rounding) {
  double tolerance = toleranceOfChoices(program);
  if (std::all_of(choices.begin(), choices.end(),
                  [&](const reference::Choice &choice) {
                    return choice.shortfall <= tolerance;
                  }))
    return {};
  progress.phase("choices of the reference, rounded");
  reference::EvaluationOptions rounded;
  rounded.arithmetic = reference::Arithmetic::Rounded;
  std::vector<reference::Tensor> results;
  TPSP_TRY(reference.evaluate(rounded, steps, nullptr, results));
  std::vector<reference::Choice> own = choices;
  for (reference::Choice &choice : own) {
    auto number = std::find(program.results.begin(), program.results.end(),
                            choice.value) -
                  program.results.begin();
    choice.taken = results[size_t(number)];
  }
  TPSP_TRY(reference.evaluate({}, steps, &own, results));
  for (size_t i = 0; i < own.size(); ++i)
    rounding[i] = own[i].shortfall;
  return {};
}

/// Adds a line for each argument with numbers that are not finite.
static void findNotFiniteArguments(const Program &program,
                                   const Reference &reference,
                                   std::vector<std::string> &sources) {
  size_t number = 0;
  for (const PlanBuffer &tensor : program.plan().tensors()) {
    if (!tensor.isArgument())
      continue;
    const std::vector<double> &data = reference.argument(number++).data;
    auto count = std::count_if(data.begin(), data.end(),
                               [](double x) { return !std::isfinite(x); });
    if (count > 0)
      sources.push_back(fmt::format("argument {}: {} of {} elements are not "
                                    "finite",
                                    tensor.name, count, data.size()));
  }
}

static void addSource(const reference::NotFinite::Source &source,
                      const char *number, const char *types,
                      std::vector<std::string> &sources) {
  if (source.isFound())
    sources.push_back(fmt::format(
        "unsharded{}: the {} of {}{} at {} is the first {}", types, source.of,
        source.operation,
        source.result.empty() ? "" : fmt::format(" ({})", source.result),
        source.location, number));
}

/// Adds the first operations of the unsharded program that make a number which
/// is not finite. It is evaluated in f64 and, if all is finite, rounded to its
/// types.
static rt::Status findNotFiniteOperations(Reference &reference, int steps,
                                          std::vector<reference::Choice> same,
                                          std::vector<std::string> &sources) {
  for (auto [arithmetic, types] :
       {std::pair(reference::Arithmetic::Exact, " in f64"),
        std::pair(reference::Arithmetic::Rounded, " in its types")}) {
    reference::NotFinite found;
    reference::EvaluationOptions options;
    options.arithmetic = arithmetic;
    options.notFinite = &found;
    std::vector<reference::Tensor> results;
    TPSP_TRY(reference.evaluate(options, steps, &same, results));
    addSource(found.nan, "NaN", types, sources);
    addSource(found.infinity, "infinity", types, sources);
    if (found.nan.isFound() || found.infinity.isFound())
      break;
  }
  return {};
}

/// Returns the reason why a planted mistake is not noticed.
static std::string reasonOf(const rt::TensorError &error) {
  if (error.zeroReference)
    return "the result is zero but for rounding";
  if (error.notFinite > 0)
    return "the result is not finite";
  return fmt::format("rounding allows an error of {:.2g}, and {:.2g} of it in "
                     "size",
                     error.allowed, error.allowedExcess);
}

/// Plants a mistake in every result in turn, on all ranks and on the last rank
/// alone, and records which comparisons notice it.
static rt::Status plantMistakes(const Program &program, rt::World &world,
                                const Values &values,
                                std::vector<rt::PlantedResult> &planted) {
  const Plan &plan = program.plan();
  int64_t last = plan.numRanks() - 1;
  for (const PlanBuffer *tensor : resultsOf(program, false)) {
    bool isHalf = rt::halfFloat(tensor->dtype) != nullptr;
    double factor = isHalf ? 1.05 : 1.01;
    std::string size = isHalf ? "5 %" : "1 %";
    std::vector<std::pair<std::string, int64_t>> places = {{"", -1}};
    if (last > 0 && tensor->pending.empty())
      places.push_back({fmt::format(" on rank {}", last), last});
    for (const auto &[where, rank] : places) {
      rt::TensorError error;
      TPSP_TRY(rt::compareTensor(
          world, plan, *tensor, expectedOf(*tensor, values),
          rt::toleranceOf(tensor->dtype), error, {factor, rank}));
      rt::PlantedResult result;
      result.name = tensor->name;
      result.mistake = size + " too large" + where;
      result.isSeen = !error.passed();
      if (!result.isSeen)
        result.reason = reasonOf(error);
      planted.push_back(std::move(result));
    }
  }
  return {};
}

rt::Status tpsp::run::verify(const Options &options, const Program &program,
                             const rt::TensorSource &source, rt::World &world,
                             Progress &progress, rt::RunReport &report) {
  std::vector<reference::Choice> choices;
  TPSP_TRY(takenChoices(program, world, choices));
  Values values;
  Reference reference(program, progress);
  std::vector<double> rounding(choices.size(), 0);
  if (world.hasFirstRank()) {
    rt::keepFreedMemory();
    TPSP_TRY(reference.readArguments(program, source));
    TPSP_TRY(evaluate(program.description.reference, reference, options.steps,
                      progress, choices, values));
    TPSP_TRY(roundingOfChoices(program.description.reference, reference,
                               options.steps, progress, choices, rounding));
  }
  progress.phase("comparing");
  TPSP_TRY(compareResults(program, world, values, report.errors));
  TPSP_TRY(compareChoices(program, world, choices, rounding, report.errors));
  if (options.verify == "selftest")
    TPSP_TRY(plantMistakes(program, world, values, report.planted));
  if (!world.hasFirstRank() ||
      std::none_of(report.errors.begin(), report.errors.end(),
                   std::mem_fn(&rt::TensorError::hasNotFinite)))
    return {};
  progress.phase("looking for what is not finite");
  findNotFiniteArguments(program, reference, report.notFiniteSources);
  return findNotFiniteOperations(reference, options.steps, choices,
                                 report.notFiniteSources);
}
