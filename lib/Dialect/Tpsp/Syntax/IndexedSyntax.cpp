// The syntax of operations with an index structure:
//
//   %y = tpsp.softmax %x {over = "t", scale = 0.5} : !x
//
// One type if all agree, a functional type otherwise. A number needs no type
// where an f64 is expected: 2, 0.5 and 1e-6 are numbers.
//
// In short form there are no types, or only the results':
//
//   %y = softmax %x {over = "t", scale = 0.5}
//   %z = einsum %w, %x -> [b, s, e, ?]
#include "Dialect/Tpsp/IR/WrittenType.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Whether the operation may have `value` as its attribute `name`.
static bool accepts(OperationName op, StringAttr name, Attribute value) {
  NamedAttrList alone;
  alone.append(name, value);
  bool isRefused = false;
  auto silent = [&] {
    isRefused = true;
    return InFlightDiagnostic(); // reports nothing, and is no failure
  };
  return succeeded(op.verifyInherentAttrs(alone, silent)) && !isRefused;
}

/// Parses the exponent after a number without a point, such as "e-6"; empty if
/// there is none.
static ParseResult parseExponent(OpAsmParser &parser, std::string &text) {
  const char *at = parser.getCurrentLocation().getPointer();
  StringRef word;
  if (parser.parseOptionalKeyword(&word))
    return success();
  StringRef digits = word;
  bool isExponent = digits.consume_front("e") || digits.consume_front("E");
  int64_t number = 0;
  if (isExponent && digits.empty()) {
    (void)parser.parseOptionalPlus(); // a minus is the integer's own
    if (parser.parseInteger(number))
      return failure();
    text = "e" + std::to_string(number);
    return success();
  }
  if (isExponent && llvm::all_of(digits, llvm::isDigit)) {
    text = ("e" + digits).str();
    return success();
  }
  return parser.emitError(SMLoc::getFromPointer(at))
         << "'" << word << "' follows a number; expected ',' or '}'";
}

/// Parses an attribute, or a number without a point.
static ParseResult parseValue(OpAsmParser &parser, Attribute &value) {
  if (parser.parseAttribute(value))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !integer.getType().isInteger(64))
    return success();
  std::string exponent;
  if (parseExponent(parser, exponent))
    return failure();
  if (exponent.empty())
    return success();
  std::string text = std::to_string(integer.getInt()) + exponent;
  llvm::APFloat number(llvm::APFloat::IEEEdouble(), text);
  value = FloatAttr::get(parser.getBuilder().getF64Type(), number);
  return success();
}

/// `value` as an f64, if the operation takes an f64 there and not an integer.
static Attribute asExpected(OperationName op, StringAttr name,
                            Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !integer.getType().isInteger(64) ||
      accepts(op, name, integer))
    return value;
  auto number = FloatAttr::get(Float64Type::get(value.getContext()),
                               static_cast<double>(integer.getInt()));
  return accepts(op, name, number) ? number : value;
}

/// A description, by example, of the values that the operation takes as its
/// attribute `name`; empty if no example fits.
static StringRef kindTaken(OperationName op, StringAttr name) {
  Builder b(name.getContext());
  std::pair<Attribute, StringRef> examples[] = {
      {b.getF64FloatAttr(0.5), "a number, such as 0.5"},
      {b.getI64IntegerAttr(1), "a whole number, such as 1"},
      {b.getStringAttr("s"), "a name in quotes, such as \"s\""},
      {b.getStrArrayAttr({"s"}), "names in brackets, such as [\"s\"]"},
      {b.getUnitAttr(), "no value: it is written alone"}};
  for (auto [example, kind] : examples)
    if (accepts(op, name, example))
      return kind;
  return "";
}

/// Refuses a value if it is of another kind than the attribute `name` takes.
static LogicalResult checkKind(Location loc, OperationName op, StringAttr name,
                               Attribute value) {
  if (accepts(op, name, value))
    return success();
  StringRef kind = kindTaken(op, name);
  if (kind.empty())
    return success(); // the operation's verifier says what is wrong
  InFlightDiagnostic error = emitError(loc);
  error << "attribute '" << name.getValue() << "' of '" << op << "' takes "
        << kind;
  if (isa<UnitAttr>(value))
    return error << ", and is written without";
  return error << ", not " << value;
}

