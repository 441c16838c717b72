// #plan.ledger: a LedgerRow in the program.
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::plan;

namespace {

/// Writes `name = value` for every field that differs from an empty row's.
class FieldWriter {
public:
  void operator()(StringRef name, const std::string &value) {
    if (!value.empty())
      quote(begin(name), value);
  }
  void operator()(StringRef name, const std::vector<std::string> &values) {
    if (values.empty())
      return;
    begin(name) << '[';
    llvm::interleaveComma(values, out,
                          [&](const std::string &value) { quote(out, value); });
    out << ']';
  }
  void operator()(StringRef name, const std::vector<int64_t> &values) {
    if (values.empty())
      return;
    begin(name) << '[';
    llvm::interleaveComma(values, out);
    out << ']';
  }
  void operator()(StringRef name, int64_t value) {
    bool isOne = name == "group" || name == "times";
    if (value != (isOne ? 1 : name == "whole" ? -1 : 0))
      begin(name) << value;
  }
  template <typename Enum, std::enable_if_t<hasNames<Enum>, int> = 0>
  void operator()(StringRef name, Enum value) {
    quote(begin(name), nameOf(value));
  }
  void operator()(StringRef name, bool value) {
    if (value)
      begin(name) << "true";
  }
  void operator()(StringRef name, std::optional<double> value) {
    if (value)
      begin(name) << llvm::format("%.16e", *value);
  }

  std::string text;

private:
  raw_ostream &begin(StringRef name) {
    return out << (text.empty() ? "" : ", ") << name << " = ";
  }
  static void quote(raw_ostream &out, StringRef value) {
    llvm::printEscapedString(value, out << '"');
    out << '"';
  }

  llvm::raw_string_ostream out{text};
};

std::string textOf(const LedgerRow &row) {
  FieldWriter writer;
  LedgerRow::visitAll(row, writer);
  return writer.text;
}

/// Reads the value of the field called `wanted`.
class FieldReader {
public:
  FieldReader(AsmParser &parser, StringRef wanted)
      : parser(parser), wanted(wanted) {}

  template <typename Field> void operator()(StringRef name, Field &field) {
    if (name == wanted)
      result = parse(field);
  }

  /// nullopt if no field has the name.
  std::optional<ParseResult> result;

private:
  ParseResult parse(std::string &value) { return parser.parseString(&value); }
  template <typename Enum, std::enable_if_t<hasNames<Enum>, int> = 0>
  ParseResult parse(Enum &value) {
    std::string name;
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseString(&name))
      return failure();
    std::optional<Enum> found = findNamed<Enum>(name);
    if (!found)
      return parser.emitError(place, "a row of the ledger has no ")
             << wanted << " '" << name << "'";
    value = *found;
    return success();
  }
  ParseResult parse(bool &value) {
    value = true;
    return parser.parseKeyword("true");
  }
  ParseResult parse(int64_t &value) { return parser.parseInteger(value); }
  ParseResult parse(std::optional<double> &value) {
    return parser.parseFloat(value.emplace());
  }
  template <typename Value> ParseResult parse(std::vector<Value> &values) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parse(values.emplace_back());
    });
  }

  AsmParser &parser;
  StringRef wanted;
};

} // namespace

void LedgerAttr::print(AsmPrinter &printer) const {
  printer << '<' << textOf(getRow()) << '>';
}

Attribute LedgerAttr::parse(AsmParser &parser, Type) {
  LedgerRow row;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    SMLoc place = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    FieldReader field(parser, name);
    LedgerRow::visitAll(row, field);
    if (!field.result)
      return parser.emitError(place, "a row of the ledger has no field '")
             << name << "'";
    return *field.result;
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField))
    return {};
  return LedgerAttr::get(parser.getContext(), std::move(row));
}

bool tpsp::operator==(const LedgerRow &a, const LedgerRow &b) {
  // The fields of `b`, in the order in which those of `a` are visited.
  SmallVector<const void *> others;
  LedgerRow::visitAll(
      b, [&](const char *, const auto &field) { others.push_back(&field); });
  bool areEqual = true;
  size_t next = 0;
  LedgerRow::visitAll(a, [&](const char *, const auto &field) {
    using Field = std::decay_t<decltype(field)>;
    areEqual &= field == *static_cast<const Field *>(others[next++]);
  });
  return areEqual;
}

/// Equal rows have equal hashes; few others do.
llvm::hash_code tpsp::hash_value(const LedgerRow &row) {
  return llvm::hash_combine(row.kind, row.phase, row.bytes, row.times,
                            row.whole, row.tensor);
}
