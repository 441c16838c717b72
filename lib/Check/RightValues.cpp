#include "RightValues.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"

#include <cmath>

using namespace tpsp;
using namespace tpsp::check;

static reference::Element elementOf(int64_t dtype) {
  switch (dtype) {
  case TPSP_RT_BF16:
    return reference::Element::BF16;
  case TPSP_RT_F16:
    return reference::Element::F16;
  case TPSP_RT_F64:
    return reference::Element::F64;
  default:
    return reference::Element::F32;
  }
}

/// The same program, which stores all numbers in a type.
static reference::Program storedIn(reference::Program program, int64_t dtype) {
  for (reference::ValueType &value : program.values)
    if (value.element != reference::Element::Integer)
      value.element = elementOf(dtype);
  return program;
}

/// Adds the squares of the differences.
static void addSquares(const std::vector<reference::Tensor> &rounded,
                       double exaggeration, RightValues &out) {
  std::vector<double> &roundedSquares = out.roundedSquares.emplace_back();
  for (size_t i = 0; i < out.results.size(); ++i) {
    double squares = 0, values = 0;
    for (size_t k = 0; k < out.results[i].size(); ++k) {
      double off = (rounded[i].data[k] - out.results[i][k]) / exaggeration;
      double square = std::isfinite(off) ? off * off : 0;
      squares += square;
      double value = out.results[i][k] + (square > 0 ? off : 0);
      values += value * value;
      out.roundings[i][k] += square;
    }
    out.rounding[i].size +=
        squares / double(std::max<size_t>(out.results[i].size(), 1));
    roundedSquares.push_back(values);
  }
}

/// The summands of each result.
static std::vector<Summands> summandsOf(const reference::Program &program) {
  std::vector<Summands> all(program.numResults());
  for (size_t i = 0; i < program.results.size(); ++i) {
    if (program.results[i] < program.arguments)
      continue;
    const reference::Operation &op =
        program.operations[program.results[i] - program.arguments];
    if (op.name != "add")
      continue;
    for (size_t operand : op.operands) {
      if (operand < program.arguments)
        all[i].arguments.push_back(operand);
      for (size_t k = 0; k < program.results.size(); ++k)
        if (program.results[k] == operand)
          all[i].results.push_back(k);
    }
  }
  return all;
}

rt::Status
tpsp::check::evaluateReference(const rt::PlanDescription &description,
                               const rt::TensorSource &source, int64_t dtype,
                               RightValues &out) {
  std::vector<reference::Tensor> arguments, results;
  TPSP_TRY(rt::wholeArguments(description, source, arguments));
  std::vector<const reference::Tensor *> pointers;
  for (const reference::Tensor &argument : arguments)
    pointers.push_back(&argument);
  std::string problem =
      reference::evaluate(description.reference, pointers, results);
  if (!problem.empty())
    return {TPSP_RT_INTERNAL, problem};
  out = {};
  for (reference::Tensor &result : results)
    out.results.push_back(std::move(result.data));
  out.summands = summandsOf(description.reference);
  out.rounding.assign(results.size(), {});
  for (const std::vector<double> &result : out.results)
    out.roundings.emplace_back(result.size(), 0);
  reference::Program stored = storedIn(description.reference, dtype);
  size_t draws = 0;
  for (const reference::EvaluationOptions &options :
       reference::roundings(stored)) {
    ++draws;
    results.clear();
    problem = reference::evaluate(stored, pointers, results, options);
    if (!problem.empty())
      return {TPSP_RT_INTERNAL, problem};
    addSquares(
        results,
        options.narrowsF64 ? std::ldexp(1.0, reference::digitsOfNarrowing) : 1,
        out);
  }
  for (size_t i = 0; draws > 0 && i < out.results.size(); ++i) {
    ResultRounding &rounding = out.rounding[i];
    rounding.size = std::sqrt(rounding.size / double(draws));
    rounding.samples = int64_t(out.results[i].size() * draws);
    for (double &each : out.roundings[i])
      each = std::sqrt(each / double(draws));
  }
  return {};
}