static ParseResult parseAttributes(OpAsmParser &parser, OperationName op,
                                   NamedAttrList &attributes) {
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    std::string text;
    if (parser.parseKeywordOrString(&text))
      return failure();
    StringAttr name = parser.getBuilder().getStringAttr(text);
    if (attributes.get(name))
      return parser.emitError(loc) << "has attribute '" << text << "' twice";
    Attribute value = parser.getBuilder().getUnitAttr();
    if (succeeded(parser.parseOptionalEqual()) && parseValue(parser, value))
      return failure();
    attributes.append(name, asExpected(op, name, value));
    return checkKind(parser.getEncodedSourceLoc(loc), op, name,
                     attributes.get(name));
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces,
                                        parseOne);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Parses one type if all agree, a functional type otherwise.
static ParseResult parseTypes(OpAsmParser &parser, size_t count,
                              SmallVectorImpl<Type> &operands,
                              SmallVectorImpl<Type> &results) {
  if (succeeded(parser.parseOptionalLParen())) {
    if (failed(parser.parseOptionalRParen()) &&
        (parser.parseTypeList(operands) || parser.parseRParen()))
      return failure();
    return parser.parseArrowTypeList(results);
  }
  Type operand;
  if (parser.parseType(operand))
    return failure();
  operands.assign(count, operand);
  if (parser.parseOptionalArrowTypeList(results))
    return failure();
  if (results.empty())
    results.push_back(operand);
  return success();
}

/// Parses the results' written types, if there are any. All other types are
/// inferred once the whole program is read.
static ParseResult
parseShortForm(OpAsmParser &parser, OperationState &state,
               ArrayRef<OpAsmParser::UnresolvedOperand> operands) {
  Type inferred = InferredType::get(parser.getContext());
  SmallVector<Attribute> written;
  auto parseOne = [&] {
    return parseWrittenType(parser, written.emplace_back());
  };
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(parseOne))
    return failure();
  // Nothing may follow the type of an operation.
  SMLoc loc = parser.getCurrentLocation();
  if (!written.empty() && succeeded(parser.parseOptionalLBrace()))
    return emitError(parser.getEncodedSourceLoc(loc))
           << "attributes stand before the result's type, as in "
           << state.name.stripDialect() << " %x {...} -> [...]";
  if (!written.empty())
    state.addAttribute(writtenAttrName,
                       parser.getBuilder().getArrayAttr(written));
  size_t results =
      std::max({size_t(1), parser.getNumResults(), written.size()});
  state.addTypes(SmallVector<Type>(results, inferred));
  return resolveUntyped(parser, operands, state.operands);
}

ParseResult tpsp::parseIndexedOp(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  SMLoc attributesLoc = parser.getCurrentLocation();
  auto refuse = [&] {
    return parser.emitError(attributesLoc)
           << "'" << state.name.getStringRef() << "' op ";
  };
  if (parseAttributes(parser, state.name, state.attributes) ||
      failed(state.name.verifyInherentAttrs(state.attributes, refuse)))
    return failure();
  if (failed(parser.parseOptionalColon()))
    return parseShortForm(parser, state, operands);
  if (parseTypes(parser, operands.size(), types, state.types))
    return failure();
  return parser.resolveOperands(operands, types, operandsLoc, state.operands);
}

/// Names of the attributes of `op` that equal those of `defaults`.
static SmallVector<StringRef> namesOfDefaults(Operation *op,
                                              Attribute defaults) {
  SmallVector<StringRef> names;
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(defaults);
  if (!dictionary)
    return names;
  for (NamedAttribute each : dictionary)
    if (op->getAttr(each.getName()) == each.getValue())
      names.push_back(each.getName().getValue());
  return names;
}

void tpsp::printIndexedOp(OpAsmPrinter &printer, Operation *op,
                          Attribute defaults) {
  printer << ' ';
  printer.printOperands(op->getOperands());
  printer.printOptionalAttrDict(op->getAttrs(), namesOfDefaults(op, defaults));
  printer << " : ";
  bool alike =
      llvm::all_equal(op->getOperandTypes()) && op->getNumOperands() > 0;
  if (!alike) {
    printer.printFunctionalType(op);
    return;
  }
  Type operand = op->getOperand(0).getType();
  printer << operand;
  if (op->getNumResults() != 1 || operand != op->getResult(0).getType())
    printer.printArrowTypeList(op->getResultTypes());
}
