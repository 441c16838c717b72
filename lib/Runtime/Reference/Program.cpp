#include "Evaluation.h"
#include "Lifetimes.h"
#include "Preconditions.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

using namespace tpsp::reference;

static bool fits(const Tensor &tensor, const ValueType &type) {
  return tensor.isValid() && tensor.indices == type.indices &&
         tensor.shape == type.shape;
}

//===----------------------------------------------------------------------===//
// Running a program
//===----------------------------------------------------------------------===//

namespace {

/// The values of a program under evaluation.
class Values {
public:
  Values(const Program &program, const std::vector<const Tensor *> &arguments,
         Lifetimes &lifetimes)
      : lifetimes(lifetimes), owned(program.values.size()),
        arguments(arguments.begin(), arguments.begin() + program.arguments) {}

  const Tensor &operator[](size_t number) const {
    return isArgument(number) ? *arguments[number] : owned[number];
  }
  /// Counts one use less, and frees a value that has none left.
  void release(size_t number) {
    if (lifetimes.release(number))
      owned[number] = Tensor();
  }
  void set(size_t number, Tensor value) {
    if (lifetimes.uses(number) > 0)
      owned[number] = std::move(value);
  }
  /// The value, for its last use to take; null if others need it.
  Tensor *expendable(size_t number) {
    return !isArgument(number) && lifetimes.uses(number) == 1 ? &owned[number]
                                                              : nullptr;
  }
  Tensor take(size_t number) {
    if (lifetimes.release(number) && !isArgument(number))
      return std::move(owned[number]);
    return (*this)[number];
  }

private:
  bool isArgument(size_t number) const { return number < arguments.size(); }

  Lifetimes &lifetimes;
  std::vector<Tensor> owned;
  /// Owned by the caller.
  std::vector<const Tensor *> arguments;
};

/// Finds whether an operation makes the first NaN, or the first infinity.
class NotFiniteWatch {
public:
  /// Reads the operands now, because they may be freed later. `found` may be
  /// null.
  NotFiniteWatch(NotFinite *found, const Operands &operands) : found(found) {
    if (!found)
      return;
    seesNaN = !found->nan.isFound() && !any(operands, isNaN);
    seesInfinity = !found->infinity.isFound() && !any(operands, isNotFinite);
  }

  void see(const Tensor &made, const Operation &op, const std::string &of) {
    if (seesNaN && any({&made}, isNaN)) {
      found->nan = {op.name, op.location, of, op.result};
      seesNaN = false;
    }
    if (seesInfinity && any({&made}, isInfinite)) {
      found->infinity = {op.name, op.location, of, op.result};
      seesInfinity = false;
    }
  }

private:
  static bool isNaN(double x) { return std::isnan(x); }
  static bool isInfinite(double x) { return std::isinf(x); }
  static bool isNotFinite(double x) { return !std::isfinite(x); }
  static bool any(const Operands &tensors, bool (*is)(double)) {
    return std::any_of(
        tensors.begin(), tensors.end(), [&](const Tensor *tensor) {
          return std::any_of(tensor->data.begin(), tensor->data.end(), is);
        });
  }

  NotFinite *found;
  bool seesNaN = false, seesInfinity = false;
};

/// Marks the arguments whose gradients ranks or micro-batches add up in another
/// type. Values
/// with the same elements are marked too: views, conversions and multiples of
/// such arguments.
std::vector<bool> findReduced(const Program &program) {
  std::vector<bool> reduced(program.values.size(), false);
  if (!program.reducedIn && !program.summedIn)
    return reduced;
  for (size_t argument : program.reduced)
    reduced[argument] = true;
  for (size_t i = 0; i < program.firstUpdate(); ++i) {
    const Operation &op = program.operations[i];
    if (op.operands.size() == 1 && reduced[op.operands[0]] &&
        !findOperation(op.name).readsOperands)
      reduced[program.arguments + i] = true;
  }
  return reduced;
}

bool isNarrow(Element element) {
  return element == Element::BF16 || element == Element::F16;
}

class Run {
public:
  Run(const Program &program, const std::vector<const Tensor *> &arguments,
      const EvaluationOptions &options)
      : program(program), arguments(arguments), options(options),
        rounder(options), lifetimes(program),
        values(program, arguments, lifetimes), gradients(program.values.size()),
        isReduced(findReduced(program)) {
    if (options.choices)
      for (Choice &choice : *options.choices)
        chosen[choice.value] = &choice;
  }

