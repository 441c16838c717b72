#include "PlanBuffers.h"

#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

plan::BufferOp PlanBuffers::temporary(Type tensor, Location loc) {
  return plan::BufferOp::create(b, loc, bufferType(tensor),
                                BufferKind::Temporary);
}

Value PlanBuffers::define(Value value) {
  if (Value memory = overwritten(value))
    return buffers[value] = of(memory);
  plan::BufferOp buffer = temporary(value.getType(), value.getLoc());
  buffer.setForGradient(gradients && gradients->has(value));
  return buffers[value] = buffer;
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

/// Copies the argument's description in the program to its buffer.
void PlanBuffers::describeArgument(plan::BufferOp buffer, unsigned number) {
  auto said = [&](StringRef name) { return function.getArgAttr(number, name); };
  auto integer = [&](StringRef name) {
    return dyn_cast_or_null<IntegerAttr>(said(name));
  };
  auto real = [&](StringRef name) {
    return dyn_cast_or_null<FloatAttr>(said(name));
  };
  IntegerAttr state = integer(stateAttrName);
  buffer.setNumber(number);
  auto cutRow = dyn_cast_or_null<TypeAttr>(said(cutRowAttrName));
  buffer.setTensorAttr(
      cutRow ? cutRow : globalTensor(function.getArgumentTypes()[number]));
  buffer.setOfAttr(state ? state : integer(cotangentAttrName));
  buffer.setBelowAttr(integer(belowAttrName));
  buffer.setDataAttr(dyn_cast_or_null<StringAttr>(said(dataAttrName)));
  buffer.setMeanAttr(real(meanAttrName));
  buffer.setDeviationAttr(real(deviationAttrName));
  buffer.setInitialDeviationAttr(real(initialDeviationAttrName));
  buffer.setMaster(bool(said(masterAttrName)));
  buffer.setScalar(bool(said(scalarAttrName)));
  buffer.setCutAttr(integer(cutAttrName));
}

LogicalResult PlanBuffers::addArguments() {
  llvm::StringSet<> names;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name = tensorName(argument);
    bool isParameter = tpsp::isParameter(argument);
    bool isState = bool(function.getArgAttr(number, stateAttrName));
    // Files, tables and gradients are identified by names. Only results may
    // share one.
    bool isCotangent = bool(function.getArgAttr(number, cotangentAttrName));
    if (!isCotangent && !names.insert(name).second)
      return emitErrorAt(argument) << "two arguments are called '" << name
                                   << "'; give one another name";
    auto buffer = plan::BufferOp::create(b, argument.getLoc(),
                                         bufferType(argument.getType()),
                                         isParameter ? BufferKind::Parameter
                                         : isState   ? BufferKind::State
                                                     : BufferKind::Input);
    buffer.setName(name);
    describeArgument(buffer, number);
    buffers[argument] = buffer;
  }
  return success();
}

BufferKind PlanBuffers::resultKind(unsigned number) {
  if (function.getResultAttr(number, gradientAttrName))
    return BufferKind::Gradient;
  if (function.getResultAttr(number, choiceAttrName))
    return BufferKind::Choice;
  return BufferKind::Output;
}

void PlanBuffers::markResults(ValueRange results) {
  for (auto [i, value] : llvm::enumerate(results)) {
    if (auto of =
            function.getResultAttrOfType<IntegerAttr>(i, updatesAttrName)) {
      markUpdate(of.getInt(), i, value);
      continue;
    }
    plan::BufferOp buffer = resultBuffer(value);
    buffer.setKind(resultKind(i));
    buffer.setForGradient(false);
    buffer.setName(resultName(function, i));
    buffer.setNumber(i);
    buffer.setOfAttr(
        function.getResultAttrOfType<IntegerAttr>(i, gradientAttrName));
    auto cutRow = function.getResultAttrOfType<TypeAttr>(i, cutRowAttrName);
    buffer.setTensorAttr(cutRow ? cutRow
                                : globalTensor(function.getResultTypes()[i]));
    buffer.setCutAttr(
        function.getResultAttrOfType<IntegerAttr>(i, cutAttrName));
  }
}

/// The buffer of a result. An argument that is returned, or a value returned
/// twice, is copied.
plan::BufferOp PlanBuffers::resultBuffer(Value value) {
  plan::BufferOp buffer = plan::bufferOf(of(value));
  if (buffer.getKind() == BufferKind::Temporary)
    return buffer;
  plan::BufferOp target = temporary(value.getType(), value.getLoc());
  copyTo(target, value);
  return target;
}

/// Ensures that result `result` is in the argument's memory at the end of the
/// step.
void PlanBuffers::markUpdate(unsigned argument, unsigned result, Value value) {
  Value target = of(function.getArgument(argument));
  if (of(value) != target)
    copyTo(target, value);
  plan::bufferOf(target).setUpdatedBy(result);
}

void PlanBuffers::copyTo(Value target, Value value) {
  Value source = of(value);
  int64_t elements = typeOf(value).getNumElements();
  plan::SliceOp::create(b, value.getLoc(), source, target,
                        b.getDenseI64ArrayAttr({}), b.getI64IntegerAttr(1),
                        b.getI64IntegerAttr(elements), b.getI64IntegerAttr(0),
                        plan::LedgerAttr(), b.getI64IntegerAttr(0));
}
