#include "Ledger.h"

#include "tpsp/Abi/CheckedMath.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

CollectiveStep tpsp::stepOf(CollectiveOpInterface op, const Mesh &mesh) {
  return stepOf(op, op->getOperand(0), op->getResult(0), mesh);
}

CollectiveStep tpsp::stepOf(CollectiveOpInterface op, Value operand,
                            Value result, const Mesh &mesh) {
  if (op.getShift() != 0) {
    AxisList axes;
    for (auto axis : op.getAxes().getAsRange<StringAttr>())
      axes.push_back(*mesh.find(axis.getValue()));
    return *shiftStep(placementOf(operand.getType(), mesh), axes);
  }
  return *stepOfKind(op.getCollectiveKind(),
                     placementOf(operand.getType(), mesh),
                     placementOf(result.getType(), mesh), mesh);
}

static std::string movedIndex(Value operand, const CollectiveStep &step) {
  IdxAttr idx = getIdx(operand);
  auto nameOf = [&](unsigned dim) { return idx.getNames()[dim].str(); };
  if (step.from && step.to && step.from != step.to)
    return nameOf(*step.from) + " -> " + nameOf(*step.to);
  if (step.from)
    return nameOf(*step.from);
  return step.to ? nameOf(*step.to) : "";
}

/// The indices of all its tensors, each once.
static std::string movedIndices(CollectiveOpInterface op, const Mesh &mesh) {
  llvm::SmallSetVector<StringAttr, 4> indices;
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults())) {
    CollectiveStep step = stepOf(op, operand, result, mesh);
    indices.insert(StringAttr::get(op.getContext(), movedIndex(operand, step)));
  }
  return llvm::join(
      llvm::map_range(indices,
                      [](StringAttr index) { return index.getValue(); }),
      ",");
}

int64_t tpsp::timesOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto parts = function
                   ? function->getAttrOfType<IntegerAttr>(microBatchesAttrName)
                   : IntegerAttr();
  return parts && hasPart(op) ? parts.getInt() : 1;
}

LedgerRow tpsp::ledgerOf(CollectiveOpInterface op, const Mesh &mesh) {
  CollectiveStep step = stepOf(op, mesh);
  auto text = [](StringAttr attr) {
    return attr ? attr.getValue().str() : std::string();
  };
  LedgerRow row;
  row.kind = step.kind;
  for (auto axis : op.getAxes().getAsRange<StringAttr>())
    row.axes.push_back(axis.getValue().str());
  row.index = op->hasAttr(movedIndexAttrName)
                  ? text(op->getAttrOfType<StringAttr>(movedIndexAttrName))
                  : movedIndices(op, mesh);
  row.phase = phaseOf(op);
  row.group = mesh.groupSize(step.axes);
  for (auto [operand, result] :
       llvm::zip_equal(op->getOperands(), op->getResults()))
    row.bytes = rt::saturatedSum(
        row.bytes, bytesSent(step.kind,
                             std::max(localBytes(operand.getType(), mesh),
                                      localBytes(result.getType(), mesh)),
                             row.group));
  row.times = timesOf(op);
  row.tensor = text(op.getTensorAttr());
  row.reason = text(op.getReasonAttr());
  if (DenseI64ArrayAttr gradients = op.getGradientsAttr())
    row.gradients = gradients.asArrayRef().vec();
  if (auto overlap = op->getAttrOfType<FloatAttr>(overlapAttrName))
    row.overlap = overlap.getValueAsDouble();
  return row;
}

std::string tpsp::axesOf(const LedgerRow &row) {
  return llvm::join(row.axes, ",");
}

LedgerRow tpsp::rowOfPiece(LedgerRow row, int64_t pieces, int64_t whole) {
  row.bytes /= pieces;
  row.whole = whole;
  return row;
}
