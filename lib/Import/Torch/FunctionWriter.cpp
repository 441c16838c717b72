#include "FunctionWriter.h"
#include "Refusal.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

using namespace tpsp::import;
using namespace tpsp::import::torch;

void FunctionWriter::declare(const std::string &name, int64_t extent) {
  if (text.hasExtent(name))
    return;
  text.extent(name, extent);
  if (auto role = names.roleOf(name))
    text.sameRole(name, *role);
}

std::string FunctionWriter::nameOf(Atom leaf) {
  std::string name = names.of(leaf);
  declare(name, program.atoms.extent(leaf));
  return name;
}

std::string FunctionWriter::nameOf(const AtomList &leaves) {
  if (leaves.size() == 1)
    return nameOf(leaves.front());
  std::string name = names.ofMerged(leaves);
  declare(name, program.atoms.extent(leaves));
  return name;
}

Indices FunctionWriter::indicesOf(const AtomList &atoms) {
  Indices indices;
  for (Atom leaf : program.atoms.leaves(atoms))
    indices.push_back(nameOf(leaf));
  return indices;
}

Indices FunctionWriter::declared(const std::vector<AtomList> &dims) {
  Indices indices;
  size_t units = 0;
  for (const AtomList &dim : dims) {
    AtomList leaves = program.atoms.leaves(dim);
    if (!leaves.empty()) {
      indices.push_back(nameOf(leaves));
      continue;
    }
    indices.push_back(names.ofUnit(++units));
    text.extent(indices.back(), 1);
  }
  return indices;
}

std::string torch::identifier(const std::string &name) {
  std::string word;
  for (char one : name)
    word += std::isalnum(static_cast<unsigned char>(one)) ? one : '_';
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])))
    word = "p" + word;
  return word;
}

/// "q_proj" of "self_attn.q_proj.weight", and "q_proj_bias" of its bias.
static std::string shortName(const std::string &stored) {
  std::string name = stored;
  static const std::string weight = ".weight";
  if (name.size() > weight.size() &&
      name.compare(name.size() - weight.size(), weight.size(), weight) == 0)
    name.erase(name.size() - weight.size());
  size_t last = name.rfind('.');
  if (last != std::string::npos && name.compare(last, 5, ".bias") == 0)
    last = last == 0 ? last : name.rfind('.', last - 1);
  return identifier(last == std::string::npos ? name : name.substr(last + 1));
}

Value FunctionWriter::undeclared(Value value, const ProgramArgument &argument) {
  Indices units, whole;
  for (size_t i = 0; i < argument.dims.size(); ++i)
    (program.atoms.leaves(argument.dims[i]).empty() ? units : whole)
        .push_back(value.type.indices[i]);
  std::string name = value.name.substr(1);
  Type type = value.type;
  type.where = Where::Open;
  Indices left = value.type.indices;
  for (const std::string &unit : units) {
    left.erase(std::find(left.begin(), left.end(), unit));
    type.indices = left;
    value = function.apply("take", {value}, name, type,
                           fmt::format("at = 0, index = \"{}\"", unit));
  }
  AtomList atoms;
  for (const AtomList &dim : argument.dims)
    atoms.insert(atoms.end(), dim.begin(), dim.end());
  type.indices = indicesOf(atoms);
  if (type.indices != left)
    value = function.apply("split", {value}, name, type);
  return value;
}

std::string FunctionWriter::distinct(const std::string &name) const {
  bool isTaken = std::any_of(program.results.begin(), program.results.end(),
                             [&](const auto &one) { return one.name == name; });
  return isTaken ? name + "_" : name;
}

bool FunctionWriter::isPlaceable(const Type &type) const {
  std::set<std::string> axes;
  for (const std::string &index : type.indices)
    for (const PlacedAxis &axis : text.axesOf(type, index))
      if (!axes.insert(axis.name).second)
        return false;
  return true;
}

void FunctionWriter::parameter(const ProgramArgument &argument,
                               const std::string &prefix) {
  std::string stored = argument.stored.substr(prefix.size());
  Type type{declared(argument.dims), elementOf(argument.type),
            Where::Parameter};
  if (!isPlaceable(type))
    type.where = Where::Tokens;
  Value value = function.parameter(distinct(shortName(stored)), stored, type,
                                   argument.isFrozen ? "{tpsp.frozen}" : "");
  set(argument.value, undeclared(value, argument));
}

void FunctionWriter::input(const ProgramArgument &argument) {
  bool isInteger = !isFloating(argument.type);
  Type type{declared(argument.dims), elementOf(argument.type),
            isInteger && !argument.constant ? Where::Tokens
            : argument.constant             ? Where::Parameter
                                            : Where::Activation};
  std::string attributes = argument.isFrozen ? "{tpsp.frozen}" : "";
  std::string name = distinct(identifier(argument.stored));
  if (name != argument.stored)
    attributes = fmt::format("{{tpsp.name = \"{}\"{}}}", argument.stored,
                             argument.isFrozen ? ", tpsp.frozen" : "");
  set(argument.value,
      undeclared(function.argument(name, type, attributes), argument));
}

