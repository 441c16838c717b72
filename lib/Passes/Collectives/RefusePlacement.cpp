// The error of an operation that has no legal compute placement.
#include "CollectiveBuilder.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Two summands of a sum that is wanted pending over an axis: one that is whole
/// along the axis, and one that is pending.
struct MixedSummands {
  unsigned whole, pending;
  AxisId axis;
};

} // namespace

static Placement placedAs(Value value, const Mesh &mesh) {
  return placementOf(value.getType(), mesh);
}

/// nullopt if `op` is no sum of its operands, or has no such summands.
static std::optional<MixedSummands> findMixed(IndexedOpInterface op,
                                              const Mesh &mesh) {
  if (op.getLinearity() != Linearity::Joint)
    return std::nullopt;
  for (AxisId axis : placedAs(op->getResult(0), mesh).pending) {
    std::optional<unsigned> whole, pending;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!isUnplaced(operand.getType()))
        (placedAs(operand, mesh).isPending(axis) ? pending : whole) = i;
    if (whole && pending)
      return MixedSummands{*whole, *pending, axis};
  }
  return std::nullopt;
}

/// "operand #1 'bias' [d]"
static std::string describe(Operation *op, unsigned i) {
  Value value = op->getOperand(i);
  std::string name = tensorName(value);
  return "operand #" + std::to_string(i) +
         (name.empty() ? "" : " '" + name + "'") + " [" +
         subscripts(value.getType()) + "]";
}

static LogicalResult refuseMixed(IndexedOpInterface op, MixedSummands summands,
                                 const Mesh &mesh) {
  Value sum = op->getOperand(summands.pending);
  RankedTensorType type = typeOf(sum);
  Placement from = placedAs(sum, mesh), to = from;
  llvm::erase(to.pending, summands.axis);
  int64_t bytes = cost(*planTransition(from, to, type.getShape(), mesh), from,
                       type.getShape(), type.getElementTypeBitWidth() / 8, mesh)
                      .bytes;
  std::string axis = "@" + mesh.axis(summands.axis).name;
  return op->emitOpError()
         << describe(op, summands.whole) << " is whole along " << axis
         << ", and the result is wanted as a sum that is pending over " << axis
         << ": all " << mesh.size(summands.axis)
         << " ranks would add it; complete " << describe(op, summands.pending)
         << " first: tpsp.reshard to ["
         << subscripts(withPlacement(type, to, mesh)) << "] sends "
         << rt::bytesText(double(bytes))
         << " per rank; or write '?' for the result's placement, and the "
            "compiler does so";
}

LogicalResult tpsp::refusePlacement(IndexedOpInterface op) {
  Mesh mesh = meshOf(op);
  if (std::optional<MixedSummands> summands = findMixed(op, mesh))
    return refuseMixed(op, *summands, mesh);
  InFlightDiagnostic diag =
      op->emitOpError("has no legal compute placement: its result is wanted [");
  diag << subscripts(op->getResult(0).getType())
       << "], which cannot be made from its operands; a whole tensor cannot "
          "become partial, and axes must divide the extents they shard";
  return diag;
}
