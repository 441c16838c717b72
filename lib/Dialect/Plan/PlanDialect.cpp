#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "tpsp/Runtime/tpsp_rt.h"

using namespace mlir;
using namespace tpsp::plan;

#include "tpsp/Dialect/Plan/PlanDialect.cpp.inc"
#include "tpsp/Dialect/Plan/PlanInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "tpsp/Dialect/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Plan/PlanOps.cpp.inc"
      >();
}

int64_t tpsp::plan::runtimeType(Type elementType) {
  if (elementType.isBF16())
    return TPSP_RT_BF16;
  if (elementType.isF64())
    return TPSP_RT_F64;
  if (elementType.isInteger(32))
    return TPSP_RT_I32;
  if (elementType.isInteger(64))
    return TPSP_RT_I64;
  if (elementType.isInteger(8))
    return TPSP_RT_I8;
  return TPSP_RT_F32;
}

int64_t tpsp::plan::bytesOf(Type memref) {
  auto type = cast<MemRefType>(memref);
  return type.getNumElements() * (type.getElementTypeBitWidth() / 8);
}

BufferOp tpsp::plan::bufferOf(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getSource();
  return value.getDefiningOp<BufferOp>();
}

LogicalResult BufferOp::verify() {
  for (StringRef known :
       {inputKind, parameterKind, outputKind, gradientKind, temporaryKind})
    if (getKind() == known)
      return success();
  return emitOpError("has the unknown kind \"") << getKind() << "\"";
}

LogicalResult ViewOp::verify() {
  if (bytesOf(getSource().getType()) == bytesOf(getResult().getType()))
    return success();
  return emitOpError("changes the number of bytes");
}

LogicalResult tpsp::plan::verifyCommand(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!bufferOf(operand))
      return op->emitOpError("operand #")
             << i << " is neither a plan.buffer nor a view of one";
  return success();
}

LogicalResult MatmulOp::verify() {
  if (getSizes().size() != 3 || getLeading().size() != 3)
    return emitOpError("needs three sizes (m, n, k) and three leading "
                       "dimensions, not ")
           << getSizes().size() << " and " << getLeading().size();
  if (getBatch().size() % 4 != 0 || getAccumulate().size() % 4 != 0)
    return emitOpError("loops are of four numbers each: extent and strides");
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (getExtents().size() == 5)
    return success();
  return emitOpError("needs five extents, not ") << getExtents().size();
}
