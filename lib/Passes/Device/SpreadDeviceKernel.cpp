// The spread form of a device kernel.
#include "DeviceKernels.h"
#include "LoopParts.h"
#include "Passes/Kernels/DeviceLimits.h"
#include "RangeSums.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A part, from `offset` on, of the memory that the launch asks for.
Value dynamicBuffer(OpBuilder &b, Location loc, ArrayRef<int64_t> extents,
                    Type element, int64_t offset) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                               AffineMap(), space);
  auto type = MemRefType::get(extents, element, AffineMap(), space);
  Value all = gpu::DynamicSharedMemoryOp::create(b, loc, bytes);
  Value at = arith::ConstantIndexOp::create(b, loc, offset);
  return memref::ViewOp::create(b, loc, type, all, at, ValueRange());
}

/// A thread's part of a row with these extents.
Place ownPlace(OpBuilder &b, Location loc, const BlockShape &shape,
               ArrayRef<int64_t> extents, Type element, int64_t width) {
  int64_t step = width * shape.threadsPerItem;
  auto rounds =
      int64_t(llvm::divideCeil(ShapedType::getNumElements(extents), step));
  Place place;
  place.buffer = memref::AllocaOp::create(
      b, loc, MemRefType::get({rounds * width}, element));
  place.whole.assign(extents.begin(), extents.end());
  place.width = width;
  return place;
}

RowPlaces allocateRows(OpBuilder &b, gpu::GPUFuncOp kernel,
                       const ItemLoops &loops, const BlockShape &shape,
                       const BlockMemory &room, Value itemOfBlock) {
  Location loc = kernel.getLoc();
  RowPlaces places;
  int64_t offset = 0;
  for (memref::AllocaOp row : loops.rows) {
    SmallVector<int64_t> extents = room.extentsOf(row);
    Type element = row.getType().getElementType();
    Place &place = places[row];
    if (int64_t width = room.widthInThread(row)) {
      place = ownPlace(b, loc, shape, extents, element, width);
    } else if (!room.isShared(row)) {
      place.buffer =
          memref::AllocaOp::create(b, loc, MemRefType::get(extents, element));
    } else {
      extents.insert(extents.begin(), shape.items);
      place.buffer = room.dynamicBytes()
                         ? dynamicBuffer(b, loc, extents, element, offset)
                         : sharedBuffer(b, kernel, extents, element);
      place.leading = {itemOfBlock};
      offset += room.bytesOf(row);
    }
  }
  return places;
}

//===----------------------------------------------------------------------===//
// The thread's item
//===----------------------------------------------------------------------===//

