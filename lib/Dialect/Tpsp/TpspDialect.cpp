#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tpsp;

#include "tpsp/Dialect/Tpsp/TpspDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Tpsp/TpspAttrs.cpp.inc"

#include "tpsp/Dialect/Tpsp/TpspInterfaces.cpp.inc"

namespace {
/// A model may be written as functions that call each other; they are inlined
/// before anything else.
struct TpspInliner : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void TpspDialect::initialize() {
  addInterfaces<TpspInliner>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpsp/Dialect/Tpsp/TpspAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/TpspOps.cpp.inc"
      >();
}

LogicalResult TpspDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attr) {
  if (attr.getName() == cotangentAttrName)
    return success();
  if (attr.getName() == nameAttrName) {
    if (isa<StringAttr>(attr.getValue()))
      return success();
    return op->emitOpError("argument #")
           << argument << ": " << nameAttrName << " is a string";
  }
  if (attr.getName() == belowAttrName) {
    auto bound = dyn_cast<IntegerAttr>(attr.getValue());
    if (bound && bound.getInt() > 0)
      return success();
    return op->emitOpError("argument #")
           << argument << ": " << belowAttrName << " is a positive integer";
  }
  if (attr.getName() != paramAttrName)
    return op->emitOpError("argument #")
           << argument << " has an unknown attribute '"
           << attr.getName().getValue() << "'; known are '" << paramAttrName
           << "', '" << nameAttrName << "' and '" << belowAttrName << "'";
  if (!isa<UnitAttr, StringAttr>(attr.getValue()))
    return op->emitOpError("argument #")
           << argument << ": " << paramAttrName
           << " takes no value or the parameter's name as a string";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && !getIdx(function.getArgumentTypes()[argument]))
    return op->emitOpError("argument #")
           << argument
           << " is a parameter but not a tensor with #tpsp.idx subscripts";
  if (function &&
      getElementTypeOrSelf(function.getArgumentTypes()[argument]).isInteger())
    return op->emitOpError("argument #")
           << argument << " is a parameter of integers, which no step changes; "
           << "call it " << nameAttrName;
  return success();
}

LogicalResult TpspDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  bool isMark = llvm::is_contained({backwardAttrName, recomputeAttrName,
                                    recomputedAttrName, propagatedAttrName},
                                   attr.getName().getValue());
  if (isMark && !isa<UnitAttr>(attr.getValue()))
    return op->emitOpError() << attr.getName().getValue() << " takes no value";
  if (attr.getName() == partAttrName && !isa<IntegerAttr>(attr.getValue()))
    return op->emitOpError() << partAttrName << " is a number";
  if (attr.getName() == goalAttrName) {
    auto goal = dyn_cast<TypeAttr>(attr.getValue());
    Type result =
        op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
    if (!goal || !result || !getIdx(result) || !getIdx(goal.getValue()) ||
        getIdx(goal.getValue()).getNames() != getIdx(result).getNames())
      return op->emitOpError()
             << goalAttrName << " is a type with the result's indices, not "
             << attr.getValue();
  }
  if (attr.getName() == overlapAttrName) {
    auto share = dyn_cast<FloatAttr>(attr.getValue());
    if (!share ||
        !(share.getValueAsDouble() >= 0 && share.getValueAsDouble() <= 1))
      return op->emitOpError() << overlapAttrName
                               << " is a share of communication, from 0.0 to "
                                  "1.0, not "
                               << attr.getValue();
  }
  return success();
}

/// One type if all agree, a functional type otherwise.
static ParseResult parseOperandAndResultTypes(
    OpAsmParser &parser,
    const SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
    SmallVectorImpl<Type> &operands, Type &result) {
  if (succeeded(parser.parseOptionalLParen())) {
    if (failed(parser.parseOptionalRParen()) &&
        (parser.parseTypeList(operands) || parser.parseRParen()))
      return failure();
    return failure(parser.parseArrow() || parser.parseType(result));
  }
  Type operand;
  if (parser.parseType(operand))
    return failure();
  operands.assign(inputs.size(), operand);
  result = operand;
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(result);
  return success();
}

static void printOperandAndResultTypes(OpAsmPrinter &printer, Operation *op,
                                       OperandRange, TypeRange operands,
                                       Type result) {
  bool alike = llvm::all_equal(operands) && !operands.empty();
  if (!alike) {
    printer.printFunctionalType(op);
    return;
  }
  printer << operands.front();
  if (operands.front() != result)
    printer << " -> " << result;
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/TpspOps.cpp.inc"
