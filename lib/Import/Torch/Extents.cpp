#include "Extents.h"
#include "Refusal.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

using namespace tpsp::import;
using namespace tpsp::import::torch;
using Json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {

/// Evaluates "Add(Integer(1), Mul(Integer(2), Symbol('s0', integer=True)))".
class Expression {
public:
  Expression(const std::string &text,
             const std::map<std::string, int64_t> &symbols)
      : text(text), symbols(symbols) {}

  int64_t evaluate() {
    int64_t value = term(0);
    if (at != text.size())
      fail();
    return value;
  }

private:
  /// Deeper expressions than sizes have stop the parser.
  static constexpr int deepest = 64;

  [[noreturn]] void fail() const {
    refuse("a size '{}' is no expression that is known; export with static "
           "shapes",
           text.substr(0, 80));
  }
  bool takes(char one) {
    while (at < text.size() && text[at] == ' ')
      ++at;
    if (at == text.size() || text[at] != one)
      return false;
    ++at;
    return true;
  }
  void expect(char one) {
    if (!takes(one))
      fail();
  }
  std::string word();
  int64_t integer();
  int64_t symbol();
  int64_t term(int depth);
  int64_t applied(const std::string &function,
                  const std::vector<int64_t> &operands) const;

  const std::string &text;
  const std::map<std::string, int64_t> &symbols;
  size_t at = 0;
};

} // namespace

