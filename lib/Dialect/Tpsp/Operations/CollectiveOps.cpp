// The collective operations, and the check that their types agree.
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The axes that `op` names; fails at a name that the mesh lacks.
static FailureOr<AxisList> axesNamed(Operation *op, ArrayAttr names,
                                     const Mesh &mesh) {
  AxisList axes;
  for (auto name : names.getAsRange<StringAttr>()) {
    std::optional<AxisId> id = mesh.find(name.getValue());
    if (!id)
      return op->emitOpError("names axis @")
             << name.getValue() << ", which the mesh does not have";
    axes.push_back(*id);
  }
  return axes;
}

/// The number of ranks among which `op` exchanges.
static FailureOr<int64_t> groupOf(ExchangeOpInterface op) {
  Mesh mesh = meshOf(op);
  FailureOr<AxisList> axes = axesNamed(op, op.getExchangeAxes(), mesh);
  if (failed(axes))
    return failure();
  return mesh.groupSize(*axes);
}

LogicalResult RotateOp::verify() { // (C4)
  FailureOr<int64_t> group = groupOf(*this);
  if (failed(group))
    return failure();
  int64_t by = getBy();
  if (by > 0 && by < *group)
    return success();
  return emitOpError("by ")
         << by << " is no rotation of a ring of " << *group << " ranks";
}

LogicalResult MirrorOp::verify() { // (C5)
  FailureOr<int64_t> group = groupOf(*this);
  if (failed(group))
    return failure();
  if (*group > 1)
    return success();
  return emitOpError(
      "is of a group of one rank, which has no other to exchange "
      "with; leave it out");
}

SmallVector<int64_t> MirrorOp::getSources(int64_t group) {
  return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(group)));
}

SmallVector<int64_t> RotateOp::getSources(int64_t group) {
  SmallVector<int64_t> from;
  for (int64_t rank = 0; rank < group; ++rank)
    from.push_back((rank + group - int64_t(getBy())) % group);
  return from;
}

int64_t PermuteOp::getShift() { return int64_t(getBy()); }

/// (C6)
static LogicalResult verifyShift(CollectiveOpInterface op, Type from, Type to,
                                 const AxisList &axes, const Mesh &mesh) {
  int64_t by = op.getShift(), group = mesh.groupSize(axes);
  if (from != to)
    return op->emitOpError("hands shards on, and changes their type: ")
           << from << " to " << to;
  if (!shiftStep(placementOf(from, mesh), axes))
    return op->emitOpError("over (")
           << mesh.names(axes) << "), which divide no index of ["
           << subscripts(from) << "] alone";
  if (by > 0 && by < group)
    return success();
  return op->emitOpError("by ")
         << by << " is no shift among " << group << " ranks";
}

/// (C1), (C3), (C6) for one operand and its result.
static LogicalResult verifyMove(Operation *op, Type from, Type to,
                                const Mesh &mesh) {
  auto collective = cast<CollectiveOpInterface>(op);
  FailureOr<AxisList> declared = axesNamed(op, collective.getAxes(), mesh);
  if (failed(declared))
    return failure();
  if (collective.getShift() != 0)
    return verifyShift(collective, from, to, *declared, mesh);
  std::optional<CollectiveStep> step =
      stepOfKind(collective.getCollectiveKind(), placementOf(from, mesh),
                 placementOf(to, mesh), mesh);
  if (step && step->axes == *declared)
    return success();
  return op->emitOpError("over (")
         << mesh.names(*declared) << ") does not take [" << subscripts(from)
         << "] to [" << subscripts(to) << "]";
}

LogicalResult tpsp::verifyCollectiveOp(Operation *op) {
  if (op->getNumOperands() != op->getNumResults())
    return op->emitOpError("has one result for each operand");
  Mesh mesh = meshOf(op);
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  if (failed(verifySubscripts(op, types, mesh)))
    return failure();
  for (auto [from, to] :
       llvm::zip_equal(op->getOperandTypes(), op->getResultTypes())) {
    auto fromType = cast<RankedTensorType>(from);
    auto toType = cast<RankedTensorType>(to);
    bool sameTensor = getIdx(from).getNames() == getIdx(to).getNames() &&
                      fromType.getElementType() == toType.getElementType();
    bool sameShape =
        getIdx(from).getLocal() || fromType.getShape() == toType.getShape();
    if (!sameTensor || !sameShape) // (C2)
      return op->emitOpError("changes more than subscripts: ")
             << from << " to " << to;
    if (failed(verifyMove(op, from, to, mesh)))
      return failure();
  }
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.cpp.inc"
