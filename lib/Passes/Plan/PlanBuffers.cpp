#include "PlanBuffers.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

plan::BufferOp PlanBuffers::temporary(Type tensor, Location loc) {
  return plan::BufferOp::create(
      b, loc, bufferType(tensor), b.getStringAttr(plan::temporaryKind),
      StringAttr(), IntegerAttr(), TypeAttr(), IntegerAttr());
}

Value PlanBuffers::define(Value value) {
  if (BlockArgument argument = overwritten(value))
    return buffers[value] = of(argument);
  return buffers[value] = temporary(value.getType(), value.getLoc());
}

Value PlanBuffers::of(Value value) {
  if (Value known = buffers.lookup(value))
    return known;
  auto view = cast<IndexedOpInterface>(value.getDefiningOp());
  assert(view.isView() && "read before it is made");
  Value source = of(view->getOperand(0));
  return buffers[value] = plan::ViewOp::create(
             b, view.getLoc(), bufferType(value.getType()), source);
}

SmallVector<Value> PlanBuffers::of(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return of(value); });
}

/// The global tensor of a local type.
TypeAttr PlanBuffers::globalTensor(Type local) const {
  auto tensor = cast<RankedTensorType>(local);
  IdxAttr idx = getIdx(local);
  Placement placement = placementOf(local, mesh);
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [extent, axes] : llvm::zip_equal(shape, placement.dims))
    extent *= mesh.groupSize(axes);
  auto global = IdxAttr::get(local.getContext(), idx.getNames(), idx.getAxes(),
                             idx.getPending(), idx.getPendingMax(),
                             /*unplaced=*/false, /*local=*/false);
  return TypeAttr::get(
      RankedTensorType::get(shape, tensor.getElementType(), global));
}

LogicalResult PlanBuffers::addArguments() {
  llvm::StringSet<> parameters;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name = tensorName(argument);
    bool isParameter = tpsp::isParameter(argument);
    bool isState = bool(function.getArgAttr(number, stateAttrName));
    if (isParameter && !parameters.insert(name).second)
      return emitErrorAt(argument) << "two parameters are called '" << name
                                   << "'; give one another name";
    auto buffer = plan::BufferOp::create(
        b, argument.getLoc(), bufferType(argument.getType()),
        b.getStringAttr(isParameter ? plan::parameterKind
                        : isState   ? plan::stateKind
                                    : plan::inputKind),
        b.getStringAttr(name), b.getI64IntegerAttr(number),
        globalTensor(function.getArgumentTypes()[number]),
        /*offset=*/IntegerAttr());
    for (auto [from, to] :
         {std::pair(belowAttrName, plan::belowAttrName),
          std::pair(meanAttrName, plan::meanAttrName),
          std::pair(deviationAttrName, plan::deviationAttrName),
          std::pair(initialDeviationAttrName, plan::initialDeviationAttrName),
          std::pair(dataAttrName, plan::dataAttrName),
          std::pair(stateAttrName, plan::stateOfAttrName),
          std::pair(masterAttrName, plan::masterAttrName),
          std::pair(scalarAttrName, plan::scalarAttrName),
          std::pair(cotangentAttrName, plan::cotangentOfAttrName)})
      if (Attribute value = function.getArgAttr(number, from))
        buffer->setAttr(to, value);
    buffers[argument] = buffer;
  }
  return success();
}

/// The name that the program gives a result, or its value.
std::string PlanBuffers::resultName(unsigned number, Value value) {
  if (auto name =
          function.getResultAttrOfType<StringAttr>(number, nameAttrName))
    return name.getValue().str();
  if (std::optional<std::string> name = sourceName(locationOf(value)))
    return *name;
  return "result" + std::to_string(number);
}

StringRef PlanBuffers::resultKind(unsigned number) {
  if (function.getResultAttr(number, gradientAttrName))
    return plan::gradientKind;
  if (function.getResultAttr(number, choiceAttrName))
    return plan::choiceKind;
  return plan::outputKind;
}

void PlanBuffers::markResults(Operation *terminator) {
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (auto of =
            function.getResultAttrOfType<IntegerAttr>(i, updatesAttrName)) {
      markUpdate(of.getInt(), i, value);
      continue;
    }
    plan::BufferOp buffer = resultBuffer(value);
    buffer.setKind(resultKind(i));
    buffer.setName(resultName(i, value));
    buffer.setNumber(i);
    if (Attribute argument = function.getResultAttr(i, gradientAttrName))
      buffer->setAttr(plan::gradientOfAttrName, argument);
    buffer.setTensorAttr(globalTensor(function.getResultTypes()[i]));
  }
}

/// An argument that is returned, or a value returned twice, is copied.
plan::BufferOp PlanBuffers::resultBuffer(Value value) {
  plan::BufferOp buffer = plan::bufferOf(of(value));
  if (buffer.getKind() == plan::temporaryKind)
    return buffer;
  plan::BufferOp target = temporary(value.getType(), value.getLoc());
  copyTo(target, value);
  return target;
}

/// Result `result` is where the argument was when the step has ended.
void PlanBuffers::markUpdate(unsigned argument, unsigned result, Value value) {
  Value target = of(function.getArgument(argument));
  if (of(value) != target)
    copyTo(target, value);
  plan::bufferOf(target)->setAttr(plan::updatedByAttrName,
                                  b.getI64IntegerAttr(result));
}

void PlanBuffers::copyTo(Value target, Value value) {
  Value source = of(value);
  int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
  plan::SliceOp::create(b, value.getLoc(), source, target,
                        b.getDenseI64ArrayAttr({}), b.getI64IntegerAttr(1),
                        b.getI64IntegerAttr(elements), b.getI64IntegerAttr(0),
                        plan::LedgerAttr(), b.getI64IntegerAttr(0));
}
