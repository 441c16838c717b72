#include "LoopParts.h"
#include "Passes/Kernels/DeviceLimits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tpsp;

Value tpsp::sharedBuffer(OpBuilder &b, gpu::GPUFuncOp kernel,
                         ArrayRef<int64_t> extents, Type element) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(extents, element, AffineMap(), space);
  Value buffer = kernel.addWorkgroupAttribution(type, kernel.getLoc());
  kernel.setWorkgroupAttributionAttr(
      kernel.getNumWorkgroupAttributions() - 1,
      b.getStringAttr(LLVM::LLVMDialect::getAlignAttrName()),
      b.getI64IntegerAttr(BlockMemory::alignment));
  return buffer;
}

Value LoopParts::keptPoints() {
  int64_t points = plan.pointsOf(loop.kept);
  return shape.range && points > 1 ? thread.rangeCount : constant(points);
}

void LoopParts::locate(ArrayRef<unsigned> dims, Value number, Point &point) {
  point.resize(plan.extents.size());
  const unsigned *outermost =
      llvm::find_if(dims, [&](unsigned dim) { return plan.extents[dim] > 1; });
  for (const unsigned *dim = dims.end(); dim != dims.begin();) {
    --dim;
    int64_t extent = plan.extents[*dim];
    bool isLast = dim <= outermost;
    point[*dim] = extent == 1 ? constant(0)
                  : isLast    ? number
                              : remainder(number, extent);
    if (extent > 1 && !isLast)
      number = quotient(number, extent);
  }
}

SmallVector<Value> LoopParts::neutralSums() {
  return llvm::map_to_vector(loop.sums, [&](unsigned number) -> Value {
    return arith::ConstantOp::create(
        b, loc, *arith::getNeutralElement(loop.combiner(number)));
  });
}

Value LoopParts::combined(unsigned number, Value x, Value y) {
  Operation *combiner = loop.combiner(number);
  IRMapping operands;
  operands.map(combiner->getOperand(0), x);
  operands.map(combiner->getOperand(1), y);
  return b.clone(*combiner, operands)->getResult(0);
}

void LoopParts::shuffle(MutableArrayRef<Value> sums) {
  const SumLayout &layout = plan.layout;
  int64_t first = layout.threadsInnermost ? 1 : layout.points;
  for (int64_t distance = first; distance < first * layout.shuffled;
       distance *= 2)
    for (auto [number, sum] : llvm::zip(loop.sums, sums)) {
      auto other = gpu::ShuffleOp::create(b, loc, sum, int32_t(distance),
                                          int32_t(warp), gpu::ShuffleMode::XOR);
      sum = combined(number, sum, other.getShuffleResult());
    }
}