/// Maps the item, or the block's part of the range, to this thread's share.
ThreadItem takeItem(OpBuilder &b, KernelSource source, const BlockShape &shape,
                    IRMapping &map) {
  Location loc = source.function.getLoc();
  IndexMath math(b, loc);
  ThreadItem taken;
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value begin = map.lookup(source.begin()), end = map.lookup(source.end());
  if (shape.range) {
    taken.lane = thread;
    taken.itemOfBlock = math.constant(0);
    Value first = math.add(begin, math.multiply(block, shape.range));
    Value last = math.add(first, math.constant(shape.range));
    last = arith::MinSIOp::create(b, loc, last, end);
    taken.rangeCount = arith::SubIOp::create(b, loc, last, first);
    map.map(source.begin(), first);
    map.map(source.end(), last);
    return taken;
  }
  taken.lane = math.remainder(thread, shape.threadsPerItem);
  taken.itemOfBlock = math.quotient(thread, shape.threadsPerItem);
  Value item = math.add(math.add(begin, math.multiply(block, shape.items)),
                        taken.itemOfBlock);
  if (shape.items > 1) {
    // Threads without an item must reach the barriers. They use the last item,
    // and neither loop nor store.
    taken.isItem = math.isBelow(item, end);
    Value last = arith::SubIOp::create(b, loc, end, math.constant(1));
    item = arith::MinSIOp::create(b, loc, item, last);
  }
  map.map(source.itemLoop().getInductionVar(), item);
  return taken;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Emits a loop as planned.
class LoopEmitter : LoopParts {
public:
  using LoopParts::LoopParts;

  void emit() {
    switch (plan.form) {
    case LoopPlan::Single:
      return emitSingle();
    case LoopPlan::Points:
      return emitPoints();
    case LoopPlan::OneSum:
    case LoopPlan::Sums:
      return emitSums();
    }
  }

private:
  /// Neighbours from distributed point number `number` on; other dimensions as
  /// in `kept`.
  Neighbours neighboursAt(Value number, const Point &kept) {
    Neighbours at;
    Point point = kept;
    locate(plan.dealt, multiply(number, plan.width), point);
    at.along = plan.along;
    at.points.assign(plan.width, point);
    for (int64_t i = 1; i < plan.width; ++i)
      at.points[i][at.along] = add(point[at.along], constant(i));
    return at;
  }

  //===--------------------------------------------------------------------===//
  // Points
  //===--------------------------------------------------------------------===//

  /// Every thread of the item computes the point, and holds the results without
  /// reading memory.
  void emitSingle() {
    Neighbours at;
    at.points.push_back(origin());
    SmallVector<Value> read = elements.load(loop, at).front();
    publish(elements.compute(loop, at.points.front(), read, initials),
            at.points.front());
  }

  /// Records the values at the only point of an item, which all its threads
  /// hold. One of them stores the outputs of the kernel. `results`: by output.
  void publish(ArrayRef<Value> results, const Point &point) {
    for (unsigned number : plan.known())
      elements.know(loop.output(number), results[number]);
    Value isFirst = both(thread.isItem, isBelow(thread.lane, constant(1)));
    guarded(isFirst, [&] {
      for (unsigned number : plan.known())
        if (!bufferBehind(loop.output(number))
                 .getDefiningOp<memref::AllocaOp>())
          elements.store(loop, number, results[number], {point});
    });
  }

  void emitPoints() {
    Value end = shape.range ? keptPoints()
                            : constant(plan.pointsOf(plan.dealt) / plan.width);
    Point kept = origin();
    forPoints(valueIf(thread.isItem, thread.lane, end), end,
              shape.threadsPerItem, {}, [&](Value number, ValueRange) {
                elements.visit(loop, neighboursAt(number, kept), {});
                return SmallVector<Value>();
              });
  }

  //===--------------------------------------------------------------------===//
  // Sums by several threads
  //===--------------------------------------------------------------------===//

  void emitSums() {
    const SumLayout &layout = plan.layout;
    Value slot = layout.threadsInnermost
                     ? quotient(thread.lane, layout.threads)
                     : remainder(thread.lane, layout.points);
    Value member = layout.threadsInnermost
                       ? remainder(thread.lane, layout.threads)
                       : quotient(thread.lane, layout.points);
    if (plan.form == LoopPlan::OneSum)
      return emitOneSum(member);
    if (layout.across > 1)
      return RangeSums(*this).emit(slot, member);
    int64_t kept = plan.pointsOf(loop.kept);
    if (kept <= layout.points)
      return emitSumsAt(slot, slot, member);
    // The same number of rounds in every thread, so that all take part in
    // combining.
    auto rounds = int64_t(llvm::divideCeil(kept, layout.points));
    forPoints(constant(0), constant(rounds), 1, {},
              [&](Value round, ValueRange) {
                Value number = add(multiply(round, layout.points), slot);
                emitSumsAt(number, slot, member);
                return SmallVector<Value>();
              });
  }

  void emitOneSum(Value member) {
    Point point = origin();
    SmallVector<Value> sums = sumOver(thread.isItem, member, point);
    sums = combine(constant(0), member, sums);
    linalg::LinalgOp nest = loop.nest;
    SmallVector<Value> results(nest.getNumDpsInits());
    for (auto [number, sum] : llvm::zip(loop.sums, sums))
      results[number] = sum;
    publish(results, point);
  }

  /// Computes the sums at kept point `number`, by the threads with this slot.
  void emitSumsAt(Value number, Value slot, Value member) {
    Value valid = both(thread.isItem, isBelow(number, keptPoints()));
    Point point = origin();
    locate(loop.kept, number, point);
    SmallVector<Value> sums = sumOver(valid, member, point);
    sums = combine(slot, member, sums);
    Value isFirst = both(valid, isBelow(member, constant(1)));
    guarded(isFirst, [&] {
      for (auto [output, sum] : llvm::zip(loop.sums, sums))
        elements.store(loop, output, sum, {point});
    });
  }

  /// A thread's part of the sums at a point.
  SmallVector<Value> sumOver(Value valid, Value member, const Point &kept) {
    Value end = constant(plan.pointsOf(loop.summed) / plan.width);
    return forPoints(valueIf(valid, member, end), end, plan.layout.threads,
                     neutralSums(), [&](Value number, ValueRange carried) {
                       return elements.visit(loop, neighboursAt(number, kept),
                                             carried);
                     });
  }

  /// Combines the parts of a point's threads, and returns the sums in each of
  /// them. All threads of the block take part.
  SmallVector<Value> combine(Value slot, Value member, ArrayRef<Value> parts) {
    SmallVector<Value> sums(parts);
    shuffle(sums);
    if (plan.layout.partials() > 1)
      combineInMemory(slot, member, sums);
    for (auto [number, sum, initial] : llvm::zip(loop.sums, sums, initials))
      sum = combined(number, initial, sum);
    return sums;
  }

  /// Each of these sums has memory that is not used otherwise, so one barrier
  /// is enough.
  void combineInMemory(Value slot, Value member, MutableArrayRef<Value> sums) {
    const SumLayout &layout = plan.layout;
    int64_t partials = layout.partials();
    SmallVector<Value> memory;
    for (Value sum : sums)
      memory.push_back(sharedBuffer(
          b, kernel, {shape.items, partials, layout.points}, sum.getType()));
    Value isWriter = isBelow(remainder(member, layout.shuffled), constant(1));
    Value part = quotient(member, layout.shuffled);
    guarded(isWriter, [&] {
      for (auto [sum, buffer] : llvm::zip(sums, memory))
        memref::StoreOp::create(b, loc, sum, buffer,
                                ValueRange{thread.itemOfBlock, part, slot});
    });
    gpu::BarrierOp::create(b, loc);
    for (auto [number, sum, buffer] : llvm::zip(loop.sums, sums, memory)) {
      auto partial = [&, buffer = buffer](int64_t i) -> Value {
        return memref::LoadOp::create(
            b, loc, buffer, ValueRange{thread.itemOfBlock, constant(i), slot});
      };
      sum = partial(0);
      for (int64_t i = 1; i < partials; ++i)
        sum = combined(number, sum, partial(i));
    }
  }
};

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void waitFor(OpBuilder &b, gpu::GPUFuncOp kernel, const LoopPlan &plan) {
  if (!plan.waitsFor.empty())
    gpu::BarrierOp::create(b, kernel.getLoc());
  // noalias on a parameter would let LLVM move its accesses across the barrier,
  // as if no other thread had the address.
  for (Value buffer : llvm::concat<const Value>(plan.waitsFor, plan.waitedFor))
    if (auto argument = dyn_cast<BlockArgument>(buffer))
      kernel.removeArgAttr(argument.getArgNumber(),
                           LLVM::LLVMDialect::getNoAliasAttrName());
}

void emitBody(OpBuilder &b, gpu::GPUFuncOp kernel, KernelSource source,
              const ItemLoops &loops, const BlockShape &shape,
              const BlockMemory &room) {
  IRMapping map;
  map.map(source.function.getArguments(),
          kernel.getArguments().take_front(source.function.getNumArguments()));
  ThreadItem thread = takeItem(b, source, shape, map);
  RowPlaces rows =
      allocateRows(b, kernel, loops, shape, room, thread.itemOfBlock);
  SpreadElements elements(b, kernel.getLoc(), shape, map, rows);
  std::vector<LoopPlan> plans = planLoops(shape, loops);
  const LoopPlan *plan = plans.data();
  for (const ItemStep &step : loops.steps) {
    if (step.operation) {
      b.clone(*step.operation, map);
      continue;
    }
    waitFor(b, kernel, *plan);
    auto initials = llvm::map_to_vector(step.loop.sums, [&](unsigned number) {
      return map.lookupOrDefault(
          loops.initial.lookup(step.loop.output(number)));
    });
    LoopEmitter(b, kernel, shape, thread, *plan++, initials, elements).emit();
  }
  gpu::ReturnOp::create(b, kernel.getLoc());
}

/// Whether the points of a range kernel are numbered by the range alone.
bool hasPlainRange(const BlockShape &shape, const ItemLoops &loops) {
  return !shape.range || llvm::all_of(loops.steps, [](const ItemStep &step) {
    return step.operation ||
           pointsOf(step.loop.extents(/*range=*/1), step.loop.kept) == 1;
  });
}

} // namespace

gpu::GPUFuncOp tpsp::emitSpreadKernel(OpBuilder &b, KernelSource source,
                                      std::string &obstacle) {
  ItemLoops loops;
  if (!findItemLoops(source, loops, obstacle))
    return {};
  BlockShape shape = chooseBlockShape(source, loops);
  BlockMemory room(shape, loops);
  if (!hasPlainRange(shape, loops)) {
    obstacle = "its range is not the only index that its sums have";
    return {};
  }
  if (!room.fits()) {
    obstacle = "its rows need " + std::to_string(room.sharedBytes()) +
               " bytes of a block's memory, of " +
               std::to_string(BlockMemory::most);
    return {};
  }
  gpu::GPUFuncOp kernel = createDeviceKernel(b, source);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  emitBody(b, kernel, source, loops, shape, room);
  int64_t threads = shape.threads();
  setLaunch(kernel, {threads, shape.range ? shape.range : shape.items,
                     /*parts=*/1, room.dynamicBytes()});
  kernel.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  return kernel;
}
