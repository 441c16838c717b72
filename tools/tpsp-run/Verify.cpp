#include "Execute.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/HostMemory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::run;

double tpsp::run::toleranceOf(const Plan &plan) {
  // A value has been rounded a few times on its way.
  constexpr double roundings = 5.12;
  double tolerance = 1e-5;
  for (const PlanBuffer &tensor : plan.tensors())
    if (const rt::HalfFloat *half = rt::halfFloat(tensor.dtype))
      tolerance = std::max(tolerance, roundings * half->epsilon);
  return tolerance;
}

/// Which value of the reference a result is, if it is none of its gradients.
/// Results carry their number in the function: the plan lists buffers in the
/// order in which they are made.
static bool isChoice(const PlanBuffer &result,
                     const reference::Program &reference) {
  auto number = static_cast<size_t>(result.resultNumber());
  return number < reference.results.size() &&
         reference::isChoice(reference, reference.results[number]);
}

/// The results; `choices`: those, or those not, that are decided by comparing
/// numbers.
static std::vector<const PlanBuffer *> resultsOf(const Program &program,
                                                 bool choices) {
  std::vector<const PlanBuffer *> results;
  for (const PlanBuffer &tensor : program.plan().tensors())
    if (tensor.resultNumber() >= 0 &&
        isChoice(tensor, program.description.reference) == choices)
      results.push_back(&tensor);
  return results;
}

/// The results of the unsharded program, by number; none where another process
/// has evaluated it.
using Values = std::vector<rt::ExpectedValues>;

/// Whether a result is a parameter for the next step, or its master.
static bool isNewParameter(const PlanBuffer &tensor) {
  return tensor.kind == BufferKind::Parameter || tensor.isMaster;
}

/// Stored in another type, parameters and masters round apart.
static void poolNewParameters(const std::vector<const PlanBuffer *> &results,
                              double tolerance,
                              std::vector<rt::TensorError> &errors) {
  std::map<int64_t, std::vector<rt::TensorError *>> byType;
  for (size_t i = 0; i < results.size(); ++i)
    if (isNewParameter(*results[i]))
      byType[results[i]->dtype].push_back(&errors[i]);
  for (const auto &[type, pool] : byType)
    rt::poolRounding(pool, tolerance);
}

/// Compares the results with their whole values.
static rt::Status compareResults(const Program &program, rt::World &world,
                                 const Values &values,
                                 std::vector<rt::TensorError> &errors) {
  static const rt::ExpectedValues none;
  double tolerance = toleranceOf(program.plan());
  std::vector<const PlanBuffer *> results = resultsOf(program, false);
  for (const PlanBuffer *tensor : results) {
    rt::TensorError error;
    TPSP_TRY(rt::compareTensor(world, program.plan(), *tensor,
                               values.empty() ? none
                                              : values[tensor->resultNumber()],
                               tolerance, error));
    errors.push_back(error);
  }
  poolNewParameters(results, tolerance, errors);
  rt::rescaleZeros(errors, tolerance);
  return {};
}

/// What the run decided by comparing numbers.
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

/// A choice is as wrong as it falls short of the best; but where ranks that
/// hold the same differ, nothing is right.
static rt::Status compareChoices(const Program &program, rt::World &world,
                                 const std::vector<reference::Choice> &choices,
                                 std::vector<rt::TensorError> &errors) {
  auto results = resultsOf(program, true);
  for (size_t i = 0; i < results.size(); ++i) {
    rt::TensorError error;
    TPSP_TRY(rt::compareTensor(world, program.plan(), *results[i],
                               {choices[i].taken.data, {}},
                               toleranceOf(program.plan()), error));
    error.relative = error.maxAbsolute > 0 ? 1 : choices[i].shortfall;
    errors.push_back(error);
  }
  return {};
}

