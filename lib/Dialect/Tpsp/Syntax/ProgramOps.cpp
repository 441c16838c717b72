// Reads programs in short form: `tpsp.program` and, inside it, `func`, `call`,
// `repeat` and `return`. Each is created as the operation that it stands for.
// Its types follow in ProgramResolution.cpp.
#include "tpsp/Dialect/Tpsp/Syntax/ProgramOps.h"

#include "ProgramResolution.h"
#include "UnknownOperation.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// tpsp.program
//===----------------------------------------------------------------------===//

/// Parses `s = 64` or `t = s`.
static ParseResult parseExtent(OpAsmParser &parser,
                               llvm::StringMap<int64_t> &extents) {
  StringRef name, other;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalKeyword(&name))
    return parser.emitError(loc, "expected an index and its extent, as in "
                                 "<b = 8, s = 64, t = s>");
  if (parser.parseEqual())
    return failure();
  int64_t extent = 0;
  SMLoc valueLoc = parser.getCurrentLocation();
  OptionalParseResult number = parser.parseOptionalInteger(extent);
  if (number.has_value() && failed(*number))
    return failure();
  if (!number.has_value()) {
    if (parser.parseOptionalKeyword(&other))
      return parser.emitError(valueLoc, "expected the extent of '")
             << name << "': a number, or an index before it";
    auto found = extents.find(other);
    if (found == extents.end())
      return parser.emitError(valueLoc, "index '")
             << other << "' has no extent yet; write it before '" << name
             << "'";
    extent = found->second;
  }
  if (extent < 1)
    return parser.emitError(valueLoc, "index '")
           << name << "' has extent " << extent << "; extents are at least 1";
  if (!extents.try_emplace(name, extent).second) // (Q1)
    return parser.emitError(loc, "index '")
           << name << "' has two extents; what is another index has another "
           << "name";
  return success();
}

/// Parses the element type of tensors: `bf16`, or nothing for f32.
static ParseResult parseElement(OpAsmParser &parser, Type &element) {
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult written = parser.parseOptionalType(element);
  if (!written.has_value())
    element = parser.getBuilder().getF32Type();
  else if (succeeded(*written) && !isa<FloatType>(element))
    return parser.emitError(loc, "expected what tensors hold, such as bf16, "
                                 "not ")
           << element;
  return failure(written.has_value() && failed(*written));
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &state) {
  ProgramHead head;
  Region *body = state.addRegion();
  auto parseOne = [&] { return parseExtent(parser, head.extents); };
  if (parseElement(parser, head.element) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater,
                                     parseOne) ||
      parser.parseRegion(*body))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  state.name = OperationName(ModuleOp::getOperationName(), parser.getContext());
  return resolveProgram(*body, head);
}

/// An operation of the short form exists only if it was written in MLIR's
/// generic form, which the reader does not resolve.
static LogicalResult refuseGenericForm(Operation *op) {
  return op->emitOpError(
      "is a way to write, not an operation; write it without "
      "quotes");
}

void ProgramOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printRegion(getBody());
}
LogicalResult ProgramOp::verify() { return refuseGenericForm(*this); }
StringRef ProgramOp::getDefaultDialect() { return "tpsp"; }

//===----------------------------------------------------------------------===//
// func
//===----------------------------------------------------------------------===//

namespace {
/// A function's arguments and results while it is parsed.
struct Signature {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> inputs, results;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
};
} // namespace

/// Parses a written type. Its element type is still to be inferred if none is
/// written.
static ParseResult parseSignatureType(OpAsmParser &parser, Type &type) {
  Attribute written;
  if (parseWrittenType(parser, written))
    return failure();
  auto complete = dyn_cast<TypeAttr>(written);
  type = complete ? complete.getValue()
                  : withOpenExtents(InferredType::get(parser.getContext()),
                                    cast<IdxAttr>(written));
  return success();
}

