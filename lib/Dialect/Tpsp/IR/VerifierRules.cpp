#include "VerifierRules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tpsp;

LogicalResult tpsp::verifyCount(Operation *op, unsigned least, unsigned most) {
  unsigned count = op->getNumOperands();
  if (count >= least && count <= most)
    return success();
  InFlightDiagnostic diag = op->emitOpError("takes ");
  diag << least;
  if (most != least)
    diag << " or " << most;
  return diag << " operands, not " << count;
}

LogicalResult tpsp::verifySameNames(Operation *op) {
  if (getIdx(op->getOperand(0)).getNames() ==
      getIdx(op->getResult(0)).getNames())
    return success();
  return op->emitOpError("has result indices [")
         << subscripts(op->getResult(0).getType())
         << "], but they must be those of operand #0, ["
         << subscripts(op->getOperand(0).getType()) << "]";
}

LogicalResult tpsp::verifyScale(Operation *op, const llvm::APFloat &scale) {
  double value = scale.convertToDouble();
  if (value > 0 && std::isfinite(value))
    return success();
  return op->emitOpError("scale must be positive, and is ") << value;
}

LogicalResult tpsp::verifyWindow(Operation *op, IntegerAttr window) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (!window || (window.getInt() >= 1 && window.getInt() <= most))
    return success();
  InFlightDiagnostic diag = op->emitOpError("window = ") << window.getInt();
  if (window.getInt() < 1)
    return diag << ", but a query sees itself: a window is at least 1";
  return diag << " is more than there are positions; leave it out";
}

LogicalResult tpsp::verifyHasIndex(Operation *op, unsigned operand,
                                   StringRef name, StringRef attribute) {
  if (getIdx(op->getOperand(operand)).dimOf(name))
    return success();
  return op->emitOpError() << attribute << " = \"" << name
                           << "\" is not an index of operand #" << operand
                           << ", ["
                           << subscripts(op->getOperand(operand).getType())
                           << "]";
}

LogicalResult tpsp::verifyLacksIndex(Operation *op, Value tensor,
                                     StringRef name, StringRef what) {
  if (!getIdx(tensor).dimOf(name))
    return success();
  return op->emitOpError() << what << " carries index '" << name
                           << "', which it must not; "
                           << "give it another name (tpsp.rename)";
}

LogicalResult tpsp::refuseParts(Operation *op, StringRef index) {
  return op->emitOpError("computes with positions along '")
         << index
         << "', which a part of it cannot know; cut along another index, or "
            "not at all";
}

LogicalResult tpsp::refusePositions(Operation *op, StringRef index) {
  auto loop = dyn_cast<LoopOpInterface>(op);
  if (loop && llvm::is_contained(loop.getPositionIndices(), index))
    return refuseParts(op, index);
  return success();
}

LogicalResult tpsp::refuseComposite(Operation *op) {
  return op->emitOpError("is a composite; run tpsp-decompose-early before "
                         "differentiating");
}
