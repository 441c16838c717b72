#include "RightValues.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/HostMemory.h"

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

static rt::Status readArguments(const rt::PlanDescription &description,
                                const rt::TensorSource &source,
                                std::vector<reference::Tensor> &out) {
  for (const PlanBuffer &tensor : description.plan->tensors()) {
    if (!tensor.isArgument())
      continue;
    const reference::ValueType &type =
        reference::argumentType(description.reference, out.size());
    std::vector<double> values;
    TPSP_TRY(source.whole(tensor, values));
    out.push_back({type.indices, type.shape, std::move(values)});
  }
  return {};
}

static rt::Status checkMemory(const reference::Program &program) {
  int64_t needed = reference::leastBytes(program);
  int64_t available = rt::availableHostBytes();
  if (available < 0 || needed <= available)
    return {};
  return rt::invalid("the unsharded program in f64 takes at least {:.2f} GiB "
                     "of memory, but {:.2f} GiB are available; check smaller "
                     "shapes (--extent) or fewer layers",
                     rt::gibibytes(needed), rt::gibibytes(available));
}

/// Adds the squares of the differences.
static void addSquares(const std::vector<reference::Tensor> &rounded,
                       double exaggeration, RightValues &out) {
  for (size_t i = 0; i < out.results.size(); ++i) {
    double squares = 0;
    for (size_t k = 0; k < out.results[i].size(); ++k) {
      double off = (rounded[i].data[k] - out.results[i][k]) / exaggeration;
      double square = std::isfinite(off) ? off * off : 0;
      squares += square;
      out.roundings[i][k] += square;
    }
    out.rounding[i] +=
        squares / double(std::max<size_t>(out.results[i].size(), 1));
  }
}

rt::Status
tpsp::check::evaluateReference(const rt::PlanDescription &description,
                               const rt::TensorSource &source, int64_t dtype,
                               RightValues &out) {
  TPSP_TRY(checkMemory(description.reference));
  std::vector<reference::Tensor> arguments, results;
  TPSP_TRY(readArguments(description, source, arguments));
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
  out.rounding.assign(results.size(), 0);
  for (const std::vector<double> &result : out.results)
    out.roundings.emplace_back(result.size(), 0);
  reference::Program stored = storedIn(description.reference, dtype);
  constexpr size_t mostDraws = 3;
  size_t draws = 0;
  for (const reference::EvaluationOptions &options :
       reference::roundings(stored)) {
    if (++draws > mostDraws)
      break;
    problem = reference::evaluate(stored, pointers, results, options);
    if (!problem.empty())
      return {TPSP_RT_INTERNAL, problem};
    addSquares(
        results,
        options.narrowsF64 ? std::ldexp(1.0, reference::digitsOfNarrowing) : 1,
        out);
  }
  for (double &rounding : out.rounding)
    rounding = std::sqrt(rounding / double(std::min(draws, mostDraws)));
  for (std::vector<double> &each : out.roundings)
    for (double &rounding : each)
      rounding = std::sqrt(rounding / double(std::min(draws, mostDraws)));
  return {};
}
