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

std::string ProgramText::typeText(const Type &type) const {
  std::vector<std::string> names;
  std::string shape;
  bool isPlaced = placement.decides(type.where);
  for (const std::string &index : type.indices) {
    shape += fmt::format("{}x", sizes.at(index));
    names.push_back(index);
    if (isPlaced)
      names.back() +=
          placement.subscript(type.where, index, type.indices.size());
  }
  if (!isPlaced && !names.empty())
    names.push_back("?");
  return fmt::format("tensor<{}{}, #tpsp.idx<{}>>", shape, type.element,
                     fmt::join(names, ", "));
}

std::string ProgramText::alias(const Type &type, const std::string &proposed) {
  std::string text = typeText(type);
  for (const auto &[name, known] : aliases)
    if (known == text)
      return name;
  auto isTaken = [&](const std::string &name) {
    return std::any_of(aliases.begin(), aliases.end(),
                       [&](const auto &entry) { return entry.first == name; });
  };
  std::string name = "!" + proposed;
  for (int number = 2; isTaken(name); ++number)
    name = fmt::format("!{}{}", proposed, number);
  aliases.emplace_back(name, text);
  return name;
}

std::string ProgramText::meshText() const {
  if (placement.mesh().empty())
    return "";
  std::vector<std::string> axes;
  for (const PlacedAxis &axis : placement.mesh())
    axes.push_back(
        fmt::format("{} = {} : {}", axis.name, axis.size, axis.role));
  return fmt::format("\ntpsp.mesh @mesh <{}>\n", fmt::join(axes, ", "));
}

std::string ProgramText::text(const std::string &heading) const {
  size_t width = 0;
  for (const auto &entry : aliases)
    width = std::max(width, entry.first.size());
  std::string text = heading + meshText() + "\n";
  for (const auto &[name, type] : aliases)
    text += fmt::format("{:<{}} = {}\n", name, width, type);
  return text + functions;
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
                             const std::string &proposed,
                             const std::string &attributes) {
  Value value{unusedName(name), type};
  arguments.push_back(fmt::format("{}: {}{}{}", value.name,
                                  program.alias(type, proposed),
                                  attributes.empty() ? "" : " ", attributes));
  return value;
}

/// "!x" if all types agree, "!x -> !y" if those of the operands do, else
/// "(!x, !w) -> !y", as calls always have it.
std::string FunctionText::operandTypes(const std::vector<Value> &operands,
                                       const std::string &result, bool isCall) {
  std::vector<std::string> types;
  for (const Value &operand : operands)
    types.push_back(program.alias(operand.type, "t"));
  bool agree = std::all_of(types.begin(), types.end(), [&](const auto &type) {
    return type == types.front();
  });
  if (isCall || types.empty() || !agree)
    return fmt::format("({}) -> {}", fmt::join(types, ", "), result);
  return types.front() == result ? result : types.front() + " -> " + result;
}

/// The words of an operation; "theta = 7," is one.
static std::vector<std::string> wordsOf(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word, value; stream >> word;)
    if (word == "=" && !words.empty() && stream >> value)
      words.back() += " = " + value;
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

Value FunctionText::apply(const std::string &operation,
                          const std::vector<Value> &operands,
                          const std::string &name, const Type &type,
                          const std::string &proposed,
                          const std::string &attributes) {
  // Operands are written before the result, so that they propose first.
  std::string head =
      fmt::format("tpsp.{} {}{}", operation, fmt::join(namesOf(operands), ", "),
                  attributes.empty() ? "" : " {" + attributes + "}");
  Value value{unusedName(name), type};
  std::string result = program.alias(type, proposed);
  body += wrapped(fmt::format("{} = {} : {}", value.name, head,
                              operandTypes(operands, result, false)));
  return value;
}

Value FunctionText::call(const FunctionText &callee,
                         const std::vector<Value> &operands,
                         const std::string &name) {
  Value value{unusedName(name), callee.resultType};
  std::string result = program.alias(callee.resultType, "x");
  body +=
      wrapped(fmt::format("{} = func.call @{}({}) : {}", value.name,
                          callee.function, fmt::join(namesOf(operands), ", "),
                          operandTypes(operands, result, true)));
  return value;
}

void FunctionText::finish(const Value &result) {
  resultType = result.type;
  std::string type = program.alias(result.type, "x");
  program.addFunction(fmt::format(
      "func.func {}@{}(\n    {}) -> {} {{\n{}  return {} : {}\n}}\n",
      visibility, function, fmt::join(arguments, ",\n    "), type, body,
      result.name, type));
}
