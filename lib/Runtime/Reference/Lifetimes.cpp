#include "Lifetimes.h"

#include "Evaluation.h"

#include <algorithm>

using namespace tpsp::reference;

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

/// Whether each value depends on an argument that wants a gradient.
static std::vector<bool> findActive(const Program &program) {
  std::vector<bool> active(program.values.size(), false);
  for (size_t value : program.gradients)
    active[value] = true;
  for (size_t i = 0; i < program.firstUpdate(); ++i) {
    const Operation &op = program.operations[i];
    size_t result = program.arguments + i;
    if (program.values[result].element == Element::Integer ||
        findOperation(op.name).stopsGradient)
      continue;
    active[result] =
        std::any_of(op.operands.begin(), op.operands.end(),
                    [&](size_t operand) { return bool(active[operand]); });
  }
  return active;
}

Lifetimes::Lifetimes(const Program &program)
    : program(program), active(findActive(program)),
      left(program.values.size(), 0), isWanted(program.values.size(), false) {
  for (size_t value : program.gradients)
    isWanted[value] = true;
  for (size_t i = 0; i < program.operations.size(); ++i)
    for (size_t operand : program.operations[i].operands)
      left[operand] += isReadAgain(i) ? 2 : 1;
  for (size_t result : program.results)
    ++left[result];
}

bool Lifetimes::isReadAgain(size_t operation) const {
  return active[program.arguments + operation] &&
         findOperation(program.operations[operation].name).readsOperands;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

/// Counts the memory of Run (Program.cpp), in the order in which it allocates
/// and frees.
class Count {
public:
  explicit Count(const Program &program)
      : program(program), lifetimes(program),
        hasGradient(program.values.size(), false) {}

  int64_t most() {
    size_t arguments = program.arguments + program.cotangents.size();
    for (size_t i = 0; i < arguments; ++i)
      live += bytes(argumentType(program, i));
    evaluate(0, program.firstUpdate());
    if (!program.gradients.empty())
      differentiate();
    evaluate(program.firstUpdate(), program.operations.size());
    return peak;
  }

private:
  static int64_t bytes(const ValueType &type) {
    return int64_t(sizeof(double)) * elementCount(type.shape);
  }
  int64_t bytes(size_t value) const { return bytes(program.values[value]); }

  void evaluate(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Operation &op = program.operations[i];
      size_t result = program.arguments + i;
      if (program.isGradient(i))
        take(op.operands[0]);
      // A result may take the memory of an operand that nothing else needs.
      bool inPlace = !op.operands.empty() &&
                     op.operands[0] >= program.arguments &&
                     lifetimes.uses(op.operands[0]) == 1 &&
                     bytes(op.operands[0]) == bytes(result);
      reach(inPlace ? 0 : bytes(result));
      if (lifetimes.uses(result) > 0)
        live += bytes(result);
      release(op.operands);
    }
  }

  void differentiate() {
    for (size_t position : program.cotangents)
      contribute(program.results[position]);
    for (size_t i = program.firstUpdate(); i-- > 0;) {
      const Operation &op = program.operations[i];
      size_t result = program.arguments + i;
      bool isOnTheWay = hasGradient[result];
      if (isOnTheWay && lifetimes.isActive(result))
        for (size_t operand : op.operands)
          contribute(operand);
      if (isOnTheWay && !lifetimes.isGradientWanted(result))
        live -= bytes(result);
      if (lifetimes.isReadAgain(i))
        release(op.operands);
    }
  }

  /// The gradient becomes a value of the program.
  void take(size_t argument) {
    if (hasGradient[argument])
      live -= bytes(argument);
    hasGradient[argument] = false;
  }

  void contribute(size_t value) {
    if (!lifetimes.isActive(value))
      return;
    reach(bytes(value));
    if (!hasGradient[value])
      live += bytes(value);
    hasGradient[value] = true;
  }

  void release(const std::vector<size_t> &operands) {
    for (size_t operand : operands)
      // The caller owns the arguments.
      if (lifetimes.release(operand) && operand >= program.arguments)
        live -= bytes(operand);
  }

  /// Records that `more` bytes are needed for a moment.
  void reach(int64_t more) { peak = std::max(peak, live + more); }

  const Program &program;
  Lifetimes lifetimes;
  std::vector<bool> hasGradient;
  int64_t live = 0, peak = 0;
};

} // namespace

int64_t tpsp::reference::mostAlive(const Program &program) {
  return Count(program).most();
}
