#include "Dialect/Tpsp/Syntax/ProgramResolution.h"
#include "Dialect/Tpsp/Tails/TailRules.h"

#include "tpsp/Abi/DataRole.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Integers/Routing.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Dialect/Tpsp/Syntax/ProgramOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tpsp;

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspTypes.cpp.inc"

#include "tpsp/Dialect/Tpsp/IR/TpspInterfaces.cpp.inc"

#include "tpsp/Dialect/Tpsp/Tails/TailInterface.cpp.inc"

namespace {
/// A model may be written as functions that call each other. They are inlined
/// before any other pass.
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
#include "tpsp/Dialect/Tpsp/IR/TpspAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "tpsp/Dialect/Tpsp/IR/TpspTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/Operations.cpp.inc"
      >();
  registerElementTails(*getContext());
  registerSumTails(*getContext());
  registerPositionTails(*getContext());
}

/// The error about `tpsp.param` on an argument of this type; empty if there is
/// none.
static std::string parameterProblem(Attribute value, Type type) {
  std::string name = paramAttrName.str();
  if (!isa<UnitAttr, StringAttr>(value))
    return ": " + name + " takes no value or the parameter's name as a string";
  if (type && !getIdx(type))
    return " is a parameter but not a tensor with #tpsp.idx subscripts";
  if (type && getElementTypeOrSelf(type).isInteger())
    return " is a parameter of integers, which no step changes; call it " +
           nameAttrName.str();
  return "";
}

/// The error about `tpsp.mean` or `tpsp.deviation`, called `name`, on an
/// argument of this type; empty if there is none.
static std::string randomnessProblem(StringRef name, Attribute value,
                                     Type type) {
  auto number = dyn_cast<FloatAttr>(value);
  bool isDeviation = name != meanAttrName;
  if (!number || !number.getValue().isFinite() ||
      (isDeviation && number.getValue().isNegative()))
    return (": " + name + " is a finite number" +
            (isDeviation ? ", 0.0 or more," : "") +
            " with a point, such as 0.02")
        .str();
  if (type && !isa<FloatType>(getElementTypeOrSelf(type)))
    return (": " + name + " is of floating-point numbers; integers have '" +
            belowAttrName + "'")
        .str();
  return "";
}

static bool isFactor(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isFinite() &&
         number.getValueAsDouble() >= 0;
}

/// The error about `tpsp.below` on an argument of this type; empty if there is
/// none.
static std::string boundProblem(Attribute value, Type type) {
  std::string name = belowAttrName.str();
  auto bound = dyn_cast<IntegerAttr>(value);
  if (!bound || !bound.getType().isInteger(64) || bound.getInt() <= 0)
    return ": " + name + " is a positive integer of 64 bits, such as 512";
  if (type && isa<FloatType>(getElementTypeOrSelf(type)))
    return ": " + name + " is of integers; floating-point numbers have '" +
           meanAttrName.str() + "' and '" + deviationAttrName.str() + "'";
  return "";
}

/// The error about `tpsp.data` on an argument of this type; empty if there is
/// none.
static std::string dataProblem(Attribute value, Type type) {
  std::string name = dataAttrName.str();
  auto role = dyn_cast<StringAttr>(value);
  if (!role || role.empty() || !findNamed<DataRole>(role.str()))
    return ": " + name +
           " is \"tokens\", \"next_tokens\", \"positions\", \"documents\", "
           "\"document_positions\" or \"labels\"";
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  if (tensor && !tensor.getElementType().isInteger())
    return ": " + name + " is of integers";
  if (tensor && isMadeOfTokens(*findNamed<DataRole>(role.str())) &&
      tensor.getRank() < 1)
    return ": " + name + " \"" + role.str() +
           "\" is of a tensor whose last index is the sequence's";
  return "";
}