/// The arguments, whole, in the order of the program.
static rt::Status wholeArguments(const Program &program,
                                 const rt::TensorSource &source,
                                 std::vector<reference::Tensor> &out) {
  for (const PlanBuffer &tensor : program.plan().tensors()) {
    if (!tensor.isArgument())
      continue;
    const reference::ValueType &type =
        reference::argumentType(program.description.reference, out.size());
    std::vector<double> values;
    TPSP_TRY(source.whole(tensor, values));
    out.push_back({type.indices, type.shape, std::move(values)});
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
    rt::Status status = wholeArguments(program, source, arguments);
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

  /// The results of the last of `steps` steps, each of what the one before has
  /// updated. Without an update no other step matters.
  rt::Status evaluate(reference::Arithmetic arithmetic, int steps,
                      std::vector<reference::Choice> &choices,
                      std::vector<reference::Tensor> &results) {
    bool updates = program.updates > 0;
    std::vector<reference::Tensor> begin;
    if (updates && steps > 1)
      begin = arguments;
    int last = steps - 1, first = updates ? 0 : last;
    advance(first);
    for (int step = first; step <= last; ++step) {
      if (step > first)
        update(results);
      // Known of the last step alone.
      TPSP_TRY(
          evaluate(arithmetic, step == last ? &choices : nullptr, results));
    }
    if (begin.empty())
      advance(-first);
    else
      std::move(begin.begin(), begin.end(), arguments.begin());
    return {};
  }

  /// Whether any value is of a type that rounds.
  bool rounds() const {
    return std::any_of(program.values.begin(), program.values.end(),
                       [](const reference::ValueType &type) {
                         return type.element != reference::Element::F64 &&
                                type.element != reference::Element::Integer;
                       });
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

  /// One step's results, with the run's choices, which are then judged.
  rt::Status evaluate(reference::Arithmetic arithmetic,
                      std::vector<reference::Choice> *choices,
                      std::vector<reference::Tensor> &results) {
    reference::EvaluationOptions options;
    options.arithmetic = arithmetic;
    options.choices = choices;
    options.progress = [&](size_t done, size_t total) {
      progress.detail(fmt::format("{}/{}", done, total));
    };
    std::string problem =
        reference::evaluate(program, pointers, results, options);
    return problem.empty() ? rt::Status()
                           : rt::Status{TPSP_RT_INTERNAL, problem};
  }

  const reference::Program &program;
  Progress &progress;
  std::vector<reference::Tensor> arguments;
  std::vector<const reference::Tensor *> pointers;
  /// Of each argument the result that takes its place; -1: none.
  std::vector<int64_t> updatedBy;
  /// Which arguments are the number of the step.
  std::vector<size_t> stepNumbers;
};

} // namespace

/// The unsharded program's results, with the run's choices.
static rt::Status evaluate(const Program &program,
                           const rt::TensorSource &source, int steps,
                           Progress &progress,
                           std::vector<reference::Choice> &choices,
                           Values &values) {
  Reference reference(program, progress);
  TPSP_TRY(reference.readArguments(program, source));
  progress.phase("reference in f64");
  std::vector<reference::Tensor> exact, rounded;
  TPSP_TRY(
      reference.evaluate(reference::Arithmetic::Exact, steps, choices, exact));
  if (reference.rounds()) {
    progress.phase("reference, rounded");
    // How good the choices are has been said.
    std::vector<reference::Choice> same = choices;
    TPSP_TRY(reference.evaluate(reference::Arithmetic::Rounded, steps, same,
                                rounded));
  }
  for (size_t i = 0; i < exact.size(); ++i) {
    values.push_back({std::move(exact[i].data), {}});
    if (!rounded.empty())
      values.back().rounded = std::move(rounded[i].data);
  }
  return {};
}

rt::Status tpsp::run::checkReferenceMemory(const Program &program) {
  int64_t needed = reference::leastBytes(program.description.reference);
  int64_t available = rt::availableHostBytes();
  if (available < 0 || needed <= available)
    return {};
  return {TPSP_RT_INVALID,
          fmt::format("--verify evaluates the unsharded program in f64, which "
                      "takes at least {:.2f} GiB of memory, but {:.2f} GiB are "
                      "available; use smaller shapes (--extent)",
                      rt::gibibytes(needed), rt::gibibytes(available))};
}

rt::Status tpsp::run::verify(const Program &program,
                             const rt::TensorSource &source, int steps,
                             rt::World &world, Progress &progress,
                             std::vector<rt::TensorError> &errors) {
  std::vector<reference::Choice> choices;
  TPSP_TRY(takenChoices(program, world, choices));
  Values values;
  if (world.hasFirstRank())
    TPSP_TRY(evaluate(program, source, steps, progress, choices, values));
  progress.phase("comparing");
  TPSP_TRY(compareResults(program, world, values, errors));
  return compareChoices(program, world, choices, errors);
}
