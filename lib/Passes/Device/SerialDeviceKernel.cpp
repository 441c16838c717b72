// The serial form of a device kernel, and functions that both forms share.
#include "DeviceKernels.h"
#include "Passes/Kernels/DeviceLimits.h"
#include "RowLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tpsp;

/// Threads of a block; one warp if there would be few blocks.
static constexpr int64_t mostThreads = 128;
static constexpr int64_t fewThreads = warp;
static constexpr int64_t manyThreads = enoughBlocks * mostThreads;

/// The most elements of a loop that are unrolled for a thread.
static constexpr int64_t mostWrittenOut = 32;

static constexpr llvm::StringLiteral launchAttrName = "tpsp.launch";

void tpsp::setLaunch(Operation *kernel, DeviceLaunch launch) {
  kernel->setAttr(launchAttrName,
                  DenseI64ArrayAttr::get(kernel->getContext(),
                                         {launch.threads, launch.items,
                                          launch.parts, launch.sharedBytes}));
}

DeviceLaunch tpsp::launchOf(Operation *kernel) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(launchAttrName);
  if (!numbers || numbers.size() != 4)
    return {};
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
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
  // Without these attributes every store might change a later load.
  if (ArrayAttr attributes = function.getArgAttrsAttr())
    kernel.setArgAttrsAttr(attributes);
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (source.isAligned && isa<MemRefType>(type))
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(widestAccess));
  return kernel;
}

namespace {

class SerialEmitter {
public:
  SerialEmitter(OpBuilder &b, KernelSource from)
      : b(b), source(from), loc(source.function.getLoc()),
        lanes(findRowLanes(from)) {
    int64_t all = source.grid * lanes.count * lanes.parts;
    threads = all < manyThreads ? fewThreads : mostThreads;
    threads = std::max(threads, lanes.count);
  }

