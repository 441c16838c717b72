// The serial form of a device kernel, and what both forms share.
#include "tpsp/Passes/DeviceKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tpsp;

/// Threads of a block, where nothing says otherwise: four warps, so that a grid
/// of few items still has several blocks.
static constexpr int64_t serialThreads = 128;

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

gpu::GPUFuncOp tpsp::createDeviceKernel(OpBuilder &b, func::FuncOp function) {
  auto kernel =
      gpu::GPUFuncOp::create(b, function.getLoc(), function.getSymName(),
                             function.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // Without this every store might change what a later load reads.
  if (ArrayAttr attributes = function.getArgAttrsAttr())
    kernel.setArgAttrsAttr(attributes);
  return kernel;
}

namespace {

class SerialEmitter {
public:
  SerialEmitter(OpBuilder &b, KernelSource from)
      : b(b), source(from), loc(source.function.getLoc()) {}

  gpu::GPUFuncOp emit() {
    gpu::GPUFuncOp kernel = createDeviceKernel(b, source.function);
    setLaunch(kernel, {serialThreads, serialThreads, 0});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    map.map(source.function.getArguments(),
            kernel.getArguments().take_front(source.function.getNumArguments()));
    Value last = map.lookup(source.end());
    takeItem();
    cloneRows();
    Value isItem = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         item, last);
    auto guarded = scf::IfOp::create(b, loc, isItem, /*withElse=*/false);
    gpu::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(guarded.thenBlock());
    cloneItem();
    return kernel;
  }

private:
  /// The thread's item, and the range of it alone.
  void takeItem() {
    auto x = gpu::Dimension::x;
    Value threads = arith::ConstantIndexOp::create(b, loc, serialThreads);
    Value block = gpu::BlockIdOp::create(b, loc, x);
    Value thread = gpu::ThreadIdOp::create(b, loc, x);
    Value first = arith::MulIOp::create(b, loc, block, threads);
    first = arith::AddIOp::create(b, loc, first, map.lookup(source.begin()));
    item = arith::AddIOp::create(b, loc, first, thread);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    map.map(source.begin(), item);
    map.map(source.end(), arith::AddIOp::create(b, loc, item, one).getResult());
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
        b.clone(inner, map);
    }
  }

  OpBuilder &b;
  KernelSource source;
  Location loc;
  IRMapping map;
  Value item;
};

} // namespace

gpu::GPUFuncOp tpsp::emitSerialKernel(OpBuilder &b,
                                      KernelSource source) {
  return SerialEmitter(b, source).emit();
}
