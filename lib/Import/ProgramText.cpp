#include "ProgramText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

using namespace tpsp::import;

/// Beyond this a line is broken.
static constexpr size_t lineWidth = 100;

int64_t ProgramText::elements(const Indices &indices) const {
  int64_t product = 1;
  for (const std::string &index : indices)
    if (__builtin_mul_overflow(product, sizes.at(index), &product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

std::string ProgramText::typeText(const Type &type) {
  std::vector<std::string> names;
  bool isPlaced = strategy.decides(type.where);
  for (const std::string &index : type.indices) {
    used.insert(index);
    names.push_back(index);
    if (isPlaced)
      names.back() +=
          strategy.subscript(type.where, index, type.indices.size());
  }
  if (!isPlaced && !names.empty())
    names.push_back("?");
  return fmt::format("{}[{}]", type.element == element ? "" : type.element,
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

/// The words of an operation; "theta = 7," is one, and so is "[b, s, d]".
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

/// Whether the reader of the program finds the type of a result by itself. It
/// does of an operation of the table in docs/Notation.md whose result is
/// unplaced. The result must have the indices and elements of the first
/// operand, of which the others have part.
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
  std::string result = isInferred(operation, operands, type)
                           ? ""
                           : " -> " + program.typeText(type);
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