  /// Returns "", or the problem, beginning with the operation's location.
  std::string forward() { return evaluate(0, program.firstUpdate()); }

  std::string backward() {
    if (program.gradients.empty())
      return "";
    for (size_t i = 0; i < program.cotangents.size(); ++i)
      contribute(program.results[program.cotangents[i]],
                 times(*arguments[program.arguments + i], lossScale()));
    for (size_t i = program.firstUpdate(); i-- > 0;)
      if (std::string problem = differentiate(i); !problem.empty())
        return located(i, problem);
    return "";
  }

  std::string update() {
    return evaluate(program.firstUpdate(), program.operations.size());
  }

  std::vector<Tensor> takeResults() {
    std::vector<Tensor> results;
    for (size_t number : program.results)
      results.push_back(values.take(number));
    if (program.updates == 0)
      for (size_t value : program.gradients)
        results.push_back(takeGradient(value));
    return results;
  }

private:
  /// The factor of gradients during the backward pass. It keeps digits that the
  /// program's types would lose. It changes nothing in f64.
  double lossScale() const {
    if (!rounder.rounds())
      return 1;
    return program.lossScaleArgument < 0
               ? program.lossScale
               : arguments[program.lossScaleArgument]->data.front();
  }

  static Tensor times(Tensor x, double factor) {
    if (factor != 1)
      for (double &element : x.data)
        element *= factor;
    return x;
  }

  Tensor takeGradient(size_t value) {
    const ValueType &type = program.values[value];
    Tensor gradient = std::move(gradients[value]);
    if (!gradient.isValid())
      return full(type.indices, type.shape, 0);
    if (isReduced[value] && rounder.rounds()) {
      if (program.summedIn && isNarrow(type.element))
        addUpParts(*program.summedIn, gradient);
      if (program.reducedIn)
        rounder.round(*program.reducedIn, gradient);
    }
    return times(std::move(gradient), 1 / lossScale());
  }

  /// Rounds a gradient as a sum that is rounded after each micro-batch, as if
  /// these were alike.
  void addUpParts(Element element, Tensor &gradient) const {
    const Tensor part =
        times(gradient, 1 / double(std::max<int64_t>(program.microBatches, 1)));
    gradient = part;
    rounder.round(element, gradient);
    for (int64_t i = 1; i < program.microBatches; ++i) {
      for (size_t at = 0; at < part.data.size(); ++at)
        gradient.data[at] += part.data[at];
      rounder.round(element, gradient);
    }
  }

  std::string evaluate(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (program.isGradient(i)) {
        size_t argument = program.operations[i].operands[0];
        values.release(argument);
        values.set(program.arguments + i, takeGradient(argument));
        report();
      } else if (std::string problem = evaluate(i); !problem.empty()) {
        return located(i, problem);
      }
    }
    return "";
  }

  std::string located(size_t number, const std::string &problem) const {
    const Operation &op = program.operations[number];
    return op.location + ": 'tpsp." + op.name + "' " + problem;
  }

  void report() {
    size_t passes = program.gradients.empty() ? 1 : 2;
    if (options.progress)
      options.progress(++done, passes * program.operations.size());
  }

  Evaluation prepare(const Operation &op, const ValueType &type) const {
    Evaluation evaluation{op, {}, type, rounder, nullptr, ""};
    for (size_t operand : op.operands) {
      evaluation.operands.push_back(&values[operand]);
      evaluation.elements.push_back(program.values[operand].element);
    }
    return evaluation;
  }

  /// The value as the reference computes it, or as the run chose it.
  Tensor valueOf(const OperationRow &row, Evaluation &evaluation,
                 size_t result) {
    auto choice = chosen.find(result);
    if (choice == chosen.end())
      return evaluation.stored(row.evaluate(evaluation));
    choice->second->shortfall = row.judge(evaluation, choice->second->taken);
    return choice->second->taken;
  }

