#include "WrittenType.h"

using namespace mlir;
using namespace tpsp;

RankedTensorType tpsp::withOpenExtents(Type element, IdxAttr idx) {
  SmallVector<int64_t> shape(idx.getRank(), ShapedType::kDynamic);
  return RankedTensorType::get(shape, element, idx);
}

ParseResult tpsp::parseWrittenType(AsmParser &parser, Attribute &written) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  OptionalParseResult hasType = parser.parseOptionalType(type);
  if (hasType.has_value() && failed(*hasType))
    return failure();
  if (type && getIdx(type)) {
    written = TypeAttr::get(type);
    return success();
  }
  if (type && !isa<FloatType, IntegerType>(type))
    return parser.emitError(loc, "expected a tensor's subscripts, as in "
                                 "[b, s@tp, d] or bf16[b, s], not ")
           << type;
  IdxAttr idx;
  if (parseBracketedSubscripts(parser, idx))
    return failure();
  written = type ? Attribute(TypeAttr::get(withOpenExtents(type, idx))) : idx;
  return success();
}

ParseResult
tpsp::resolveUntyped(OpAsmParser &parser,
                     ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                     SmallVectorImpl<Value> &values) {
  Type inferred = InferredType::get(parser.getContext());
  for (const OpAsmParser::UnresolvedOperand &operand : operands) {
    if (parser.resolveOperand(operand, inferred, values))
      return failure();
    Value value = values.back();
    Operation *maker = value.getDefiningOp();
    if (maker && !maker->getBlock())
      maker->setLoc(
          NameLoc::get(parser.getBuilder().getStringAttr(operand.name),
                       parser.getEncodedSourceLoc(operand.location)));
  }
  return success();
}
