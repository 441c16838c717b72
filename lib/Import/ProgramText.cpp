#include "ProgramText.h"
#include "tpsp/Abi/InvalidStatus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

using namespace tpsp::import;
using tpsp::rt::invalid;
using tpsp::rt::Status;

/// Longer lines are broken.
static constexpr size_t lineWidth = 100;

int64_t ProgramText::elements(const Indices &indices) const {
  int64_t product = 1;
  for (const std::string &index : indices)
    if (__builtin_mul_overflow(product, sizes.at(index), &product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

/// The number of ranks; INT64_MAX if it overflows.
static int64_t ranksOf(const std::vector<PlacedAxis> &axes) {
  int64_t ranks = 1;
  for (const PlacedAxis &axis : axes)
    if (__builtin_mul_overflow(ranks, axis.size, &ranks))
      return std::numeric_limits<int64_t>::max();
  return ranks;
}

static bool contains(const std::vector<PlacedAxis> &axes,
                     const std::string &name) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const PlacedAxis &axis) { return axis.name == name; });
}

static std::string namesOf(const std::vector<PlacedAxis> &axes) {
  std::string names;
  for (const PlacedAxis &axis : axes)
    names += "@" + axis.name;
  return names;
}

std::vector<PlacedAxis> ProgramText::axesOf(const Type &type,
                                            const std::string &index) const {
  size_t rank = type.indices.size();
  auto role = roles.find(index);
  if (role == roles.end() || type.where != Where::Parameter)
    return strategy.axesOf(type.where, index, rank);
  std::vector<PlacedAxis> axes =
      strategy.axesOf(type.where, role->second, rank);
  if (sizes.at(index) % ranksOf(axes) != 0)
    return {};
  // Indices with their own role come first, then those to the left.
  bool isLeft = true;
  for (const std::string &other : type.indices) {
    isLeft &= other != index;
    bool hasOwn = roles.count(other) == 0;
    if (other == index || !(hasOwn || isLeft))
      continue;
    for (const PlacedAxis &axis : axesOf(type, other))
      if (contains(axes, axis.name))
        return {};
  }
  return axes;
}

/// The text after an index: "@dp@fsdp", or "".
std::string ProgramText::subscript(const Type &type, const std::string &index) {
  std::vector<PlacedAxis> axes = axesOf(type, index);
  if (sizes.at(index) % ranksOf(axes) != 0)
    uneven.emplace(index, axes);
  return namesOf(axes);
}

Status ProgramText::check() const {
  if (uneven.empty())
    return {};
  const auto &[index, axes] = *uneven.begin();
  int64_t ranks = ranksOf(axes);
  std::string problem =
      fmt::format("--place puts {} on {}, {} ranks, which do not divide", index,
                  namesOf(axes), ranks);
  for (auto [ofOption, option] :
       {std::pair("b", "--batch"), std::pair("s", "--sequence")})
    if (index == ofOption)
      return invalid("{} {} {}; a multiple of {} works", problem, option,
                     sizes.at(index), ranks);
  std::vector<std::string> one, all, padding;
  for (const PlacedAxis &axis : strategy.asGiven()) {
    if (!contains(axes, axis.name))
      continue;
    one.push_back(axis.name + "=1");
    all.push_back(fmt::format("{}={}", axis.name, axis.size));
  }
  for (const auto &[name, others] : uneven)
    if (namesOf(others) == namesOf(axes))
      padding.push_back(fmt::format("{}={}", name, ranks));
  // If it is imported for one rank, heads are not copied, so they need padding.
  if (strategy.copiesHeads() && contains(axes, "tp"))
    padding.push_back(fmt::format("g={}", ranks));
  return invalid("{} its {}; import for {}, and run with --mesh {} --pad {}",
                 problem, sizes.at(index), fmt::join(one, ","),
                 fmt::join(all, ","), fmt::join(padding, ","));
}

std::string ProgramText::typeText(const Type &type, bool namesElement) {
  std::vector<std::string> names;
  bool isPlaced = strategy.decides(type.where);
  for (const std::string &index : type.indices) {
    used.insert(index);
    names.push_back(index);
    if (isPlaced)
      names.back() += subscript(type, index);
  }
  if (!isPlaced && !names.empty())
    names.push_back("?");
  bool isImplied = type.element == element && !namesElement;
  return fmt::format("{}[{}]", isImplied ? "" : type.element,
                     fmt::join(names, ", "));
}

std::string ProgramText::extentsText() const {
  std::vector<std::string> extents, others;
  for (const std::string &index : used)
    if (auto found = same.find(index); found != same.end())
      others.push_back(fmt::format("{} = {}", index, found->second));
    else
      extents.push_back(fmt::format("{} = {}", index, sizes.at(index)));
  extents.insert(extents.end(), others.begin(), others.end());
  return fmt::format("{}", fmt::join(extents, ", "));
}

std::string ProgramText::meshText() const {
  if (strategy.mesh().empty())
    return "";
  std::vector<std::string> axes;
  for (const PlacedAxis &axis : strategy.mesh())
    axes.push_back(
        fmt::format("{} = {} : {}", axis.name, axis.size, axis.role));
  return fmt::format("mesh @mesh <{}>\n", fmt::join(axes, ", "));
}