void FunctionWriter::operand(ValueId value, const std::string &name,
                             Where where) {
  const ProgramValue &about = program.values[value];
  set(value,
      function.argument(name, {indicesOf(about.atoms), about.element, where}));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static std::string numberText(double number) {
  // The notation has no infinities.
  if (std::isinf(number))
    number = number < 0 ? -std::numeric_limits<float>::max()
                        : std::numeric_limits<float>::max();
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string FunctionWriter::quoted(const IndexAttribute &index) {
  std::string name = nameOf(program.atoms.leaves(index.atoms));
  return fmt::format(index.isList ? "[\"{}\"]" : "\"{}\"", name);
}

std::string FunctionWriter::attributesOf(const Operation &operation) {
  std::vector<std::string> words;
  for (const auto &[name, attribute] : operation.attributes) {
    if (std::holds_alternative<bool>(attribute)) {
      words.push_back(name);
      continue;
    }
    std::string value;
    if (const auto *number = std::get_if<double>(&attribute))
      value = numberText(*number);
    else if (const auto *integer = std::get_if<int64_t>(&attribute))
      value = std::to_string(*integer);
    else if (const auto *word = std::get_if<std::string>(&attribute))
      value = "\"" + *word + "\"";
    else
      value = quoted(std::get<IndexAttribute>(attribute));
    words.push_back(name + " = " + value);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The indices with a run of them replaced by one.
static Indices replaced(const Indices &indices, const Indices &run,
                        const std::string &by) {
  Indices out = indices;
  auto begin = std::search(out.begin(), out.end(), run.begin(), run.end());
  if (begin == out.end())
    return out;
  begin = out.erase(begin, begin + static_cast<int64_t>(run.size()));
  out.insert(begin, by);
  return out;
}

Value FunctionWriter::merged(const Value &value, const AtomList &leaves) {
  Type type = value.type;
  type.where = Where::Open;
  type.indices = replaced(type.indices, indicesOf(leaves), nameOf(leaves));
  if (type.indices == value.type.indices)
    return value;
  nameOf(leaves);
  return function.apply("merge", {value}, value.name.substr(1), type);
}

/// The innermost module's name, for a value.
static std::string moduleName(const Operation &operation) {
  if (operation.modules.empty() || operation.modules.back().empty())
    return operation.name;
  const std::string &path = operation.modules.back();
  std::string last = path.substr(path.rfind('.') + 1);
  bool isNumber = std::all_of(last.begin(), last.end(), [](unsigned char one) {
    return std::isdigit(one);
  });
  return isNumber ? operation.name : identifier(last);
}

bool FunctionWriter::isPlain(const std::vector<AtomList> &dims) const {
  return std::all_of(dims.begin(), dims.end(), [&](const AtomList &dim) {
    return program.atoms.leaves(dim).size() == 1;
  });
}

std::string FunctionWriter::valueName(const Operation &operation) {
  auto result = std::find_if(
      program.results.begin(), program.results.end(),
      [&](const auto &one) { return one.value == operation.result; });
  if (result != program.results.end() && isPlain(result->dims))
    return result->name;
  return distinct(moduleName(operation));
}

std::set<std::string> FunctionWriter::axesOf(Type type, Where where) const {
  type.where = where;
  std::set<std::string> axes;
  for (const std::string &index : type.indices)
    for (const PlacedAxis &axis : text.axesOf(type, index))
      axes.insert(axis.name);
  return axes;
}

bool FunctionWriter::isAmbiguous(const Type &type) const {
  std::set<std::string> axes = axesOf(type, Where::Parameter);
  for (const std::string &axis : axesOf(type, Where::Tokens))
    if (axes.count(axis) > 0)
      return true;
  return false;
}

void FunctionWriter::operation(const Operation &operation) {
  std::vector<Value> operands;
  for (ValueId operand : operation.operands)
    operands.push_back(at(operand));
  const ProgramValue &about = program.values[operation.result];
  Type type{indicesOf(about.atoms), about.element, Where::Open};
  Indices whole = type.indices;
  // An index that was split since is merged for the operation.
  std::vector<AtomList> blocks;
  for (const auto &[name, attribute] : operation.attributes)
    if (const auto *index = std::get_if<IndexAttribute>(&attribute))
      blocks.push_back(program.atoms.leaves(index->atoms));
  for (Atom atom : operation.blocks)
    blocks.push_back(program.atoms.leaves(atom));
  for (const AtomList &leaves : blocks) {
    if (leaves.size() < 2)
      continue;
    for (Value &operand : operands)
      operand = merged(operand, leaves);
    type.indices = replaced(type.indices, indicesOf(leaves), nameOf(leaves));
  }
  if (operation.name == "broadcast" && isAmbiguous(type))
    type.where = Where::Tokens;
  Value value = function.apply(operation.name, operands, valueName(operation),
                               type, attributesOf(operation));
  if (type.indices != whole) {
    type.where = Where::Open;
    type.indices = whole;
    value = function.apply("split", {value}, valueName(operation), type);
  }
  set(operation.result, value);
}

Value FunctionWriter::result(ValueId value, const std::vector<AtomList> &dims,
                             const std::string &name) {
  Value written = at(value);
  Type type = written.type;
  type.where = Where::Open;
  type.indices = declared(dims);
  Indices flat, joined;
  for (const AtomList &dim : dims) {
    AtomList leaves = program.atoms.leaves(dim);
    for (Atom leaf : leaves)
      flat.push_back(nameOf(leaf));
    if (!leaves.empty())
      joined.push_back(nameOf(leaves));
  }
  if (joined != flat)
    written = function.apply("merge", {written}, name,
                             {joined, type.element, Where::Open});
  if (type.indices != joined)
    written = function.apply("broadcast", {written}, name, type);
  // Two results of one value, and an argument that is a result.
  if (written.name != "%" + name)
    written = function.apply("scale", {written}, name, type, "factor = 1.0");
  return written;
}
