#include "Simplify.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

void torch::removeDead(Program &program) {
  std::vector<bool> isUsed(program.values.size());
  for (const ProgramResult &result : program.results)
    isUsed[result.value] = true;
  std::vector<Operation> kept;
  for (auto it = program.operations.rbegin(); it != program.operations.rend();
       ++it) {
    if (!isUsed[it->result])
      continue;
    for (ValueId operand : it->operands)
      isUsed[operand] = true;
    kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  program.operations = std::move(kept);
  auto isUnused = [&](const ProgramArgument &argument) {
    return !isUsed[argument.value] &&
           (argument.constant ||
            argument.kind == ProgramArgument::Kind::Parameter);
  };
  program.arguments.erase(std::remove_if(program.arguments.begin(),
                                         program.arguments.end(), isUnused),
                          program.arguments.end());
}

/// The operand of a stack that `one` takes out of it, or nothing.
static std::optional<ValueId>
takenPart(const Program &program, const Operation &one,
          const std::map<ValueId, const Operation *> &stacks) {
  if (one.name != "take")
    return {};
  auto found = stacks.find(one.operands[0]);
  if (found == stacks.end())
    return {};
  auto leaves = [&](const Attributes &attributes) {
    return program.atoms.leaves(
        std::get<IndexAttribute>(attributes.at("index")).atoms);
  };
  const Operation &stack = *found->second;
  if (leaves(one.attributes) != leaves(stack.attributes))
    return {};
  ValueId part = stack.operands.at(std::get<int64_t>(one.attributes.at("at")));
  if (program.atoms.leaves(program.values[part].atoms) !=
      program.atoms.leaves(program.values[one.result].atoms))
    return {};
  return part;
}

void torch::removeTakenParts(Program &program) {
  std::map<ValueId, const Operation *> stacks;
  std::map<ValueId, ValueId> parts;
  auto replace = [&](ValueId &value) {
    if (auto found = parts.find(value); found != parts.end())
      value = found->second;
  };
  for (Operation &one : program.operations) {
    for (ValueId &operand : one.operands)
      replace(operand);
    if (one.name == "stack")
      stacks[one.result] = &one;
    if (std::optional<ValueId> part = takenPart(program, one, stacks))
      parts[one.result] = *part;
  }
  for (ProgramResult &result : program.results)
    replace(result.value);
}

/// Operations whose result has a written order, whatever that of the operands.
static bool takesAnyOrder(const std::string &operation) {
  static const std::set<std::string> names = {
      "add",  "attention", "compare", "cos",    "div",    "einsum", "exp",
      "gelu", "gelu_erf",  "log",     "max",    "mean",   "mul",    "neg",
      "relu", "reduce",    "rsqrt",   "scale",  "select", "shift",  "sigmoid",
      "silu", "sin",       "sqrt",    "square", "sub",    "tanh"};
  return names.count(operation) > 0;
}

static bool isTransposition(const Program &program, const Operation &one) {
  if (one.name != "einsum" || one.operands.size() != 1)
    return false;
  AtomList from = program.atoms.leaves(program.values[one.operands[0]].atoms),
           to = program.atoms.leaves(program.values[one.result].atoms);
  return std::set<Atom>(from.begin(), from.end()) ==
         std::set<Atom>(to.begin(), to.end());
}

void torch::removeTranspositions(Program &program) {
  std::map<ValueId, ValueId> operands;
  for (const Operation &one : program.operations)
    if (isTransposition(program, one)) {
      auto found = operands.find(one.operands[0]);
      operands[one.result] =
          found == operands.end() ? one.operands[0] : found->second;
    }
  for (Operation &one : program.operations)
    if (takesAnyOrder(one.name))
      for (ValueId &operand : one.operands)
        if (auto found = operands.find(operand); found != operands.end())
          operand = found->second;
}