std::string Expression::word() {
  takes('\0');
  size_t begin = at;
  while (
      at < text.size() &&
      (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
    ++at;
  return text.substr(begin, at - begin);
}

int64_t Expression::integer() {
  takes('\0');
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc())
    fail();
  at = static_cast<size_t>(end - text.data());
  return value;
}

/// 's0', positive=True, integer=True.
int64_t Expression::symbol() {
  expect('\'');
  std::string name = word();
  expect('\'');
  while (takes(',')) {
    word();
    expect('=');
    word();
  }
  auto found = symbols.find(name);
  if (found == symbols.end())
    refuse("a size '{}' is no dimension of an input by itself: it depends on "
           "elements, or the dimension is an expression",
           name);
  return found->second;
}

static int64_t floorOf(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t Expression::applied(const std::string &function,
                            const std::vector<int64_t> &operands) const {
  bool isPair = operands.size() == 2;
  int64_t a = operands.front(), b = operands.back(), value = 1;
  if (function == "Max")
    return *std::max_element(operands.begin(), operands.end());
  if (function == "Min")
    return *std::min_element(operands.begin(), operands.end());
  bool isOver = false;
  if (function == "Add") {
    value = 0;
    for (int64_t one : operands)
      isOver |= __builtin_add_overflow(value, one, &value);
  } else if (function == "Mul") {
    for (int64_t one : operands)
      isOver |= __builtin_mul_overflow(value, one, &value);
  } else if (isPair && function == "Pow" && b >= 0 && b <= 62) {
    for (int64_t i = 0; i < b; ++i)
      isOver |= __builtin_mul_overflow(value, a, &value);
  } else if (isPair && b > 0 && function == "FloorDiv") {
    value = floorOf(a, b);
  } else if (isPair && b > 0 && function == "CeilDiv") {
    value = -floorOf(-a, b);
  } else if (isPair && b > 0 &&
             (function == "Mod" || function == "PythonMod")) {
    value = a - b * floorOf(a, b);
  } else if (isPair && b > 0 && function == "CleanDiv" && a % b == 0) {
    value = a / b;
  } else {
    fail();
  }
  if (isOver)
    fail();
  return value;
}

int64_t Expression::term(int depth) {
  if (depth > deepest)
    fail();
  std::string function = word();
  expect('(');
  if (function == "Integer" || function == "Symbol") {
    int64_t value = function == "Integer" ? integer() : symbol();
    expect(')');
    return value;
  }
  std::vector<int64_t> operands = {term(depth + 1)};
  while (takes(','))
    operands.push_back(term(depth + 1));
  expect(')');
  return applied(function, operands);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// The symbol that an expression is; nothing if it is another.
static std::optional<std::string> symbolOf(const std::string &expression) {
  static const std::string begin = "Symbol('";
  size_t end = expression.find('\'', begin.size());
  if (expression.rfind(begin, 0) != 0 || end == std::string::npos ||
      expression.find('(', end) != std::string::npos)
    return {};
  return expression.substr(begin.size(), end - begin.size());
}

static std::optional<std::string> expressionOf(const Json &size) {
  if (!size.contains("as_expr"))
    return {};
  return size.at("as_expr").at("expr_str").get<std::string>();
}

/// "2 to 64 positions", as far as there are limits.
static std::string rangeText(const Json &ranges, const std::string &symbol) {
  if (!ranges.contains(symbol))
    return "";
  const Json &range = ranges.at(symbol);
  std::string low = range.value("min_val", Json()).dump(),
              high = range.value("max_val", Json()).dump();
  return fmt::format(" (from {}{})", low,
                     high == "null" ? " on" : " to " + high);
}

namespace {

/// A dimension of an input that is a symbol: "ids.1" and "s0".
struct DynamicDim {
  std::string name, symbol;
};

} // namespace

static std::vector<DynamicDim> dynamicDims(const Json &module) {
  std::vector<DynamicDim> dims;
  const Json &tensors = module.at("graph").at("tensor_values");
  for (const Json &spec : module.at("signature").at("input_specs")) {
    if (!spec.contains("user_input") ||
        !spec.at("user_input").at("arg").contains("as_tensor"))
      continue;
    std::string input =
        spec.at("user_input").at("arg").at("as_tensor").at("name");
    const Json &sizes = tensors.at(input).at("sizes");
    for (size_t i = 0; i < sizes.size(); ++i)
      if (auto expression = expressionOf(sizes[i]))
        if (auto symbol = symbolOf(*expression))
          dims.push_back({fmt::format("{}.{}", input, i), *symbol});
  }
  return dims;
}

static std::map<std::string, int64_t>
symbolsOf(const std::vector<DynamicDim> &dims,
          const std::map<std::string, int64_t> &wanted) {
  std::map<std::string, int64_t> symbols;
  for (const auto &[name, extent] : wanted) {
    auto dim = std::find_if(
        dims.begin(), dims.end(),
        [&, &name = name](const DynamicDim &one) { return one.name == name; });
    if (dim == dims.end()) {
      std::vector<std::string> names;
      for (const DynamicDim &one : dims)
        names.push_back(one.name);
      refuse("--extent {}={}: it has no dynamic dimension '{}'; it has {}",
             name, extent, name,
             names.empty() ? "none"
                           : fmt::format("{}", fmt::join(names, ", ")));
    }
    int64_t other = symbols.try_emplace(dim->symbol, extent).first->second;
    if (other != extent)
      refuse("--extent {}={}: this dimension is the same as another of extent "
             "{}",
             name, extent, other);
  }
  return symbols;
}

static void checkRanges(const std::map<std::string, int64_t> &symbols,
                        const Json &ranges) {
  for (const auto &[symbol, extent] : symbols) {
    if (!ranges.contains(symbol))
      continue;
    const Json low = ranges.at(symbol).value("min_val", Json()),
               high = ranges.at(symbol).value("max_val", Json());
    if ((low.is_number_integer() && extent < low.get<int64_t>()) ||
        (high.is_number_integer() && extent > high.get<int64_t>()))
      refuse("--extent: a dimension of {} positions was not exported{}", extent,
             rangeText(ranges, symbol));
  }
}

Extents::Extents(const Json &model,
                 const std::map<std::string, int64_t> &wanted) {
  const Json &module = model.at("graph_module"), &graph = module.at("graph");
  static const Json none = Json::object();
  const Json &ranges = model.contains("range_constraints")
                           ? model.at("range_constraints")
                           : none;
  std::vector<DynamicDim> dims = dynamicDims(module);
  symbols = symbolsOf(dims, wanted);
  checkRanges(symbols, ranges);
  std::vector<std::string> missing;
  for (const DynamicDim &one : dims)
    if (symbols.count(one.symbol) == 0)
      missing.push_back(one.name + rangeText(ranges, one.symbol));
  if (!missing.empty())
    refuse("dimensions have no extent: {}; give each by --extent INPUT.DIM=N",
           fmt::join(missing, ", "));
  if (graph.contains("sym_int_values"))
    for (const auto &[name, value] : graph.at("sym_int_values").items())
      integers[name] =
          value.contains("as_int")
              ? fmt::format("Integer({})", value.at("as_int").get<int64_t>())
              : expressionOf(value).value_or("");
}

int64_t Extents::evaluate(const std::string &expression) const {
  return Expression(expression, symbols).evaluate();
}

int64_t Extents::of(const Json &size) const {
  if (size.contains("as_int"))
    return size.at("as_int").get<int64_t>();
  if (auto expression = expressionOf(size))
    return evaluate(*expression);
  if (!size.contains("as_name"))
    refuse(
        "a size of its graph is neither a number nor an expression: {}",
        size.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60));
  std::string name = size.at("as_name").get<std::string>();
  auto found = integers.find(name);
  if (found == integers.end())
    refuse("its graph uses an integer '{}' that it does not declare", name);
  return evaluate(found->second);
}