  std::string evaluate(size_t number) {
    const Operation &op = program.operations[number];
    OperationRow row = findOperation(op.name);
    if (!row.evaluate)
      return "has no evaluation in the reference";
    if (op.operands.size() < row.operands)
      return "has " + std::to_string(op.operands.size()) + " operands of " +
             std::to_string(row.operands);
    size_t result = program.arguments + number;
    const ValueType &type = program.values[result];
    Evaluation evaluation = prepare(op, type);
    if (!op.operands.empty())
      evaluation.expendable = values.expendable(op.operands[0]);
    NotFiniteWatch watch(options.notFinite, evaluation.operands);
    Tensor value = valueOf(row, evaluation, result);
    if (!evaluation.error.empty())
      return evaluation.error;
    watch.see(value, op, "result");
    if (!fits(value, type))
      return "was not evaluated to the indices of its type, " +
             toString(type.indices);
    for (size_t operand : op.operands)
      values.release(operand);
    values.set(result, std::move(value));
    report();
    return "";
  }

  /// The gradient of a value, for the last time unless it is a result.
  Tensor gradientOf(size_t value) {
    return lifetimes.isGradientWanted(value) ? gradients[value]
                                             : std::move(gradients[value]);
  }

  std::string differentiate(size_t number) {
    const Operation &op = program.operations[number];
    Tensor gradient = gradientOf(program.arguments + number);
    std::string problem;
    if (lifetimes.isActive(program.arguments + number) && gradient.isValid())
      problem = differentiate(op, program.values[program.arguments + number],
                              gradient);
    if (lifetimes.isReadAgain(number))
      for (size_t operand : op.operands)
        values.release(operand);
    report();
    return problem;
  }

  std::string differentiate(const Operation &op, const ValueType &type,
                            const Tensor &gradient) {
    OperationRow row = findOperation(op.name);
    if (!row.differentiate)
      return "has no gradient in the reference";
    std::vector<const ValueType *> types;
    std::vector<bool> wanted;
    std::vector<std::optional<Element>> partElements;
    for (size_t operand : op.operands) {
      types.push_back(&program.values[operand]);
      wanted.push_back(lifetimes.isActive(operand));
      partElements.push_back(isReduced[operand] ? program.reducedIn
                                                : std::nullopt);
    }
    Evaluation evaluation = prepare(op, type);
    OperandGradients out(evaluation, std::move(types), std::move(wanted),
                         std::move(partElements));
    Operands read = evaluation.operands;
    read.push_back(&gradient);
    NotFiniteWatch watch(options.notFinite, read);
    row.differentiate(evaluation, gradient, out);
    if (!evaluation.error.empty())
      return evaluation.error;
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (out.wanted(i))
        watch.see(out.of(i), op, "gradient of operand " + std::to_string(i));
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (out.wanted(i)) {
        if (!fits(out.of(i), out.type(i)))
          return "has a gradient of operand #" + std::to_string(i) +
                 " that does not fit its type, " +
                 toString(out.type(i).indices);
        contribute(op.operands[i], std::move(out.of(i)));
      }
    return "";
  }

  /// Adds to the gradient of a value.
  void contribute(size_t number, Tensor gradient) {
    if (!lifetimes.isActive(number))
      return;
    Element element = program.values[number].element;
    if (rounder.rounds())
      rounder.round(element, gradient);
    Tensor &sum = gradients[number];
    if (!sum.isValid()) {
      sum = std::move(gradient);
      return;
    }
    for (size_t i = 0; i < sum.data.size(); ++i)
      sum.data[i] += gradient.data[i];
    if (rounder.rounds())
      rounder.round(element, sum);
  }

