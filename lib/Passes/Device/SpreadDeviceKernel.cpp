// The spread form of a device kernel.
#include "DeviceKernels.h"
#include "LoopPlan.h"
#include "SpreadElements.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

static constexpr int64_t warp = 32;

namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value sharedBuffer(OpBuilder &b, gpu::GPUFuncOp kernel,
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
class LoopEmitter : IndexMath {
public:
  /// `initials`: the initial values of the loop's sums.
  LoopEmitter(OpBuilder &b, gpu::GPUFuncOp kernel, const BlockShape &shape,
              const ThreadItem &thread, const LoopPlan &plan,
              ArrayRef<Value> initials, SpreadElements &elements)
      : IndexMath(b, kernel.getLoc()), kernel(kernel), shape(shape),
        thread(thread), plan(plan), loop(*plan.loop), initials(initials),
        elements(elements) {}

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
  Point origin() { return Point(plan.extents.size(), constant(0)); }
  /// Points of the kept dimensions in this block. A block's part of the range
  /// may be shorter than the block's capacity.
  Value keptPoints() {
    int64_t points = plan.pointsOf(loop.kept);
    return shape.range && points > 1 ? thread.rangeCount : constant(points);
  }

  /// Sets `point` to point number `number` of `dims`, the innermost fastest.
  void locate(ArrayRef<unsigned> dims, Value number, Point &point) {
    point.resize(plan.extents.size());
    const unsigned *outermost = llvm::find_if(
        dims, [&](unsigned dim) { return plan.extents[dim] > 1; });
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
      return emitSumsAcross(slot, member);
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

  SmallVector<Value> neutralSums() {
    return llvm::map_to_vector(loop.sums, [&](unsigned number) -> Value {
      return arith::ConstantOp::create(
          b, loc, *arith::getNeutralElement(loop.combiner(number)));
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

  /// `x` and `y` combined by the nest's combiner.
  Value combined(unsigned number, Value x, Value y) {
    Operation *combiner = loop.combiner(number);
    IRMapping operands;
    operands.map(combiner->getOperand(0), x);
    operands.map(combiner->getOperand(1), y);
    return b.clone(*combiner, operands)->getResult(0);
  }

  /// Combines the parts of the threads of a point that share a warp.
  void shuffle(MutableArrayRef<Value> sums) {
    const SumLayout &layout = plan.layout;
    int64_t first = layout.threadsInnermost ? 1 : layout.points;
    for (int64_t distance = first; distance < first * layout.shuffled;
         distance *= 2)
      for (auto [number, sum] : llvm::zip(loop.sums, sums)) {
        auto other =
            gpu::ShuffleOp::create(b, loc, sum, int32_t(distance),
                                   int32_t(warp), gpu::ShuffleMode::XOR);
        sum = combined(number, sum, other.getShuffleResult());
      }
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

  //===--------------------------------------------------------------------===//
  // Sums of neighbouring points
  //===--------------------------------------------------------------------===//

  /// Emits the sums of a range's part. Every thread has those of some
  /// neighbours, so that its accesses are wide.
  void emitSumsAcross(Value slot, Value member) {
    const SumLayout &layout = plan.layout;
    Value first = multiply(slot, layout.across);
    Neighbours at;
    at.along = loop.kept.back();
    for (int64_t i = 0; i < layout.across; ++i) {
      at.points.push_back(origin());
      locate(loop.kept, add(first, constant(i)), at.points.back());
    }
    // The part consists of whole groups of neighbours.
    Value valid = isBelow(first, keptPoints());
    std::vector<SmallVector<Value>> sums = sumAcross(valid, member, at);
    for (SmallVector<Value> &each : sums)
      shuffle(each);
    storeAcross(slot, member, sums);
  }

  /// A thread's part of the sums at each of its points.
  std::vector<SmallVector<Value>> sumAcross(Value valid, Value member,
                                            const Neighbours &kept) {
    int64_t terms = plan.pointsOf(loop.summed), step = plan.layout.threads;
    // Terms that are loaded before the first is added; wider types have fewer,
    // for want of registers.
    int64_t inFlight = std::max<int64_t>(1, plan.layout.across / 2);
    int64_t whole = terms / (step * inFlight) * (step * inFlight);
    SmallVector<Value> sums;
    for (size_t i = 0; i < kept.points.size(); ++i)
      sums.append(neutralSums());
    auto addTerms = [&](Value begin, int64_t end, int64_t count) {
      sums = forPoints(valueIf(valid, begin, constant(end)), constant(end),
                       step * count, sums, [&](Value number, ValueRange now) {
                         return visitTerms(number, count, kept, now);
                       });
    };
    if (whole > 0)
      addTerms(member, whole, inFlight);
    if (whole < terms)
      addTerms(add(constant(whole), member), terms, 1);
    std::vector<SmallVector<Value>> each;
    for (ArrayRef<Value> rest = sums; !rest.empty();
         rest = rest.drop_front(loop.sums.size()))
      each.emplace_back(rest.take_front(loop.sums.size()));
    return each;
  }

  /// Adds `count` terms, from number `number` on, to the sums of the points.
  SmallVector<Value> visitTerms(Value number, int64_t count,
                                const Neighbours &kept, ValueRange sums) {
    std::vector<Neighbours> terms(count, kept);
    std::vector<SmallVector<SmallVector<Value>>> loaded;
    for (auto [i, term] : llvm::enumerate(terms)) {
      Value at = add(number, constant(int64_t(i) * plan.layout.threads));
      for (Point &point : term.points)
        locate(loop.summed, at, point);
      loaded.push_back(elements.load(loop, term));
    }
    SmallVector<Value> now(sums);
    size_t width = loop.sums.size();
    for (auto [term, values] : llvm::zip(terms, loaded))
      for (size_t i = 0; i < term.points.size(); ++i) {
        auto own = MutableArrayRef<Value>(now).slice(i * width, width);
        SmallVector<Value> results =
            elements.compute(loop, term.points[i], values[i], own);
        for (auto [output, sum] : llvm::zip(loop.sums, own))
          sum = results[output];
      }
    return now;
  }

  /// Combines the parts of all warps and stores the sums. In the end each point
  /// has a thread.
  void storeAcross(Value slot, Value member,
                   ArrayRef<SmallVector<Value>> sums) {
    const SumLayout &layout = plan.layout;
    int64_t points = layout.points * layout.across;
    SmallVector<Value> memory;
    for (Value sum : sums.front())
      memory.push_back(sharedBuffer(
          b, kernel, {shape.items, layout.partials(), points}, sum.getType()));
    Value part = quotient(member, layout.shuffled);
    guarded(isBelow(remainder(member, layout.shuffled), constant(1)), [&] {
      for (auto [i, each] : llvm::enumerate(sums)) {
        Value point =
            add(multiply(slot, layout.across), constant(int64_t(i)));
        for (auto [sum, buffer] : llvm::zip(each, memory))
          memref::StoreOp::create(b, loc, sum, buffer,
                                  ValueRange{thread.itemOfBlock, part, point});
      }
    });
    gpu::BarrierOp::create(b, loc);
    Value number = thread.lane;
    guarded(both(isBelow(number, constant(points)),
                 isBelow(number, keptPoints())),
            [&] {
              Point point = origin();
              locate(loop.kept, number, point);
              for (auto [output, buffer, sum] :
                   llvm::zip(loop.sums, memory, initials))
                elements.store(loop, output,
                               partsOf(output, buffer, number, sum), {point});
            });
  }

  /// `sum` with all warps' parts of a point.
  Value partsOf(unsigned output, Value buffer, Value point, Value sum) {
    for (int64_t part = 0; part < plan.layout.partials(); ++part)
      sum = combined(output, sum,
                     memref::LoadOp::create(b, loc, buffer,
                                            ValueRange{thread.itemOfBlock,
                                                       constant(part), point}));
    return sum;
  }

  gpu::GPUFuncOp kernel;
  const BlockShape &shape;
  const ThreadItem &thread;
  const LoopPlan &plan;
  const ItemLoop &loop;
  ArrayRef<Value> initials;
  SpreadElements &elements;
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