/// Parses `%w` or `%w "mlp.weight"` in a group of arguments, and adds the name
/// to `names`.
static ParseResult parseArgumentName(OpAsmParser &parser, Signature &signature,
                                     SmallVectorImpl<std::string> &names) {
  OpAsmParser::Argument argument;
  if (parser.parseArgument(argument))
    return failure();
  std::string name;
  if (failed(parser.parseOptionalString(&name)))
    name = argument.ssaName.name.drop_front().str();
  argument.type = InferredType::get(parser.getContext());
  signature.arguments.push_back(argument);
  names.push_back(std::move(name));
  return success();
}

/// Parses `param %w, %v "v": [d, e] {tpsp.frozen}`: arguments of one type.
static ParseResult parseArguments(OpAsmParser &parser, Signature &signature) {
  bool isParam = succeeded(parser.parseOptionalKeyword("param"));
  SmallVector<std::string> names;
  do {
    if (parseArgumentName(parser, signature, names))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  Type type;
  NamedAttrList attributes;
  if (parser.parseColon() || parseSignatureType(parser, type) ||
      parser.parseOptionalAttrDict(attributes))
    return failure();
  StringRef key = isParam ? paramAttrName : nameAttrName;
  for (const std::string &name : names) {
    NamedAttrList named = attributes;
    if (isParam || !attributes.get(paramAttrName))
      if (!named.get(key))
        named.append(key, parser.getBuilder().getStringAttr(name));
    signature.inputs.push_back(type);
    signature.argumentAttrs.push_back(named.getDictionary(parser.getContext()));
  }
  return success();
}

/// Parses `[b, s, d]` or `([] {tpsp.name = "loss"}, [b, s])`.
static ParseResult parseResults(OpAsmParser &parser, Signature &signature) {
  auto parseOne = [&]() -> ParseResult {
    NamedAttrList attributes;
    if (parseSignatureType(parser, signature.results.emplace_back()) ||
        parser.parseOptionalAttrDict(attributes))
      return failure();
    signature.resultAttrs.push_back(
        attributes.getDictionary(parser.getContext()));
    return success();
  };
  if (failed(parser.parseOptionalLParen())) {
    signature.resultAttrs.push_back(parser.getBuilder().getDictionaryAttr({}));
    return parseSignatureType(parser, signature.results.emplace_back());
  }
  return failure(parser.parseCommaSeparatedList(parseOne) ||
                 parser.parseRParen());
}

/// Adds the signature's attributes to the func.func.
static void addSignature(OpAsmParser &parser, OperationState &state,
                         const Signature &signature) {
  Builder &builder = parser.getBuilder();
  OperationName name = state.name;
  state.addAttribute(func::FuncOp::getFunctionTypeAttrName(name),
                     TypeAttr::get(builder.getFunctionType(signature.inputs,
                                                           signature.results)));
  // func.func stores these lists only if some entry is not empty.
  auto addLists = [&](StringAttr key, ArrayRef<Attribute> lists) {
    if (llvm::any_of(lists, [](Attribute list) {
          return !cast<DictionaryAttr>(list).empty();
        }))
      state.addAttribute(key, builder.getArrayAttr(lists));
  };
  addLists(func::FuncOp::getArgAttrsAttrName(name), signature.argumentAttrs);
  addLists(func::FuncOp::getResAttrsAttrName(name), signature.resultAttrs);
  state.addAttribute(shortFormAttrName, builder.getUnitAttr());
}

ParseResult FunctionOp::parse(OpAsmParser &parser, OperationState &state) {
  state.name =
      OperationName(func::FuncOp::getOperationName(), parser.getContext());
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("private")))
    state.addAttribute(SymbolTable::getVisibilityAttrName(),
                       builder.getStringAttr("private"));
  StringAttr symbol;
  Signature signature;
  if (parser.parseSymbolName(symbol, SymbolTable::getSymbolAttrName(),
                             state.attributes) ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren,
          [&] { return parseArguments(parser, signature); }) ||
      (succeeded(parser.parseOptionalArrow()) &&
       parseResults(parser, signature)))
    return failure();
  addSignature(parser, state, signature);
  return parser.parseRegion(*state.addRegion(), signature.arguments);
}

void FunctionOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printRegion(getBody());
}
LogicalResult FunctionOp::verify() { return refuseGenericForm(*this); }
StringRef FunctionOp::getDefaultDialect() { return "tpsp"; }

//===----------------------------------------------------------------------===//
// call, repeat, return
//===----------------------------------------------------------------------===//

static ParseResult parseOperands(OpAsmParser &parser, OperationState &state,
                                 AsmParser::Delimiter delimiter) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  return failure(parser.parseOperandList(operands, delimiter) ||
                 resolveUntyped(parser, operands, state.operands));
}

static ParseResult parseReturn(OpAsmParser &parser, OperationState &state) {
  state.name =
      OperationName(func::ReturnOp::getOperationName(), parser.getContext());
  return parseOperands(parser, state, AsmParser::Delimiter::None);
}

/// Parses `@layer(%x) as "names"`.
static ParseResult parseCall(OpAsmParser &parser, OperationState &state) {
  state.name =
      OperationName(func::CallOp::getOperationName(), parser.getContext());
  StringAttr symbol, names;
  if (parser.parseSymbolName(symbol) ||
      parseOperands(parser, state, AsmParser::Delimiter::Paren))
    return failure();
  state.addAttribute(func::CallOp::getCalleeAttrName(state.name),
                     FlatSymbolRefAttr::get(symbol));
  state.addTypes(SmallVector<Type>(parser.getNumResults(),
                                   InferredType::get(parser.getContext())));
  if (failed(parser.parseOptionalKeyword("as")))
    return success();
  if (parser.parseAttribute(names))
    return failure();
  state.addAttribute(namesAttrName, names);
  return success();
}

/// Parses `12 @layer(%x) as "h.#.*" from 3`.
static ParseResult parseRepeat(OpAsmParser &parser, OperationState &state) {
  int64_t times = 0, first = 0;
  SMLoc loc = parser.getCurrentLocation(), firstLoc;
  if (parser.parseInteger(times))
    return failure();
  if (times < 1 || times > mostCalls)
    return parser.emitError(loc, "is done ")
           << times << " times; write a number from 1 to " << mostCalls;
  if (parseCall(parser, state))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("from")) &&
      (parser.getCurrentLocation(&firstLoc) || parser.parseInteger(first)))
    return failure();
  if (first < 0 || first > mostCalls)
    return parser.emitError(firstLoc, "begins with number ")
           << first << "; write one from 0 to " << mostCalls;
  Builder &builder = parser.getBuilder();
  state.addAttribute(timesAttrName, builder.getI64IntegerAttr(times));
  state.addAttribute(firstAttrName, builder.getI64IntegerAttr(first));
  return success();
}

static StringRef withoutDialect(StringRef opName) {
  return opName.substr(opName.find('.') + 1);
}

/// "Parses" an operation that does not exist, but whose name is like another's.
static ParseResult refuseUnknown(OpAsmParser &parser, OperationState &state) {
  StringRef name = withoutDialect(state.name.getStringRef());
  return parser.emitError(parser.getNameLoc())
         << "'" << name << "' is no operation of tpsp; is it '"
         << operationLike(name, parser.getContext()) << "'?";
}

std::optional<Dialect::ParseOpHook>
TpspDialect::getParseOperationHook(StringRef opName) const {
  if (opName == "tpsp.call")
    return ParseOpHook(parseCall);
  if (opName == "tpsp.repeat")
    return ParseOpHook(parseRepeat);
  if (opName == "tpsp.return")
    return ParseOpHook(parseReturn);
  // The hook must not capture: it is a reference to a function.
  if (operationLike(withoutDialect(opName), getContext()).empty())
    return std::nullopt;
  return ParseOpHook(refuseUnknown);
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Syntax/ProgramOps.cpp.inc"
