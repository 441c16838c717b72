//===- Roundings.cpp - the evaluations that show a program's rounding -----===//

#include "tpsp/Runtime/ReferenceProgram.h"

#include <algorithm>
#include <map>

using namespace tpsp::reference;

/// Whether all of the program's numbers are f64 or integers.
static bool isOfF64(const Program &program) {
  return std::all_of(program.values.begin(), program.values.end(),
                     [](const ValueType &value) {
                       return value.element == Element::F64 ||
                              value.element == Element::Integer;
                     });
}

/// The product of the extents of all indices of an operation; for an einsum,
/// its number of multiplications.
static double workOf(const Operation &op, size_t result,
                     const Program &program) {
  std::map<std::string, int64_t> extents;
  auto add = [&](size_t value) {
    const ValueType &type = program.values[value];
    for (size_t i = 0; i < type.indices.size(); ++i)
      extents[type.indices[i]] = type.shape[i];
  };
  add(result);
  for (size_t operand : op.operands)
    add(operand);
  double work = 1;
  for (const auto &[name, extent] : extents)
    work *= static_cast<double>(extent);
  return work;
}

static int affordableDraws(const Program &program) {
  constexpr double most = 7, affordable = 5e6;
  double work = 1;
  for (size_t i = 0; i < program.operations.size(); ++i)
    work += workOf(program.operations[i], program.arguments + i, program);
  return static_cast<int>(std::clamp(affordable / work, 1.0, most));
}

std::vector<EvaluationOptions>
tpsp::reference::roundings(const Program &program) {
  EvaluationOptions options;
  options.arithmetic = Arithmetic::Rounded;
  options.narrowsF64 = isOfF64(program);
  std::vector<EvaluationOptions> all;
  uint64_t draws = affordableDraws(program);
  for (options.draw = 0; options.draw <= draws; ++options.draw)
    all.push_back(options);
  return all;
}