  gpu::GPUFuncOp emit() {
    gpu::GPUFuncOp kernel = createDeviceKernel(b, source);
    setLaunch(kernel, {threads, threads / lanes.count, lanes.parts, 0});
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
    dealOut();
    if (lanes.areOwn())
      shareLoops();
    if (lanes.sum)
      shareSum();
    shareFills();
    return kernel;
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  /// Selects the thread's item as the range.
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

  /// Allocates kept rows in the thread's own memory: only the thread's elements
  /// if threads share an item. A dynamic extent, that of the range, is 1.
  void cloneRows() {
    for (auto row : source.function.getBody().getOps<memref::AllocaOp>()) {
      SmallVector<int64_t> shape(row.getType().getShape());
      for (int64_t &extent : shape)
        extent = ShapedType::isDynamic(extent) ? 1 : extent;
      if (lanes.areOwn() && !shape.empty())
        shape.back() = lanes.ownOf(shape.back());
      auto type = MemRefType::get(shape, row.getType().getElementType());
      Value room = memref::AllocaOp::create(b, loc, type);
      if (lanes.areOwn())
        ownRows.insert(room);
      else if (type != row.getType())
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
    if (auto fill = dyn_cast<linalg::FillOp>(op); fill && lanes.areOwn())
      return fillOwn(map.lookupOrDefault(fill.getDpsInputOperand(0)->get()),
                     map.lookupOrDefault(fill.getDpsInitOperand(0)->get()));
    b.clone(*op, map);
  }

  /// Fills the thread's elements.
  void fillOwn(Value value, Value memory) {
    OpBuilder::InsertionGuard guard(b);
    ArrayRef<int64_t> shape = cast<MemRefType>(memory.getType()).getShape();
    SmallVector<Value> indices;
    for (int64_t extent : shape.drop_back()) {
      auto loop = scf::ForOp::create(b, loc, constant(0), constant(extent),
                                     constant(1));
      indices.push_back(loop.getInductionVar());
      b.setInsertionPointToStart(loop.getBody());
    }
    bool isOwn = ownRows.contains(memory);
    int64_t extent =
        isOwn ? shape.back() / lanes.width * lanes.atOnce() : shape.back();
    forOwn({0, extent}, [&](Value element, Value own) {
      indices.push_back(isOwn ? own : element);
      memref::StoreOp::create(b, loc, value, memory, indices);
      indices.pop_back();
    });
  }

  /// Emits body(element, its number among the thread's) for each of the
  /// thread's elements within the bounds. A few are unrolled. Their kept values
  /// are then in registers, and neighbours become one access.
  void forOwn(LoopBounds bounds,
              llvm::function_ref<void(Value element, Value own)> body) {
    int64_t atOnce = lanes.atOnce();
    int64_t first = bounds.first / atOnce,
            last = int64_t(llvm::divideCeil(bounds.last, atOnce));
    if ((last - first) * lanes.width <= mostWrittenOut) {
      for (int64_t round = first; round < last; ++round)
        doRound(constant(round), bounds, body);
      return;
    }
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, loc, constant(first), constant(last),
                                   constant(1));
    b.setInsertionPointToStart(loop.getBody());
    doRound(loop.getInductionVar(), bounds, body);
  }

  void doRound(Value round, LoopBounds bounds,
               llvm::function_ref<void(Value element, Value own)> body) {
    bool isWhole =
        bounds.first % lanes.atOnce() == 0 && bounds.last % lanes.atOnce() == 0;
    Value number = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, round, constant(lanes.count)),
        lane);
    Value width = constant(lanes.width);
    Value element = arith::MulIOp::create(b, loc, number, width),
          own = arith::MulIOp::create(b, loc, round, width);
    for (int64_t i = 0; i < lanes.width; ++i) {
      OpBuilder::InsertionGuard guard(b);
      Value at = arith::AddIOp::create(b, loc, element, constant(i));
      if (!isWhole) {
        // An unsigned comparison: an element before the first is far above the
        // last.
        Value behind =
            arith::SubIOp::create(b, loc, at, constant(bounds.first));
        Value inside =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, behind,
                                  constant(bounds.last - bounds.first));
        auto guarded = scf::IfOp::create(b, loc, inside, /*withElse=*/false);
        b.setInsertionPointToStart(guarded.thenBlock());
      }
      body(at, arith::AddIOp::create(b, loc, own, constant(i)));
    }
  }

  /// Restricts every thread of an item to its elements of the shared loops.
  void shareLoops() {
    for (scf::ForOp loop : lanes.loops) {
      auto clone = cast<scf::ForOp>(map.lookup(loop.getOperation()));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(clone);
      forOwn(*boundsOf(loop), [&](Value element, Value own) {
        IRMapping inner;
        inner.map(clone.getInductionVar(), element);
        for (Operation &op : clone.getBody()->without_terminator())
          b.clone(op, inner)->walk(
              [&](Operation *copy) { useOwn(copy, element, own); });
      });
      clone.erase();
    }
  }

  /// If `op` accesses `element` of a row of which a thread keeps only its own
  /// elements, redirects the access to `own`.
  void useOwn(Operation *op, Value element, Value own) {
    if (!isa<memref::LoadOp, memref::StoreOp>(op))
      return;
    OpOperand &last = op->getOpOperand(op->getNumOperands() - 1);
    Value memory = isa<memref::LoadOp>(op)
                       ? cast<memref::LoadOp>(op).getMemRef()
                       : cast<memref::StoreOp>(op).getMemRef();
    if (ownRows.contains(memory) && last.get() == element)
      last.set(own);
  }

  /// Restricts every thread of the item to its elements of the runs.
  void shareFills() {
    OpBuilder::InsertionGuard guard(b);
    for (scf::ForOp loop : lanes.fills) {
      auto clone = cast<scf::ForOp>(map.lookup(loop.getOperation()));
      b.setInsertionPoint(clone);
      Value first = clone.getLowerBound();
      // The next element that belongs to the thread; the count is a power of
      // two.
      Value ahead = arith::AndIOp::create(
          b, loc, arith::SubIOp::create(b, loc, lane, first),
          constant(lanes.count - 1));
      clone.setLowerBound(arith::AddIOp::create(b, loc, first, ahead));
      clone.setStep(constant(lanes.count));
    }
  }

  /// Restricts every thread of a warp to its terms. They are added up where the
  /// complete sum is loaded, and one thread stores it.
  void shareSum() {
    OpBuilder::InsertionGuard guard(b);
    auto loop = cast<scf::ForOp>(map.lookup(lanes.sum.loop.getOperation()));
    b.setInsertionPoint(loop);
    loop.setLowerBound(
        arith::AddIOp::create(b, loc, loop.getLowerBound(), lane));
    loop.setStep(constant(lanes.count));
    Value sum = map.lookup(lanes.sum.taken.getResult());
    b.setInsertionPointAfterValue(sum);
    Value all = sum;
    llvm::SmallPtrSet<Operation *, 8> added;
    for (int64_t distance = 1; distance < lanes.count; distance *= 2) {
      auto other =
          gpu::ShuffleOp::create(b, loc, all, int32_t(distance),
                                 int32_t(lanes.count), gpu::ShuffleMode::XOR);
      all = arith::AddFOp::create(b, loc, all, other.getShuffleResult());
      added.insert(other);
      added.insert(all.getDefiningOp());
    }
    sum.replaceAllUsesExcept(all, added);
    Operation *store = map.lookup(lanes.sum.stored.getOperation());
    b.setInsertionPoint(store);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          lane, constant(0));
    auto guarded = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    store->moveBefore(guarded.thenBlock()->getTerminator());
  }

  /// Restricts every part of an item to its points of the distributed loops.
  void dealOut() {
    if (lanes.parts == 1)
      return;
    OpBuilder::InsertionGuard guard(b);
    for (scf::ForOp loop : lanes.dealt) {
      auto clone = cast<scf::ForOp>(map.lookup(loop.getOperation()));
      b.setInsertionPoint(clone);
      Value parts = constant(lanes.parts);
      int64_t first = boundsOf(loop)->first;
      Value part = gpu::BlockIdOp::create(b, loc, gpu::Dimension::y);
      // The next point that belongs to the part.
      Value ahead = arith::AddIOp::create(
          b, loc, part, constant(lanes.parts - first % lanes.parts));
      ahead = arith::RemUIOp::create(b, loc, ahead, parts);
      clone.setLowerBound(
          arith::AddIOp::create(b, loc, ahead, constant(first)));
      clone.setStep(parts);
    }
  }

  OpBuilder &b;
  KernelSource source;
  Location loc;
  RowLanes lanes;
  int64_t threads;
  IRMapping map;
  Value item, lane;
  /// Rows of which only the thread's own elements are kept.
  llvm::DenseSet<Value> ownRows;
};

} // namespace

gpu::GPUFuncOp tpsp::emitSerialKernel(OpBuilder &b, KernelSource source) {
  return SerialEmitter(b, source).emit();
}