std::string ProgramText::text(const std::string &heading) const {
  return fmt::format("{}\ntpsp.program {}<{}> {{\n{}{}}}\n", heading,
                     element == "f32" ? "" : element + " ", extentsText(),
                     meshText(), functions);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string FunctionText::unusedName(const std::string &name) {
  int count = taken[name]++;
  return count == 0 ? "%" + name
                    : unusedName(fmt::format("{}_{}", name, count));
}

Value FunctionText::argument(const std::string &name, const Type &type,
                             const std::string &attributes) {
  Value value{unusedName(name), type};
  arguments.push_back(fmt::format("{}: {}{}{}", value.name,
                                  program.typeText(type),
                                  attributes.empty() ? "" : " ", attributes));
  return value;
}

Value FunctionText::parameter(const std::string &name,
                              const std::string &stored, const Type &type,
                              const std::string &attributes) {
  Value value{unusedName(name), type};
  arguments.push_back(fmt::format("param {} \"{}\": {}{}{}", value.name, stored,
                                  program.typeText(type),
                                  attributes.empty() ? "" : " ", attributes));
  return value;
}

/// The words of an operation. "theta = 7," is one word, and so is "[b, s, d]".
static std::vector<std::string> wordsOf(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  auto isOpen = [](const std::string &word) {
    return std::count(word.begin(), word.end(), '[') >
           std::count(word.begin(), word.end(), ']');
  };
  for (std::string word, value; stream >> word;)
    if (word == "=" && !words.empty() && stream >> value)
      words.back() += " = " + value;
    else if (!words.empty() && (isOpen(words.back()) || words.back() == "->"))
      words.back() += " " + word;
    else
      words.push_back(word);
  return words;
}

/// An operation in lines, broken between words.
static std::string wrapped(const std::string &text) {
  std::string lines, line = " ";
  for (const std::string &word : wordsOf(text)) {
    if (line.size() + word.size() >= lineWidth) {
      lines += line + "\n";
      line = "     ";
    }
    line += " " + word;
  }
  return lines + line + "\n";
}

static std::vector<std::string> namesOf(const std::vector<Value> &values) {
  std::vector<std::string> names;
  for (const Value &value : values)
    names.push_back(value.name);
  return names;
}

/// Whether the reader of the program infers the type of a result. It does so
/// for the operations in the table of docs/Notation.md, if the result is
/// unplaced. The result must have the first operand's indices and elements, and
/// the other operands some of these indices.
static bool isInferred(const std::string &operation,
                       const std::vector<Value> &operands, const Type &type) {
  static const std::set<std::string> inferring = {
      "add",   "div",     "gelu",     "gelu_erf", "layer_norm",
      "mul",   "relu",    "rms_norm", "rope",     "scale",
      "shift", "sigmoid", "silu",     "softmax",  "tanh"};
  auto has = [&](const Value &operand, const std::string &index) {
    const Indices &all = operand.type.indices;
    return std::find(all.begin(), all.end(), index) != all.end();
  };
  if (inferring.count(operation) == 0 || type.where != Where::Open ||
      operands.front().type.indices != type.indices)
    return false;
  for (const Value &operand : operands) {
    if (operand.type.element != type.element)
      return false;
    for (const std::string &index : operand.type.indices)
      if (!has(operands.front(), index))
        return false;
  }
  return true;
}

Value FunctionText::apply(const std::string &operation,
                          const std::vector<Value> &operands,
                          const std::string &name, const Type &type,
                          const std::string &attributes) {
  Value value{unusedName(name), type};
  // Without an element type, a result has that of the operands.
  bool converts =
      std::any_of(operands.begin(), operands.end(), [&](const Value &operand) {
        return operand.type.element != type.element &&
               operand.type.element != "i32";
      });
  std::string result = isInferred(operation, operands, type)
                           ? ""
                           : " -> " + program.typeText(type, converts);
  body += wrapped(fmt::format("{} = {} {}{}{}", value.name, operation,
                              fmt::join(namesOf(operands), ", "),
                              attributes.empty() ? "" : " {" + attributes + "}",
                              result));
  return value;
}

std::vector<Value> FunctionText::repeat(const FunctionText &callee,
                                        const std::vector<Value> &operands,
                                        const std::vector<std::string> &names,
                                        const std::string &prefix,
                                        int64_t first, int64_t times) {
  std::vector<Value> values;
  for (size_t i = 0; i < names.size(); ++i)
    values.push_back({unusedName(fmt::format("{}{}", names[i], first + times)),
                      callee.resultTypes[i]});
  std::string results = fmt::format("{}", fmt::join(namesOf(values), ", "));
  std::string call = fmt::format("@{}({})", callee.function,
                                 fmt::join(namesOf(operands), ", "));
  if (times == 1)
    body += wrapped(fmt::format("{} = call {} as \"{}{}.*\"", results, call,
                                prefix, first));
  else
    body += wrapped(fmt::format("{} = repeat {} {} as \"{}#.*\"{}", results,
                                times, call, prefix,
                                first ? fmt::format(" from {}", first) : ""));
  return values;
}

void FunctionText::finish(const std::vector<Value> &results) {
  std::vector<std::string> types;
  for (const Value &result : results) {
    resultTypes.push_back(result.type);
    types.push_back(program.typeText(result.type));
  }
  std::string text = fmt::format("{}", fmt::join(types, ", "));
  program.addFunction(
      fmt::format("func {}@{}(\n    {}) -> {} {{\n{}  return {}\n}}\n",
                  visibility, function, fmt::join(arguments, ",\n    "),
                  types.size() == 1 ? text : "(" + text + ")", body,
                  fmt::join(namesOf(results), ", ")));
}
