#include "Recognise.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

Uses::Uses(Program &program)
    : program(program), makers(program.values.size(), -1),
      counts(program.values.size(), 0), users(program.values.size(), -1),
      arguments(program.values.size(), -1) {
  for (size_t i = 0; i < program.operations.size(); ++i) {
    makers[program.operations[i].result] = static_cast<int>(i);
    for (ValueId operand : program.operations[i].operands) {
      ++counts[operand];
      users[operand] = static_cast<int>(i);
    }
  }
  for (const ProgramResult &result : program.results)
    ++counts[result.value];
  for (size_t i = 0; i < program.arguments.size(); ++i)
    arguments[program.arguments[i].value] = static_cast<int>(i);
}

Operation *Uses::maker(ValueId value) const {
  return makers[value] < 0 ? nullptr : &program.operations[makers[value]];
}

Operation *Uses::maker(ValueId value, const char *name) const {
  Operation *found = maker(value);
  return found && found->name == name ? found : nullptr;
}

Operation *Uses::only(ValueId value, const char *name) const {
  return counts[value] == 1 ? maker(value, name) : nullptr;
}

Operation *Uses::user(ValueId value) const {
  return counts[value] == 1 && users[value] >= 0
             ? &program.operations[users[value]]
             : nullptr;
}

const ProgramArgument *Uses::constant(ValueId value) const {
  if (arguments[value] < 0)
    return nullptr;
  const ProgramArgument &found = program.arguments[arguments[value]];
  return found.constant ? &found : nullptr;
}

void torch::addInOrderOf(ValueId like, Program &program, Operation operation,
                         std::vector<Operation> &out) {
  AtomList order = program.atoms.leaves(program.values[like].atoms);
  ValueId result = operation.result;
  if (order == program.atoms.leaves(program.values[result].atoms)) {
    out.push_back(std::move(operation));
    return;
  }
  operation.result = static_cast<ValueId>(program.values.size());
  program.values.push_back({order, program.values[result].element});
  Operation transposed = operation;
  transposed.name = "einsum";
  transposed.operands = {operation.result};
  transposed.result = result;
  transposed.attributes.clear();
  out.push_back(std::move(operation));
  out.push_back(std::move(transposed));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static AtomList without(const AtomList &list, const AtomList &others) {
  AtomList rest;
  for (Atom atom : list)
    if (std::find(others.begin(), others.end(), atom) == others.end())
      rest.push_back(atom);
  return rest;
}

static AtomList sorted(AtomList list) {
  std::sort(list.begin(), list.end());
  return list;
}

/// x of x rsqrt(mean(x^2) + eps). Sets `eps`, and the atoms of the mean.
static std::optional<ValueId> normalizedBy(const Program &program,
                                           const Uses &uses, ValueId factor,
                                           double &eps, AtomList &over) {
  const Operation *root = uses.only(factor, "rsqrt");
  const Operation *shift = root ? uses.only(root->operands[0], "shift") : root;
  const Operation *mean = shift ? uses.only(shift->operands[0], "mean") : shift;
  const Operation *square =
      mean ? uses.only(mean->operands[0], "square") : mean;
  if (!square)
    return {};
  auto atoms = [&](ValueId value) {
    return program.atoms.leaves(program.values[value].atoms);
  };
  eps = std::get<double>(shift->attributes.at("by"));
  over = without(atoms(square->result), atoms(mean->result));
  return square->operands[0];
}

/// x of x / sqrt(mean(x^2) + eps), which is this product. In 16 bits x is
/// converted to f32 first, and the product back.
static std::optional<ValueId> normalized(const Program &program,
                                         const Uses &uses, ValueId product,
                                         double &eps, AtomList &over) {
  auto element = [&](ValueId value) { return program.values[value].element; };
  const Operation *back = uses.only(product, "convert");
  const Operation *inner = uses.only(back ? back->operands[0] : product, "mul");
  if (!inner)
    return {};
  for (int which : {0, 1}) {
    ValueId x = inner->operands[which];
    std::optional<ValueId> found =
        normalizedBy(program, uses, inner->operands[1 - which], eps, over);
    if (!found || *found != x)
      continue;
    if (!back)
      return x;
    const Operation *there = uses.maker(x, "convert");
    if (there && element(there->operands[0]) == element(product))
      return there->operands[0];
  }
  return {};
}

/// Whether the product is one with the gain of a norm, which it becomes.
static bool recogniseNorm(const Program &program, const Uses &uses,
                          Operation &last) {
  if (last.name != "mul")
    return false;
  for (int side : {0, 1}) {
    ValueId gain = last.operands[1 - side];
    double eps = 0;
    AtomList over;
    std::optional<ValueId> x =
        normalized(program, uses, last.operands[side], eps, over);
    AtomList ofGain = program.atoms.leaves(program.values[gain].atoms);
    if (!x || sorted(ofGain) != sorted(over) || over.empty() ||
        program.values[*x].element != program.values[gain].element)
      continue;
    last.name = "rms_norm";
    last.operands = {*x, gain};
    last.attributes = {{"eps", eps}};
    return true;
  }
  return false;
}

/// A norm in f32 of converted operands, which is converted back, computes the
/// norm of the operands: numbers of 16 bits are computed in f32.
static bool narrowNorm(const Program &program, const Uses &uses,
                       Operation &last) {
  if (last.name != "convert")
    return false;
  auto element = [&](ValueId value) { return program.values[value].element; };
  const Operation *norm = uses.only(last.operands[0], "rms_norm");
  norm = norm ? norm : uses.only(last.operands[0], "layer_norm");
  if (!norm || element(norm->result) != "f32")
    return false;
  std::vector<ValueId> operands;
  for (ValueId operand : norm->operands) {
    const Operation *convert = uses.maker(operand, "convert");
    if (!convert || element(convert->operands[0]) != element(last.result))
      return false;
    operands.push_back(convert->operands[0]);
  }
  last.name = norm->name;
  last.attributes = norm->attributes;
  last.operands = std::move(operands);
  return true;
}

/// Rewrites each operation that `rewrites` changes.
template <typename Rewrite>
static void rewriteNorms(Program &program, Rewrite rewrites) {
  Uses uses(program);
  std::vector<Operation> operations;
  for (Operation operation : program.operations)
    if (rewrites(program, uses, operation))
      addInOrderOf(operation.operands[0], program, operation, operations);
    else
      operations.push_back(std::move(operation));
  program.operations = std::move(operations);
}

void torch::recogniseNorms(Program &program) {
  rewriteNorms(program, recogniseNorm);
  rewriteNorms(program, narrowNorm);
}
