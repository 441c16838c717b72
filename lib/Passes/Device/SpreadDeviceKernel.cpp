// The spread form of a device kernel.
#include "BlockMemory.h"
#include "BlockShape.h"
#include "DeviceKernels.h"
#include "ItemLoops.h"
#include "SweepAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

static constexpr int64_t warp = 32;

namespace {

/// Where a sweep reads or writes: the buffer, behind some leading indices.
struct Place {
  Value buffer;
  SmallVector<Value> leading;
  /// Of a row of which every thread has only its own elements: the extents of
  /// the whole, and how many neighbours a thread has at a time.
  SmallVector<int64_t> whole;
  int64_t width = 1;
};

class SpreadEmitter {
public:
  SpreadEmitter(OpBuilder &b, KernelSource from, const ItemLoops &loops)
      : b(b), source(from), loc(source.function.getLoc()), loops(loops),
        shape(chooseBlockShape(from, loops)), room(shape, loops) {}

  gpu::GPUFuncOp emit(std::string &obstacle) {
    if (!hasPlainRange()) {
      obstacle = "its range is not the only index that its sums have";
      return {};
    }
    if (!room.fits()) {
      obstacle = "its rows need " + std::to_string(room.sharedBytes()) +
                 " bytes of a block's memory, of " +
                 std::to_string(BlockMemory::most);
      return {};
    }
    kernel = createDeviceKernel(b, source);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    map.map(
        source.function.getArguments(),
        kernel.getArguments().take_front(source.function.getNumArguments()));
    takeItem();
    allocateRows();
    for (const ItemStep &step : loops.steps)
      if (step.operation)
        b.clone(*step.operation, map);
      else
        emitSweep(step.sweep);
    gpu::ReturnOp::create(b, loc);
    int64_t threads = shape.threads();
    setLaunch(kernel, {threads, shape.range ? shape.range : shape.items,
                       room.dynamicBytes()});
    kernel.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
    return kernel;
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  Value sharedBuffer(ArrayRef<int64_t> extents, Type element) {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto type = MemRefType::get(extents, element, AffineMap(), space);
    Value buffer = kernel.addWorkgroupAttribution(type, loc);
    kernel.setWorkgroupAttributionAttr(
        kernel.getNumWorkgroupAttributions() - 1,
        b.getStringAttr(LLVM::LLVMDialect::getAlignAttrName()),
        b.getI64IntegerAttr(BlockMemory::alignment));
    return buffer;
  }

  void allocateRows() {
    int64_t offset = 0;
    for (memref::AllocaOp row : loops.rows) {
      SmallVector<int64_t> extents = room.extentsOf(row);
      Type element = row.getType().getElementType();
      if (int64_t width = room.widthInThread(row)) {
        places[row] = ownPlace(extents, element, width);
        continue;
      }
      if (!room.isShared(row)) {
        auto type = MemRefType::get(extents, element);
        places[row].buffer = memref::AllocaOp::create(b, loc, type);
        continue;
      }
      extents.insert(extents.begin(), shape.items);
      Value buffer = room.dynamicBytes()
                         ? dynamicBuffer(extents, element, offset)
                         : sharedBuffer(extents, element);
      offset += room.bytesOf(row);
      places[row].buffer = buffer;
      places[row].leading = {itemOfBlock};
    }
  }

  /// A thread's part of a row with these extents.
  Place ownPlace(ArrayRef<int64_t> extents, Type element, int64_t width) {
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

  /// Where a thread has the element of the whole row that is at `indices`.
  Value ownIndex(const Place &place, ArrayRef<Value> indices) {
    Value number = constant(0);
    for (auto [extent, index] : llvm::zip_equal(place.whole, indices))
      number = add(multiply(number, extent), index);
    Value round = quotient(number, place.width * shape.threadsPerItem);
    return add(multiply(round, place.width), remainder(number, place.width));
  }

  Value dynamicBuffer(ArrayRef<int64_t> extents, Type element, int64_t offset) {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                                 AffineMap(), space);
    auto type = MemRefType::get(extents, element, AffineMap(), space);
    Value all = gpu::DynamicSharedMemoryOp::create(b, loc, bytes);
    return memref::ViewOp::create(b, loc, type, all, constant(offset),
                                  ValueRange());
  }

  /// Whether points of a range kernel are numbered by the range alone.
  bool hasPlainRange() const {
    return !shape.range || llvm::all_of(loops.steps, [](const ItemStep &step) {
      return step.operation ||
             pointsOf(step.sweep.extents(/*range=*/1), step.sweep.kept) == 1;
    });
  }

  //===--------------------------------------------------------------------===//
  // The thread's item
  //===--------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value multiply(Value x, int64_t y) {
    return y == 1 ? x : Value(arith::MulIOp::create(b, loc, x, constant(y)));
  }
  /// Of numbers that are not negative.
  Value quotient(Value x, int64_t y) {
    return y == 1 ? x : Value(arith::DivUIOp::create(b, loc, x, constant(y)));
  }
  Value remainder(Value x, int64_t y) {
    return y == 1 ? constant(0)
                  : Value(arith::RemUIOp::create(b, loc, x, constant(y)));
  }
  Value isBelow(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  Value both(Value x, Value y) {
    return !x ? y : Value(arith::AndIOp::create(b, loc, x, y));
  }

  void takeItem() {
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value begin = map.lookup(source.begin()), end = map.lookup(source.end());
    if (shape.range)
      return takeRange(block, thread, begin, end);
    lane = remainder(thread, shape.threadsPerItem);
    itemOfBlock = quotient(thread, shape.threadsPerItem);
    Value item = add(add(begin, multiply(block, shape.items)), itemOfBlock);
    if (shape.items == 1) { // a block for each
      map.map(source.itemLoop().getInductionVar(), item);
      return;
    }
    // Threads with no item stay, for the barriers: they look at the last one,
    // and neither loop nor store.
    isItem = isBelow(item, end);
    Value last = arith::SubIOp::create(b, loc, end, constant(1));
    item = arith::MinSIOp::create(b, loc, item, last);
    map.map(source.itemLoop().getInductionVar(), item);
  }

  void takeRange(Value block, Value thread, Value begin, Value end) {
    lane = thread;
    itemOfBlock = constant(0);
    Value first = add(begin, multiply(block, shape.range));
    Value last = add(first, constant(shape.range));
    last = arith::MinSIOp::create(b, loc, last, end);
    rangeCount = arith::SubIOp::create(b, loc, last, first);
    map.map(source.begin(), first);
    map.map(source.end(), last);
  }

  /// `value` if the thread has something to do, else `end`, where loops end.
  Value startOr(Value valid, Value value, Value end) {
    return valid ? Value(arith::SelectOp::create(b, loc, valid, value, end))
                 : value;
  }

  //===--------------------------------------------------------------------===//
  // Points
  //===--------------------------------------------------------------------===//

  static Type elementOf(Value memory) {
    return cast<MemRefType>(memory.getType()).getElementType();
  }

  SmallVector<int64_t> extentsOf(const Sweep &sweep) const {
    return sweep.extents(shape.range);
  }
  /// Points of the kept dimensions in this block: the range's may be fewer than
  /// a block can do.
  Value keptPoints(const Sweep &sweep) {
    if (shape.range && pointsOf(extentsOf(sweep), sweep.kept) > 1)
      return rangeCount;
    return constant(pointsOf(extentsOf(sweep), sweep.kept));
  }

  using Point = SmallVector<Value>;

  /// Writes where point number `number` of `dims` is, innermost fastest.
  void locate(const Sweep &sweep, ArrayRef<unsigned> dims, Value number,
              Point &point) {
    SmallVector<int64_t> extents = extentsOf(sweep);
    point.resize(extents.size());
    const unsigned *outermost =
        llvm::find_if(dims, [&](unsigned dim) { return extents[dim] > 1; });
    for (const unsigned *dim = dims.end(); dim != dims.begin();) {
      --dim;
      bool isLast = dim <= outermost;
      point[*dim] = extents[*dim] == 1 ? constant(0)
                    : isLast           ? number
                                       : remainder(number, extents[*dim]);
      if (extents[*dim] > 1 && !isLast)
        number = quotient(number, extents[*dim]);
    }
  }

  /// `point`, and its neighbours along dimension `dim`.
  SmallVector<Point> neighbours(const Point &point, unsigned dim,
                                int64_t width) {
    SmallVector<Point> points(width, point);
    for (int64_t i = 1; i < width; ++i)
      points[i][dim] = add(point[dim], constant(i));
    return points;
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  Place placeOf(Value memory) {
    if (auto row = memory.getDefiningOp<memref::AllocaOp>())
      return places.lookup(row);
    Place place;
    place.buffer = map.lookupOrDefault(memory);
    return place;
  }

  SmallVector<Value> indices(const Place &place, AffineMap access,
                             const Point &point) {
    SmallVector<Value> all(place.leading);
    for (AffineExpr result : access.getResults())
      all.push_back(point[cast<AffineDimExpr>(result).getPosition()]);
    if (place.whole.empty())
      return all;
    return {ownNumber ? constant(*ownNumber) : ownIndex(place, all)};
  }

  /// Of the first of `width` accesses to neighbours, where they can be one: the
  /// buffer's rows are whole there, and begin where all of them do. LLVM cannot
  /// always tell, where addresses are sums of many indices.
  static llvm::MaybeAlign alignmentOf(const Place &place, AffineMap access,
                                      unsigned along, int64_t width) {
    auto type = cast<MemRefType>(place.buffer.getType());
    auto results = access.getResults();
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (width == 1 || !place.whole.empty() || results.empty() ||
        cast<AffineDimExpr>(results.back()).getPosition() != along ||
        failed(type.getStridesAndOffset(strides, offset)) ||
        strides.back() != 1 || type.getShape().back() % width != 0)
      return {};
    return llvm::Align(uint64_t(width * type.getElementTypeBitWidth() / 8));
  }

  Value load(OpOperand &operand, AffineMap access, const Point &point,
             llvm::function_ref<llvm::MaybeAlign(const Place &)> alignment) {
    Value memory = operand.get();
    if (Value value = known.lookup(memory))
      return value;
    if (!isa<MemRefType>(memory.getType()))
      return map.lookupOrDefault(memory);
    Place place = placeOf(memory);
    return memref::LoadOp::create(b, loc, place.buffer,
                                  indices(place, access, point),
                                  /*nontemporal=*/false, alignment(place));
  }
  Value load(OpOperand &operand, AffineMap access, const Point &point) {
    return load(operand, access, point,
                [](const Place &) { return llvm::MaybeAlign(); });
  }

  void store(const Sweep &sweep, unsigned number, Value value,
             const Point &point, unsigned along = 0, int64_t width = 1) {
    linalg::LinalgOp nest = sweep.nest;
    OpOperand *output = nest.getDpsInitOperand(number);
    Place place = placeOf(output->get());
    AffineMap access = nest.getMatchingIndexingMap(output);
    memref::StoreOp::create(
        b, loc, value, place.buffer, indices(place, access, point),
        /*nontemporal=*/false, alignmentOf(place, access, along, width));
  }

  /// What a nest's body yields at a point, from the sums so far.
  SmallVector<Value> yields(const Sweep &sweep, const Point &point,
                            ArrayRef<Value> elements, ValueRange sums) {
    linalg::LinalgOp nest = sweep.nest;
    IRMapping inner = map;
    Block *body = nest.getBlock();
    inner.map(body->getArguments().take_front(elements.size()), elements);
    for (auto [number, sum] : llvm::zip(sweep.sums, sums))
      inner.map(nest.getMatchingBlockArgument(nest.getDpsInitOperand(number)),
                sum);
    // Sums of another sweep are not looked at.
    for (BlockArgument argument :
         body->getArguments().drop_front(elements.size()))
      if (!inner.contains(argument))
        inner.map(argument, zeroOf(argument.getType()));
    for (Operation &op : body->without_terminator())
      cloneScalar(&op, inner, point);
    return llvm::map_to_vector(
        body->getTerminator()->getOperands(),
        [&](Value value) { return inner.lookupOrDefault(value); });
  }

  Value zeroOf(Type type) {
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  }

  void cloneScalar(Operation *op, IRMapping &inner, const Point &point) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      inner.map(index.getResult(), point[index.getDim()]);
      return;
    }
    Operation *clone = b.clone(*op, inner);
    clone->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(point[index.getDim()]);
    });
  }

  /// Neighbouring points that a thread does at once.
  struct Group {
    SmallVector<Point> points;
    /// The dimension along which they are neighbours.
    unsigned along = 0;
    /// Written out: where the thread has the first, of a row that is in
    /// registers. -1: in a loop.
    int64_t own = -1;

    bool isWrittenOut() const { return own >= 0; }
    int64_t width() const { return int64_t(points.size()); }
    /// Of an access to point i: the first may be one with the others.
    int64_t widthAt(size_t i) const { return i == 0 ? width() : 1; }
  };

  void enter(const Group &group, size_t i) {
    ownNumber.reset();
    if (group.own >= 0)
      ownNumber = group.own + int64_t(i);
  }

  /// What a nest reads at each of the points. Loads come first, so that they
  /// can be one wide access, and all are on their way at once.
  SmallVector<SmallVector<Value>> elementsAt(const Sweep &sweep,
                                             const Group &group) {
    linalg::LinalgOp nest = sweep.nest;
    SmallVector<SmallVector<Value>> elements(group.points.size());
    for (OpOperand *input : nest.getDpsInputOperands()) {
      bool isRead = nest.payloadUsesValueFromOperand(input);
      AffineMap access = nest.getMatchingIndexingMap(input);
      for (auto [i, point] : llvm::enumerate(group.points)) {
        enter(group, i);
        auto alignment = [&, i = i](const Place &place) {
          return alignmentOf(place, access, group.along, group.widthAt(i));
        };
        elements[i].push_back(
            isRead ? load(*input, access, point, alignment)
                   : zeroOf(nest.getMatchingBlockArgument(input).getType()));
      }
    }
    return elements;
  }

  /// Stores what is stored at every point; returns the sums.
  SmallVector<Value> visit(const Sweep &sweep, const Group &group,
                           ValueRange sums) {
    SmallVector<SmallVector<Value>> elements = elementsAt(sweep, group);
    SmallVector<Value> current(sums);
    SmallVector<SmallVector<Value>> results;
    for (auto [point, values] : llvm::zip(group.points, elements)) {
      results.push_back(yields(sweep, point, values, current));
      for (auto [number, sum] : llvm::zip(sweep.sums, current))
        sum = results.back()[number];
    }
    if (!sweep.stored.empty())
      storeResults(sweep, group, results);
    return current;
  }

  void storeResults(const Sweep &sweep, const Group &group,
                    ArrayRef<SmallVector<Value>> results) {
    for (unsigned number : sweep.stored) {
      auto storeAll = [&] {
        for (auto [i, point] : llvm::enumerate(group.points)) {
          enter(group, i);
          store(sweep, number, results[i][number], point, group.along,
                group.widthAt(i));
        }
      };
      bool isRow = bufferBehind(sweep.output(number))
                       .getDefiningOp<memref::AllocaOp>() != nullptr;
      // In a loop, threads with no item do not come here.
      if (isItem && group.isWrittenOut() && !isRow)
        guarded(isItem, storeAll);
      else
        storeAll();
    }
  }

  //===--------------------------------------------------------------------===//
  // Barriers
  //===--------------------------------------------------------------------===//

  void barrier() {
    gpu::BarrierOp::create(b, loc);
    log.clear();
  }

  void waitFor(ArrayRef<Access> accesses) {
    if (shape.threadsPerItem == 1)
      return;
    SmallVector<Value> buffers = log.conflicts(accesses);
    if (buffers.empty())
      return;
    barrier();
    // Said of a parameter, noalias would let LLVM take accesses of it past the
    // barrier, as if nobody else had the address.
    for (Value buffer : buffers)
      if (auto argument = dyn_cast<BlockArgument>(buffer))
        kernel.removeArgAttr(argument.getArgNumber(),
                             LLVM::LLVMDialect::getNoAliasAttrName());
  }

  //===--------------------------------------------------------------------===//
  // Sweeps
  //===--------------------------------------------------------------------===//

  void emitSweep(const Sweep &sweep) {
    auto accesses = accessesOf(shape, sweep, known);
    waitFor(accesses);
    if (isSingle(shape, sweep))
      emitSingle(sweep);
    else if (sweep.sums.empty())
      emitPoints(sweep);
    else
      emitSums(sweep);
    log.add(accesses);
  }

  SmallVector<Value> initials(const Sweep &sweep) {
    return llvm::map_to_vector(sweep.sums, [&](unsigned number) {
      return map.lookupOrDefault(loops.initial.lookup(sweep.output(number)));
    });
  }

  /// One point: every thread of the item computes it, and knows it without
  /// reading it from memory.
  void emitSingle(const Sweep &sweep) {
    Point point(sweep.extents(0).size(), constant(0));
    Sweep computed = sweep;
    computed.stored.clear();
    linalg::LinalgOp nest = sweep.nest;
    SmallVector<Value> elements;
    for (OpOperand *input : nest.getDpsInputOperands())
      elements.push_back(
          nest.payloadUsesValueFromOperand(input)
              ? load(*input, nest.getMatchingIndexingMap(input), point)
              : zeroOf(nest.getMatchingBlockArgument(input).getType()));
    SmallVector<Value> results =
        yields(sweep, point, elements, initials(sweep));
    SmallVector<std::pair<unsigned, Value>> values;
    for (unsigned number :
         llvm::concat<const unsigned>(sweep.stored, sweep.sums))
      values.push_back({number, results[number]});
    publish(sweep, values, point);
  }

  /// Values at the only point of an item, which all its threads have: one of
  /// them stores what is an output of the kernel.
  void publish(const Sweep &sweep, ArrayRef<std::pair<unsigned, Value>> values,
               const Point &point) {
    for (auto [number, value] : values)
      known[sweep.output(number)] = value;
    Value isFirst = both(isItem, isBelow(lane, constant(1)));
    guarded(isFirst, [&] {
      for (auto [number, value] : values)
        if (!bufferBehind(sweep.output(number))
                 .getDefiningOp<memref::AllocaOp>())
          store(sweep, number, value, point);
    });
  }

  void guarded(Value condition, llvm::function_ref<void()> emitBody) {
    auto inside = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(inside.thenBlock());
    emitBody();
  }

  /// Neighbours from point number `number` of `dims` on, `kept` elsewhere.
  Group groupAt(const Sweep &sweep, ArrayRef<unsigned> dims, Value number,
                const Point &kept, int64_t width, int64_t round = -1) {
    Group group;
    Point point = kept;
    locate(sweep, dims, multiply(number, width), point);
    group.along = innermostOf(shape, sweep, dims);
    group.points = neighbours(point, group.along, width);
    group.own = round < 0 ? -1 : round * width;
    return group;
  }

  /// The thread's points of `dims`, `width` at a time, where all threads have
  /// as many and these are few: written out, so that their loads are on their
  /// way at once. Threads with no item do the last one's, and store nothing.
  bool emitRounds(const Sweep &sweep, ArrayRef<unsigned> dims, int64_t width,
                  llvm::function_ref<void(const Group &group)> emitBody) {
    int64_t points = pointsOf(extentsOf(sweep), dims);
    int64_t rounds = writtenOutRounds(shape, points, width);
    Point origin(extentsOf(sweep).size(), constant(0));
    for (int64_t round = 0; round < rounds; ++round)
      emitBody(groupAt(sweep, dims,
                       add(lane, constant(round * shape.threadsPerItem)),
                       origin, width, round));
    return rounds > 0;
  }

  /// All points, dealt out to the item's threads.
  void emitPoints(const Sweep &sweep) {
    SmallVector<unsigned> dims = allDims(sweep);
    int64_t width = widthOf(shape, sweep, dims);
    if (emitRounds(sweep, dims, width,
                   [&](const Group &group) { visit(sweep, group, {}); }))
      return;
    Value end = shape.range
                    ? keptPoints(sweep)
                    : constant(pointsOf(extentsOf(sweep), dims) / width);
    Point origin(extentsOf(sweep).size(), constant(0));
    forPoints(startOr(isItem, lane, end), end, shape.threadsPerItem, {},
              [&](Value number, ValueRange) {
                visit(sweep, groupAt(sweep, dims, number, origin, width), {});
                return SmallVector<Value>();
              });
  }

  using LoopBody =
      llvm::function_ref<SmallVector<Value>(Value number, ValueRange carried)>;

  SmallVector<Value> forPoints(Value begin, Value end, int64_t step,
                               ValueRange carried, LoopBody emitBody) {
    auto loop = scf::ForOp::create(b, loc, begin, end, constant(step), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!carried.empty())
      scf::YieldOp::create(b, loc, next);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// Neighbouring sums of few points, each by one thread.
  void emitSumsInThread(const Sweep &sweep) {
    SmallVector<int64_t> extents = extentsOf(sweep);
    int64_t width = widthOf(shape, sweep, sweep.kept);
    Value end = constant(pointsOf(extents, sweep.kept) / width);
    Point origin(extents.size(), constant(0));
    forPoints(startOr(isItem, lane, end), end, shape.threadsPerItem, {},
              [&](Value number, ValueRange) {
                sumGroup(sweep,
                         groupAt(sweep, sweep.kept, number, origin, width));
                return SmallVector<Value>();
              });
  }

  void sumGroup(const Sweep &sweep, const Group &group) {
    SmallVector<SmallVector<Value>> sums(group.points.size(), initials(sweep));
    int64_t points = pointsOf(extentsOf(sweep), sweep.summed);
    for (int64_t i = 0; i < points; ++i) {
      Group at = group;
      for (Point &point : at.points)
        locate(sweep, sweep.summed, constant(i), point);
      SmallVector<SmallVector<Value>> elements = elementsAt(sweep, at), results;
      for (auto [point, values, sum] : llvm::zip(at.points, elements, sums)) {
        results.push_back(yields(sweep, point, values, sum));
        for (auto [number, part] : llvm::zip(sweep.sums, sum))
          part = results.back()[number];
      }
      storeResults(sweep, at, results);
    }
    for (auto [k, number] : llvm::enumerate(sweep.sums))
      for (auto [i, point] : llvm::enumerate(group.points))
        store(sweep, number, sums[i][k], point, group.along, group.widthAt(i));
  }

  void emitSums(const Sweep &sweep) {
    if (sumsInThread(shape, sweep))
      return emitSumsInThread(sweep);
    SumLayout layout = chooseSumLayout(shape, sweep);
    int64_t kept = pointsOf(extentsOf(sweep), sweep.kept);
    Value slot = layout.groupInnermost ? quotient(lane, layout.group)
                                       : remainder(lane, layout.points);
    Value member = layout.groupInnermost ? remainder(lane, layout.group)
                                         : quotient(lane, layout.points);
    if (kept == 1 && !shape.range)
      return emitOneSum(sweep, layout, member);
    if (kept <= layout.points)
      return emitSumsAt(sweep, layout, slot, slot, member);
    // As often in every thread, so that all take part in what combines them.
    auto rounds = int64_t(llvm::divideCeil(kept, layout.points));
    forPoints(constant(0), constant(rounds), 1, {},
              [&](Value round, ValueRange) {
                Value number = add(multiply(round, layout.points), slot);
                emitSumsAt(sweep, layout, number, slot, member);
                return SmallVector<Value>();
              });
  }

  /// One sum of all points of the item, which all its threads get to know.
  void emitOneSum(const Sweep &sweep, const SumLayout &layout, Value member) {
    Point point(sweep.extents(0).size(), constant(0));
    SmallVector<Value> sums = sumOver(sweep, layout, isItem, member, point);
    sums = combine(sweep, layout, constant(0), member, sums);
    SmallVector<std::pair<unsigned, Value>> values;
    for (auto [number, sum] : llvm::zip(sweep.sums, sums))
      values.push_back({number, sum});
    publish(sweep, values, point);
  }

  /// The sums at kept point `number`, by the threads with this slot.
  void emitSumsAt(const Sweep &sweep, const SumLayout &layout, Value number,
                  Value slot, Value member) {
    Value valid = both(isItem, isBelow(number, keptPoints(sweep)));
    Point point(sweep.extents(0).size(), constant(0));
    locate(sweep, sweep.kept, number, point);
    SmallVector<Value> sums = sumOver(sweep, layout, valid, member, point);
    sums = combine(sweep, layout, slot, member, sums);
    Value isFirst = both(valid, isBelow(member, constant(1)));
    guarded(isFirst, [&] {
      for (auto [output, sum] : llvm::zip(sweep.sums, sums))
        store(sweep, output, sum, point);
    });
  }

  /// A thread's part of the sums at a point.
  SmallVector<Value> sumOver(const Sweep &sweep, const SumLayout &layout,
                             Value valid, Value member, const Point &kept) {
    int64_t width =
        layout.groupInnermost ? widthOf(shape, sweep, sweep.summed) : 1;
    SmallVector<Value> sums =
        llvm::map_to_vector(sweep.sums, [&](unsigned number) -> Value {
          return arith::ConstantOp::create(
              b, loc, *arith::getNeutralElement(sweep.combiner(number)));
        });
    bool isAlone = layout.group == shape.threadsPerItem;
    if (isAlone &&
        emitRounds(sweep, sweep.summed, width, [&](const Group &group) {
          sums = visit(sweep, group, sums);
        }))
      return sums;
    Value end = constant(pointsOf(extentsOf(sweep), sweep.summed) / width);
    return forPoints(
        startOr(valid, member, end), end, layout.group, sums,
        [&](Value number, ValueRange carried) {
          return visit(sweep, groupAt(sweep, sweep.summed, number, kept, width),
                       carried);
        });
  }

  /// `x` and `y` combined as the nest combines them.
  Value combined(const Sweep &sweep, unsigned number, Value x, Value y) {
    Operation *combiner = sweep.combiner(number);
    IRMapping operands;
    operands.map(combiner->getOperand(0), x);
    operands.map(combiner->getOperand(1), y);
    return b.clone(*combiner, operands)->getResult(0);
  }

  /// Every thread's parts to the sums of its point, in all threads of it. All
  /// threads of the block take part.
  SmallVector<Value> combine(const Sweep &sweep, const SumLayout &layout,
                             Value slot, Value member, ArrayRef<Value> parts) {
    SmallVector<Value> sums(parts);
    int64_t first = layout.groupInnermost ? 1 : layout.points;
    for (int64_t distance = first; distance < first * layout.shuffled;
         distance *= 2)
      for (auto [number, sum] : llvm::zip(sweep.sums, sums)) {
        auto other =
            gpu::ShuffleOp::create(b, loc, sum, int32_t(distance),
                                   int32_t(warp), gpu::ShuffleMode::XOR);
        sum = combined(sweep, number, sum, other.getShuffleResult());
      }
    if (layout.partials() > 1)
      combineInMemory(sweep, layout, slot, member, sums);
    for (auto [number, sum, initial] :
         llvm::zip(sweep.sums, sums, initials(sweep)))
      sum = combined(sweep, number, initial, sum);
    return sums;
  }

  /// Each of these sums has memory of its own, which nothing else uses: one
  /// barrier is enough.
  void combineInMemory(const Sweep &sweep, const SumLayout &layout, Value slot,
                       Value member, MutableArrayRef<Value> sums) {
    int64_t partials = layout.partials();
    SmallVector<Value> memory;
    for (Value sum : sums)
      memory.push_back(
          sharedBuffer({shape.items, partials, layout.points}, sum.getType()));
    Value isWriter = isBelow(remainder(member, layout.shuffled), constant(1));
    Value part = quotient(member, layout.shuffled);
    guarded(isWriter, [&] {
      for (auto [sum, buffer] : llvm::zip(sums, memory))
        memref::StoreOp::create(b, loc, sum, buffer,
                                ValueRange{itemOfBlock, part, slot});
    });
    barrier();
    for (auto [number, sum, buffer] : llvm::zip(sweep.sums, sums, memory)) {
      auto partial = [&, buffer = buffer](int64_t i) -> Value {
        return memref::LoadOp::create(
            b, loc, buffer, ValueRange{itemOfBlock, constant(i), slot});
      };
      sum = partial(0);
      for (int64_t i = 1; i < partials; ++i)
        sum = combined(sweep, number, sum, partial(i));
    }
  }

  OpBuilder &b;
  KernelSource source;
  Location loc;
  const ItemLoops &loops;
  BlockShape shape;
  BlockMemory room;
  gpu::GPUFuncOp kernel;
  IRMapping map;

  llvm::DenseMap<Operation *, Place> places; // of kept rows

  Value lane, itemOfBlock;
  Value isItem;     // null: always, as where a block has one item
  Value rangeCount; // elements of the block's part of the range
  /// What all threads of an item know of what is in memory.
  llvm::DenseMap<Value, Value> known;
  AccessLog log;
  /// Which of a thread's elements of a row is looked at, where that is known.
  std::optional<int64_t> ownNumber;
};

} // namespace

gpu::GPUFuncOp tpsp::emitSpreadKernel(OpBuilder &b, KernelSource source,
                                      std::string &obstacle) {
  ItemLoops loops;
  if (!findItemLoops(source, loops, obstacle))
    return {};
  return SpreadEmitter(b, source, loops).emit(obstacle);
}
