#include "Placed.h"

#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"

#include "SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tpsp;

PlacedStructure::PlacedStructure(IndexedOpInterface op, const Mesh &mesh)
    : structure(op.getIndexStructure()), mesh(mesh) {
  for (Type type : op->getOperandTypes())
    operands.push_back(placementOf(type, mesh));
  for (Type type : op->getResultTypes())
    wanted.push_back(isUnplaced(type) ? std::nullopt
                                      : std::optional(placementOf(type, mesh)));
  for (Value operand : op->getOperands())
    weights.push_back(isWeight(operand));
  for (Value result : op->getResults())
    weights.push_back(isWeight(result));
}

Signature tpsp::signatureOf(IndexedOpInterface op) {
  Signature signature = {op->getName().getAsOpaquePointer(),
                         op->getPropertiesAsAttribute().getAsOpaquePointer()};
  auto add = [&](Value value) {
    signature.push_back(value.getType().getAsOpaquePointer());
    signature.push_back(isWeight(value) ? signature.front() : nullptr);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  return signature;
}

/// Whether `op` changes the elements of a single tensor: scales or converts
/// them, or adds 1 to a norm's gain.
static bool isElementByElement(Operation *op) {
  return op->getNumOperands() == 1 && isa<LoopOpInterface>(op) &&
         getIdx(op->getOperand(0)).getNames() ==
             getIdx(op->getResult(0)).getNames();
}

/// The value that this value is, before reshapes and elementwise changes. It is
/// an argument, the result of an operation that combines its operands, or a
/// value marked as a parameter's gradient.
///
/// Only a few operations prepare a parameter, so the walk is limited. Without a
/// limit, a chain of activations would be walked back to its beginning from
/// each of its members.
static Value sourceOf(Value value) {
  constexpr unsigned longestPreparation = 32;
  for (unsigned step = 0; step < longestPreparation; ++step) {
    auto op = value.getDefiningOp<IndexedOpInterface>();
    if (!op || getResultAttr(value, weightAttrName) ||
        (!op.isView() && !isElementByElement(op)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

BlockArgument tpsp::argumentBehind(Value value) {
  return dyn_cast<BlockArgument>(sourceOf(value));
}

bool tpsp::isParameter(BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(), paramAttrName);
}

bool tpsp::isWeight(Value value) {
  Value source = sourceOf(value);
  if (auto argument = dyn_cast<BlockArgument>(source))
    return isParameter(argument);
  return bool(getResultAttr(source, weightAttrName));
}

int64_t tpsp::localBytes(Type type, const Mesh &mesh) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t elements =
      getIdx(type).getLocal()
          ? tensor.getNumElements()
          : llvm::product_of(
                localShape(tensor.getShape(), placementOf(type, mesh), mesh));
  return elements * tensor.getElementTypeBitWidth() / 8;
}

static std::string argumentName(BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (function)
    for (StringRef attribute : {paramAttrName, nameAttrName})
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), attribute))
        return name.getValue().str();
  if (std::optional<std::string> name = sourceName(argument.getLoc()))
    return *name;
  return "arg" + std::to_string(argument.getArgNumber());
}

std::string tpsp::operandName(Operation *op, unsigned operand) {
  std::string name = nameInSource(op->getOperand(operand));
  return name.empty() ? "operand #" + std::to_string(operand) : name;
}

std::string tpsp::tensorName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentName(argument);
  if (std::optional<std::string> name = sourceName(locationOf(value)))
    return *name;
  return value.getDefiningOp()->getName().stripDialect().str();
}

std::string tpsp::resultName(FunctionOpInterface function, unsigned number) {
  if (auto name =
          function.getResultAttrOfType<StringAttr>(number, nameAttrName))
    return name.getValue().str();
  Block &body = function.getFunctionBody().front();
  Value value = body.getTerminator()->getOperand(number);
  if (std::optional<std::string> name = sourceName(locationOf(value)))
    return *name;
  return "result" + std::to_string(number);
}
