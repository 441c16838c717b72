#include "ProgramBuilder.h"

#include <algorithm>

using namespace tpsp::property;

/// Mostly divisible, some odd or prime, some 1.
static constexpr int64_t extents[] = {1, 2, 2, 3, 4, 4, 4,
                                      5, 6, 6, 8, 8, 7, 12};

ProgramBuilder::ProgramBuilder(Random &random, Program &program)
    : random(random), program(program) {
  for (char name = 'a'; name < 'h'; ++name)
    pool.push_back(
        {std::string(1, name), extents[random.below(std::size(extents))], {}});
}

std::optional<ValueId> ProgramBuilder::pick(const Fits &fits) {
  std::vector<ValueId> fitting;
  for (ValueId value = 0; value < program.values.size(); ++value)
    if (!tensor(value).isInteger() && !tensor(value).hides && fits(value))
      fitting.push_back(value);
  if (fitting.empty())
    return std::nullopt;
  // Taking the later of two makes programs deep rather than wide.
  return std::max(random.of(fitting), random.of(fitting));
}

std::optional<ValueId> ProgramBuilder::pick() {
  return pick([](ValueId) { return true; });
}

std::optional<ValueId> ProgramBuilder::pickOther(ValueId first,
                                                 const Fits &fits) {
  return pick([&](ValueId value) {
    const Argument *argument = program.argument(value);
    bool allowed =
        !onlyArguments || value == first ||
        (argument && argument->isParameter && !program.argument(first));
    return allowed && fits(value);
  });
}

static bool sameNames(const std::vector<Dim> &a, const std::vector<Dim> &b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Dim &x, const Dim &y) { return x.name == y.name; });
}

ValueId ProgramBuilder::argument(std::vector<Dim> dims, bool isParameter) {
  for (const Argument &argument : program.arguments) {
    const Tensor &has = tensor(argument.value);
    if (!has.isInteger() && sameNames(has.dims, dims) &&
        argument.isParameter == isParameter && random.chance(0.5))
      return argument.value;
  }
  return newArgument(std::move(dims), isParameter);
}

ValueId ProgramBuilder::integers(std::vector<Dim> dims, int64_t below) {
  for (const Argument &argument : program.arguments) {
    const Tensor &has = tensor(argument.value);
    if (has.below == below && sameNames(has.dims, dims) && random.chance(0.5))
      return argument.value;
  }
  ValueId value = newArgument(std::move(dims), /*isParameter=*/false);
  program.values[value].element = "i32";
  program.values[value].below = below;
  return value;
}

ValueId ProgramBuilder::newArgument(std::vector<Dim> dims, bool isParameter) {
  ValueId value = program.values.size();
  program.values.emplace_back();
  for (Dim &dim : dims)
    dim.axes.clear();
  program.values.back().dims = std::move(dims);
  program.arguments.push_back({value, isParameter});
  ranges.push_back(Range{});
  return value;
}

std::vector<Dim> ProgramBuilder::someIndices(unsigned count) {
  std::vector<Dim> shuffled = pool;
  random.shuffle(shuffled);
  shuffled.resize(std::min<size_t>(count, shuffled.size()));
  while (!isSmall(shuffled))
    shuffled.pop_back();
  return shuffled;
}

Dim ProgramBuilder::freshIndex(int64_t extent) {
  return {"n" + std::to_string(fresh++), extent, {}};
}

std::vector<Dim> ProgramBuilder::together(ValueId a, ValueId b) const {
  std::vector<Dim> dims = tensor(a).dims;
  for (const Dim &dim : tensor(b).dims)
    if (!tensor(a).find(dim.name))
      dims.push_back(dim);
  return dims;
}

bool ProgramBuilder::isSmall(const std::vector<Dim> &dims) const {
  int64_t elements = 1;
  for (const Dim &dim : dims)
    elements *= dim.extent;
  return dims.size() <= 5 && elements <= 1500;
}

ValueId ProgramBuilder::add(const std::string &mnemonic,
                            std::vector<ValueId> operands,
                            std::vector<Dim> dims, Range range,
                            const std::string &attributes) {
  ValueId result = program.values.size();
  program.values.emplace_back();
  for (Dim &dim : dims)
    dim.axes.clear();
  program.values.back().dims = std::move(dims);
  program.operations.push_back(
      {mnemonic, std::move(operands), attributes, result});
  ranges.push_back(range);
  return result;
}

ValueId ProgramBuilder::addIntegers(const std::string &mnemonic,
                                    std::vector<ValueId> operands,
                                    std::vector<Dim> dims, int64_t below,
                                    const std::string &attributes) {
  Range range{double(below), false};
  ValueId result =
      add(mnemonic, std::move(operands), std::move(dims), range, attributes);
  program.values[result].element = "i32";
  return result;
}

ValueId ProgramBuilder::positive(ValueId value) {
  if (range(value).positive)
    return value;
  std::vector<Dim> dims = tensor(value).dims;
  double magnitude = range(value).magnitude;
  ValueId square = add("square", {value}, dims, {magnitude * magnitude, false});
  return add("shift", {square}, dims, {magnitude * magnitude + 0.5, true},
             "{by = 0.5 : f64}");
}

bool ProgramBuilder::canSquare(ValueId value,
                               const std::vector<Dim> &row) const {
  double most = range(value).magnitude * range(value).magnitude;
  for (const Dim &dim : row)
    most *= double(dim.extent);
  return program.element != "f16" || most < 65504;
}