  const Program &program;
  const std::vector<const Tensor *> &arguments;
  const EvaluationOptions &options;
  const Rounder rounder;
  Lifetimes lifetimes;
  Values values;
  /// The gradient of every value, as far as it has been added up.
  std::vector<Tensor> gradients;
  /// Whether the gradient of each value is one of program.reduced.
  std::vector<bool> isReduced;
  /// Keyed by the number of the value.
  std::unordered_map<size_t, Choice *> chosen;
  size_t done = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks that the numbers of a program refer to something. Returns "", or the
/// problem.
static std::string checkNumbers(const Program &program) {
  if (program.arguments > program.values.size() ||
      program.values.size() - program.arguments != program.operations.size())
    return "the reference program's values do not fit its operations";
  if (program.updates > program.operations.size())
    return "the reference program has more updates than operations";
  for (size_t i = 0; i < program.operations.size(); ++i) {
    if (program.isGradient(i) &&
        (program.operations[i].operands.size() != 1 ||
         program.operations[i].operands[0] >= program.arguments))
      return "operation " + std::to_string(i) +
             " of the reference program is the gradient of no argument";
    for (size_t operand : program.operations[i].operands)
      if (operand >= program.arguments + i)
        return "operation " + std::to_string(i) +
               " of the reference program reads a value that does not exist "
               "yet";
  }
  for (size_t result : program.results)
    if (result >= program.values.size())
      return "a result of the reference program does not exist";
  for (size_t result : program.cotangents)
    if (result >= program.results.size())
      return "a cotangent of the reference program is of no result";
  for (size_t value : program.gradients)
    if (value >= program.values.size())
      return "a gradient of the reference program is of no value";
  return "";
}

const ValueType &tpsp::reference::argumentType(const Program &program,
                                               size_t number) {
  if (number < program.arguments)
    return program.values[number];
  size_t result = program.cotangents[number - program.arguments];
  return program.values[program.results[result]];
}

static std::string checkArguments(const Program &program,
                                  const std::vector<const Tensor *> &given) {
  size_t count = program.arguments + program.cotangents.size();
  if (given.size() != count)
    return "the reference program takes " + std::to_string(count) +
           " arguments, not " + std::to_string(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const ValueType &type = argumentType(program, i);
    if (!fits(*given[i], type))
      return "argument #" + std::to_string(i) +
             " does not have the names and shape of " + toString(type.indices);
  }
  return "";
}

static std::string checkChoices(const Program &program,
                                const std::vector<Choice> &choices) {
  for (const Choice &choice : choices)
    if (!isChoice(program, choice.value) ||
        !fits(choice.taken, program.values[choice.value]))
      return "what the run chose as value " + std::to_string(choice.value) +
             " is no choice of the reference program, or another tensor";
  return "";
}

bool tpsp::reference::isChoice(const Program &program, size_t value) {
  if (value < program.arguments ||
      value - program.arguments >= program.operations.size())
    return false;
  return findOperation(program.operations[value - program.arguments].name)
      .judge;
}

/// Decides by the rates of the operations.
bool tpsp::reference::drops(const Program &program) {
  auto hasRate = [](const Operation &op, const char *name) {
    auto found = op.attributes.find(name);
    const double *rate = found == op.attributes.end()
                             ? nullptr
                             : std::get_if<double>(&found->second);
    return rate && *rate > 0;
  };
  return std::any_of(program.operations.begin(), program.operations.end(),
                     [&](const Operation &op) {
                       return hasRate(op, "rate") || hasRate(op, "dropout");
                     });
}

int64_t tpsp::reference::leastBytes(const Program &program) {
  return checkNumbers(program).empty() ? mostAlive(program) : 0;
}

std::string tpsp::reference::evaluate(
    const Program &program, const std::vector<const Tensor *> &arguments,
    std::vector<Tensor> &results, const EvaluationOptions &options) {
  if (std::string problem = checkNumbers(program); !problem.empty())
    return problem;
  if (std::string problem = checkArguments(program, arguments);
      !problem.empty())
    return problem;
  if (options.choices)
    if (std::string problem = checkChoices(program, *options.choices);
        !problem.empty())
      return problem;
  Run run(program, arguments, options);
  if (std::string problem = run.forward(); !problem.empty())
    return problem;
  if (std::string problem = run.backward(); !problem.empty())
    return problem;
  if (std::string problem = run.update(); !problem.empty())
    return problem;
  results = run.takeResults();
  return "";
}
