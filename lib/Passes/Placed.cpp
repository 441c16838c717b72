#include "tpsp/Passes/Placed.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tpsp;

Placed::Placed(IndexedOpInterface op, const Mesh &mesh)
    : structure(op.getIndexStructure()), mesh(mesh) {
  for (Type type : op->getOperandTypes())
    operands.push_back(placementOf(type, mesh));
  for (Type type : op->getResultTypes())
    wanted.push_back(isUnplaced(type) ? std::nullopt
                                      : std::optional(placementOf(type, mesh)));
}

int64_t tpsp::localBytes(Type type, const Mesh &mesh) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  if (getIdx(type).getLocal())
    return bytes;
  for (const AxisList &axes : placementOf(type, mesh).dims)
    bytes /= mesh.groupSize(axes);
  return bytes;
}

NameLoc tpsp::sourceName(Location loc) {
  while (auto site = dyn_cast<CallSiteLoc>(loc))
    loc = site.getCallee();
  return loc->findInstanceOf<NameLoc>();
}

Location tpsp::withoutName(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getChildLoc();
  if (auto site = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(withoutName(site.getCallee()), site.getCaller());
  return loc;
}

static std::string argumentName(BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (function)
    for (StringRef attribute : {paramAttrName, nameAttrName})
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), attribute))
        return name.getValue().str();
  if (NameLoc named = sourceName(argument.getLoc()))
    return named.getName().str();
  return "arg" + std::to_string(argument.getArgNumber());
}

std::string tpsp::tensorName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentName(argument);
  if (NameLoc named = sourceName(value.getLoc()))
    return named.getName().str();
  return value.getDefiningOp()->getName().stripDialect().str();
}
