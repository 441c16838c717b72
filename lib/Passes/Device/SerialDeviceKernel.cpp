// The serial form of a device kernel, and what both forms share.
#include "DeviceKernels.h"
#include "RowLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tpsp;

/// Threads of a block; one warp where there would be few blocks.
static constexpr int64_t mostThreads = 128;
static constexpr int64_t fewThreads = 32;
static constexpr int64_t manyThreads = 264 * mostThreads;

/// Of a buffer in an arena, at least; what the widest access of a thread needs.
static constexpr int64_t bufferAlignment = 16;

static constexpr llvm::StringLiteral launchAttrName = "tpsp.launch";

void tpsp::setLaunch(Operation *kernel, DeviceLaunch launch) {
  kernel->setAttr(launchAttrName,
                  DenseI64ArrayAttr::get(
                      kernel->getContext(),
                      {launch.threads, launch.items, launch.sharedBytes}));
}

DeviceLaunch tpsp::launchOf(Operation *kernel) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(launchAttrName);
  if (!numbers || numbers.size() != 3)
    return {};
  return {numbers[0], numbers[1], numbers[2]};
}

static Value argumentFromBack(func::FuncOp function, unsigned number) {
  return function.getArgument(function.getNumArguments() - number);
}

Value KernelSource::begin() const { return argumentFromBack(function, 2); }
Value KernelSource::end() const { return argumentFromBack(function, 1); }

scf::ForOp KernelSource::itemLoop() const {
  func::FuncOp kernel = function;
  for (auto loop : kernel.getBody().getOps<scf::ForOp>())
    if (loop.getLowerBound() == begin() && loop.getUpperBound() == end())
      return loop;
  return {};
}

gpu::GPUFuncOp tpsp::createDeviceKernel(OpBuilder &b, KernelSource source) {
  func::FuncOp function = source.function;
  auto kernel = gpu::GPUFuncOp::create(
      b, function.getLoc(), function.getSymName(), function.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // Without this every store might change what a later load reads.
  if (ArrayAttr attributes = function.getArgAttrsAttr())
    kernel.setArgAttrsAttr(attributes);
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (source.isAligned && isa<MemRefType>(type))
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(bufferAlignment));
  return kernel;
}

namespace {

class SerialEmitter {
public:
  SerialEmitter(OpBuilder &b, KernelSource from)
      : b(b), source(from), loc(source.function.getLoc()),
        lanes(findRowLanes(from)) {
    threads =
        source.grid * lanes.count < manyThreads ? fewThreads : mostThreads;
    threads = std::max(threads, lanes.count);
  }

  gpu::GPUFuncOp emit() {
    gpu::GPUFuncOp kernel = createDeviceKernel(b, source);
    setLaunch(kernel, {threads, threads / lanes.count, 0});
    kernel.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    map.map(
        source.function.getArguments(),
        kernel.getArguments().take_front(source.function.getNumArguments()));
    Value last = map.lookup(source.end());
    takeItem();
    cloneRows();
    Value isItem =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, item, last);
    auto guarded = scf::IfOp::create(b, loc, isItem, /*withElse=*/false);
    gpu::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(guarded.thenBlock());
    cloneItem();
    if (lanes.count > 1)
      shareLoops();
    return kernel;
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  /// The thread's item, and the range of it alone.
  void takeItem() {
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value first =
        arith::MulIOp::create(b, loc, block, constant(threads / lanes.count));
    first = arith::AddIOp::create(b, loc, first, map.lookup(source.begin()));
    lane = arith::RemUIOp::create(b, loc, thread, constant(lanes.count));
    Value inBlock =
        arith::DivUIOp::create(b, loc, thread, constant(lanes.count));
    item = arith::AddIOp::create(b, loc, first, inBlock);
    map.map(source.begin(), item);
    map.map(source.end(),
            arith::AddIOp::create(b, loc, item, constant(1)).getResult());
  }

  /// Room for kept rows, in the thread's own memory. An extent that is the
  /// range's is 1.
  void cloneRows() {
    for (auto row : source.function.getBody().getOps<memref::AllocaOp>()) {
      SmallVector<int64_t> shape(row.getType().getShape());
      for (int64_t &extent : shape)
        extent = ShapedType::isDynamic(extent) ? 1 : extent;
      auto type = MemRefType::get(shape, row.getType().getElementType());
      Value room = memref::AllocaOp::create(b, loc, type);
      if (type != row.getType())
        room = memref::CastOp::create(b, loc, row.getType(), room);
      map.map(row.getResult(), room);
    }
  }

  void cloneItem() {
    scf::ForOp loop = source.itemLoop();
    for (Operation &op :
         source.function.getBody().front().without_terminator()) {
      if (isa<memref::AllocaOp>(op))
        continue;
      if (&op != loop) {
        b.clone(op, map);
        continue;
      }
      map.map(loop.getInductionVar(), item);
      for (Operation &inner : loop.getBody()->without_terminator())
        cloneStep(&inner);
    }
  }

  void cloneStep(Operation *op) {
    if (auto fill = dyn_cast<linalg::FillOp>(op); fill && lanes.count > 1)
      return fillOwn(map.lookupOrDefault(fill.getDpsInputOperand(0)->get()),
                     map.lookupOrDefault(fill.getDpsInitOperand(0)->get()));
    b.clone(*op, map);
  }

  /// Fills the thread's elements.
  void fillOwn(Value value, Value memory) {
    OpBuilder::InsertionGuard guard(b);
    ArrayRef<int64_t> shape = cast<MemRefType>(memory.getType()).getShape();
    SmallVector<Value> indices;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      bool isLast = dim + 1 == shape.size();
      auto loop = scf::ForOp::create(b, loc, isLast ? lane : constant(0),
                                     constant(extent),
                                     constant(isLast ? lanes.count : 1));
      indices.push_back(loop.getInductionVar());
      b.setInsertionPointToStart(loop.getBody());
    }
    memref::StoreOp::create(b, loc, value, memory, indices);
  }

  /// Gives every thread of an item its elements of the shared loops.
  void shareLoops() {
    for (scf::ForOp loop : lanes.loops) {
      auto clone = cast<scf::ForOp>(map.lookup(loop.getOperation()));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(clone);
      clone.setLowerBound(lane);
      clone.setStep(constant(lanes.count));
    }
  }

  OpBuilder &b;
  KernelSource source;
  Location loc;
  RowLanes lanes;
  int64_t threads;
  IRMapping map;
  Value item, lane;
};

} // namespace

gpu::GPUFuncOp tpsp::emitSerialKernel(OpBuilder &b, KernelSource source) {
  return SerialEmitter(b, source).emit();
}
