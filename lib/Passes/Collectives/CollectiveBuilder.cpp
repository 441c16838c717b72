#include "CollectiveBuilder.h"

using namespace mlir;
using namespace tpsp;

Value tpsp::createCollective(OpBuilder &builder, Location loc, Value value,
                             const CollectiveStep &step, const Mesh &mesh,
                             StringRef reason, StringRef tensor) {
  // A collective's operation is called as its kind is.
  OperationState state(loc, ("tpsp." + name(step.kind)).str());
  SmallVector<StringRef> axes;
  for (AxisId axis : step.axes)
    axes.push_back(mesh.axis(axis).name);
  state.addOperands(value);
  state.addAttribute("axes", builder.getStrArrayAttr(axes));
  state.addAttribute("reason", builder.getStringAttr(reason));
  state.addAttribute("tensor", builder.getStringAttr(tensor));
  state.addTypes(
      withPlacement(cast<RankedTensorType>(value.getType()), step.after, mesh));
  return builder.create(state)->getResult(0);
}

void tpsp::copyPhase(Operation *from, Operation *to) {
  for (StringRef name : {backwardAttrName, partAttrName, overlapAttrName})
    if (Attribute phase = from->getAttr(name))
      to->setAttr(name, phase);
}