/// The error about an attribute of an argument; `type` may be null.
static std::string argumentProblem(NamedAttribute attr, Type type) {
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  // Only the compiler sets these attributes.
  if (llvm::is_contained({cotangentAttrName, gradientAttrName,
                          gradientAtAttrName, stateAttrName, masterAttrName,
                          scalarAttrName, receivedAttrName, cutAttrName,
                          cutRowAttrName},
                         name))
    return "";
  if (name == paramAttrName)
    return parameterProblem(value, type);
  if (name == nameAttrName)
    return isa<StringAttr>(value) ? "" : (": " + name + " is a string").str();
  if (name == frozenAttrName)
    return isa<UnitAttr>(value) ? "" : (": " + name + " takes no value").str();
  if (name == belowAttrName)
    return boundProblem(value, type);
  if (name == dataAttrName)
    return dataProblem(value, type);
  if (name == meanAttrName || name == deviationAttrName ||
      name == initialDeviationAttrName)
    return randomnessProblem(name, value, type);
  if (name == optimizerAttrName)
    return isa<StringAttr>(value)
               ? ""
               : (": " + name + " is an optimizer's name, such as \"sgd\"")
                     .str();
  if (name == learningRateAttrName)
    return isFactor(value)
               ? ""
               : (": " + name + " is a factor from 0 with a point, such as 2.0")
                     .str();
  return (" has an unknown attribute '" + name + "'; known are '" +
          paramAttrName + "', '" + nameAttrName + "', '" + frozenAttrName +
          "', '" + belowAttrName + "', '" + meanAttrName + "', '" +
          deviationAttrName + "', '" + initialDeviationAttrName + "', '" +
          dataAttrName + "', '" + optimizerAttrName + "' and '" +
          learningRateAttrName + "'")
      .str();
}

LogicalResult TpspDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getArgumentTypes()[argument] : Type();
  std::string problem = argumentProblem(attr, type);
  if (problem.empty())
    return success();
  return op->emitOpError("argument #") << argument << problem;
}

/// Verifies that there is a dictionary for each result.
static LogicalResult verifyResultAttrs(Operation *op, Attribute value) {
  auto entries = dyn_cast<ArrayAttr>(value);
  if (!entries || entries.size() != op->getNumResults() ||
      !llvm::all_of(entries, llvm::IsaPred<DictionaryAttr>))
    return op->emitOpError() << resultsAttrName << " is a dictionary for each "
                             << "of " << op->getNumResults() << " results";
  return success();
}

/// The fault of an attribute of an operation, to be read after its name; empty
/// if it has none.
static std::string operationProblem(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  Attribute value = attr.getValue();
  if (llvm::is_contained({recomputeAttrName, proposedAttrName, choiceAttrName},
                         name))
    return isa<UnitAttr>(value) ? "" : " takes no value";
  if (name == originAttrName)
    return isa<OriginAttr>(value)
               ? ""
               : " is an origin, such as #tpsp.origin<backward>";
  if (llvm::is_contained({shortFormAttrName, namesAttrName, timesAttrName,
                          firstAttrName, writtenAttrName},
                         name))
    return " is of a program in short form; write this in tpsp.program <...> "
           "{ }";
  if (name == overlapAttrName) {
    auto share = dyn_cast<FloatAttr>(value);
    bool isShare =
        share && share.getValueAsDouble() >= 0 && share.getValueAsDouble() <= 1;
    return isShare ? ""
                   : llvm::formatv(" is a share of communication, from 0.0 to "
                                   "1.0, not {0}",
                                   value)
                         .str();
  }
  // Only the compiler sets these attributes.
  bool isKnown = llvm::is_contained(
      {nameAttrName, weightAttrName, gradientsAttrName, noteAttrName,
       updateOfAttrName, updatesAttrName, lossScaleAttrName, countAttrName,
       movedIndexAttrName, tripsAttrName, paddingAttrName, unpaddedAttrName,
       whenPlacedAttrName},
      name);
  if (isKnown || !isa<TpspDialect>(op->getDialect()))
    return "";
  return (" is an unknown attribute; known are '" + recomputeAttrName +
          "' and '" + overlapAttrName + "'")
      .str();
}

LogicalResult TpspDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == resultsAttrName)
    return verifyResultAttrs(op, attr.getValue());
  std::string problem = operationProblem(op, attr);
  if (problem.empty())
    return success();
  return op->emitOpError() << attr.getName().getValue() << problem;
}
