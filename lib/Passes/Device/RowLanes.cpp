#include "RowLanes.h"

#include "ItemLoops.h"
#include "Passes/Kernels/DeviceLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

/// Threads of an item, at most: a warp, so that none waits for another's
/// progress through the item.
static constexpr int64_t mostLanes = warp;
/// Threads that keep any GPU busy with copies, and the limit on blocks along a
/// grid's second dimension.
static constexpr int64_t enoughThreads = enoughBlocks * 1024, mostParts = 65535;

static std::optional<int64_t> constantOf(Value bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(bound))
    return constant;
  auto dim = bound.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> number =
      dim ? dim.getConstantIndex() : std::optional<int64_t>();
  auto type = dim ? dyn_cast<MemRefType>(dim.getSource().getType()) : nullptr;
  if (!number || !type || type.isDynamicDim(unsigned(*number)))
    return std::nullopt;
  return type.getDimSize(unsigned(*number));
}

std::optional<LoopBounds> tpsp::boundsOf(scf::ForOp loop) {
  std::optional<int64_t> first = constantOf(loop.getLowerBound()),
                         last = constantOf(loop.getUpperBound());
  if (!first || !last || !isConstantIntValue(loop.getStep(), 1) ||
      !loop.getInitArgs().empty())
    return std::nullopt;
  return LoopBounds{*first, *last};
}

namespace {

/// Whether all effects of an item's operation are understood here.
bool isKnown(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, linalg::FillOp, scf::ForOp,
             scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp>(op) ||
         isMemoryEffectFree(op);
}

/// Finds loops along the innermost index of everything that an item writes.
class Finder {
public:
  explicit Finder(scf::ForOp item) : item(item) {}

  /// Whether threads may share the item.
  bool find() {
    bool isPlain = true;
    item.getBody()->walk([&](Operation *op) { isPlain &= addStores(op); });
    return isPlain && !viewOf.empty() && readsAreOwn() && areLeaves();
  }

  /// Elements along the innermost index.
  int64_t extent() const {
    int64_t most = 1;
    for (auto [buffer, view] : viewOf)
      most = std::max(most, cast<MemRefType>(view.getType()).getShape().back());
    return most;
  }

  /// The number of neighbours that fit into an access of any memory in the
  /// shared loops. Kept rows are in registers and do not count.
  int64_t accessWidth() const {
    int64_t bits = 8;
    auto note = [&](Value memory) {
      if (memory.getDefiningOp<memref::AllocaOp>())
        return;
      Type element = cast<MemRefType>(memory.getType()).getElementType();
      bits = std::max<int64_t>(bits, element.getIntOrFloatBitWidth());
    };
    for (scf::ForOp loop : loops)
      loop.getBody()->walk([&](Operation *op) {
        if (auto load = dyn_cast<memref::LoadOp>(op))
          note(load.getMemRef());
        if (auto store = dyn_cast<memref::StoreOp>(op))
          note(store.getMemRef());
      });
    return widestAccess * 8 / bits;
  }

  /// The outermost loops, if each counts the same index of everything that it
  /// writes, and no written buffer is read or filled.
  SmallVector<scf::ForOp> dealtLoops() {
    llvm::SmallSetVector<scf::ForOp, 4> outer;
    std::optional<unsigned> dimension;
    bool areApart = true;
    item.getBody()->walk([&](Operation *op) {
      if (auto load = dyn_cast<memref::LoadOp>(op))
        areApart &= !viewOf.contains(bufferBehind(load.getMemRef()));
      areApart &= !isa<linalg::FillOp>(op);
      if (auto store = dyn_cast<memref::StoreOp>(op))
        areApart &= addOuter(store, outer, dimension);
    });
    return areApart ? outer.takeVector() : SmallVector<scf::ForOp, 4>();
  }

  llvm::SmallSetVector<scf::ForOp, 4> loops;

private:
  /// False if `op` stores outside a loop along the innermost index.
  bool addStores(Operation *op) {
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      scf::ForOp loop = loopOf(store.getIndices());
      if (loop)
        loops.insert(loop);
      return bool(loop) && addWritten(store.getMemRef());
    }
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return op->getBlock() == item.getBody() &&
             addWritten(fill.getDpsInitOperand(0)->get());
    return isKnown(op);
  }

  /// False for a view of a kept row, and for a second view of a buffer.
  bool addWritten(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    Value buffer = bufferBehind(memory);
    bool isView = buffer != memory;
    bool isOnlyView =
        viewOf.try_emplace(buffer, memory).first->second == memory;
    return type.hasStaticShape() && type.getRank() > 0 && isOnlyView &&
           !(isView && buffer.getDefiningOp<memref::AllocaOp>());
  }

  /// Whether no shared loop contains another.
  bool areLeaves() const {
    return llvm::none_of(loops, [&](scf::ForOp loop) {
      for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
           outer = outer->getParentOfType<scf::ForOp>())
        if (loops.contains(outer))
          return true;
      return false;
    });
  }

  static scf::ForOp loopCounting(Value index) {
    auto counter = dyn_cast<BlockArgument>(index);
    auto loop = counter
                    ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp())
                    : scf::ForOp();
    return loop && loop.getInductionVar() == counter && boundsOf(loop)
               ? loop
               : scf::ForOp();
  }

  /// The loop that counts the last of `indices`.
  static scf::ForOp loopOf(ValueRange indices) {
    return indices.empty() ? scf::ForOp() : loopCounting(indices.back());
  }

  /// Adds the loop of the item that contains `store`. False if it does not
  /// count the store's index number `dimension`.
  bool addOuter(memref::StoreOp store,
                llvm::SmallSetVector<scf::ForOp, 4> &outer,
                std::optional<unsigned> &dimension) {
    Operation *inItem = item.getBody()->findAncestorOpInBlock(*store);
    for (auto [number, index] : llvm::enumerate(store.getIndices())) {
      scf::ForOp loop = loopCounting(index);
      if (!loop || loop != inItem || loops.contains(loop))
        continue;
      outer.insert(loop);
      bool isSame = !dimension || *dimension == number;
      dimension = unsigned(number);
      return isSame;
    }
    return false;
  }

  /// Whether each thread reads only elements that it wrote.
  bool readsAreOwn() {
    bool areOwn = true;
    item.getBody()->walk([&](memref::LoadOp load) {
      Value view = viewOf.lookup(bufferBehind(load.getMemRef()));
      if (view)
        areOwn &= view == load.getMemRef() &&
                  loops.contains(loopOf(load.getIndices()));
    });
    return areOwn;
  }

  scf::ForOp item;
  /// The single view by which each written buffer is accessed.
  llvm::DenseMap<Value, Value> viewOf;
};

/// Finds an item that is one sum.
class SumFinder {
public:
  explicit SumFinder(scf::ForOp item) : item(item) {}

  LaneSum find() {
    bool isPlain = true;
    item.getBody()->walk([&](Operation *op) { isPlain &= note(op); });
    bool isSum = isPlain && added && sum.taken && sum.stored && isLong();
    return isSum ? sum : LaneSum();
  }

private:
  bool isInItem(Operation *op) { return op->getBlock() == item.getBody(); }
  /// Whether the sum has a term for every thread of a warp.
  bool isLong() {
    LoopBounds bounds = *boundsOf(sum.loop);
    return bounds.last - bounds.first >= mostLanes;
  }

  /// Records `op`; false if an item that is one sum cannot contain it.
  bool note(Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return !isKept(load.getMemRef()) || noteLoad(load);
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return isKept(store.getMemRef()) ? noteKept(store) : noteResult(store);
    return isKnown(op) && !isa<linalg::FillOp, scf::WhileOp>(op);
  }

  /// Whether `memory` is a kept row of one f32, because shuffles move 32 bits.
  bool isKept(Value memory) {
    auto alloca = memory.getDefiningOp<memref::AllocaOp>();
    bool isOne = alloca && alloca.getType().hasStaticShape() &&
                 alloca.getType().getNumElements() == 1 &&
                 alloca.getType().getElementType().isF32();
    if (isOne && !row)
      row = memory;
    return isOne && memory == row;
  }

  /// Records the load of the sum so far in a term, or of the complete sum.
  bool noteLoad(memref::LoadOp load) {
    if (!isInItem(load)) {
      bool isFirst = !before;
      before = load;
      return isFirst && load->hasOneUse();
    }
    bool isFirst = !sum.taken && added;
    sum.taken = load;
    return isFirst;
  }

  /// Records the store of the initial zero, or of the sum with one more term.
  bool noteKept(memref::StoreOp store) {
    Value value = store.getValue();
    if (isInItem(store))
      return !added && matchPattern(value, m_AnyZeroFloat());
    auto add = value.getDefiningOp<arith::AddFOp>();
    bool isTerm = !added && add && before &&
                  add.getLhs() == before.getResult() &&
                  before->getBlock() == store->getBlock();
    added = store;
    sum.loop = store->getParentOfType<scf::ForOp>();
    return isTerm && sum.loop != item && boundsOf(sum.loop);
  }

  bool noteResult(memref::StoreOp store) {
    bool isFirst = !sum.stored && isInItem(store) && sum.taken;
    sum.stored = store;
    return isFirst;
  }

  scf::ForOp item;
  Value row;
  memref::LoadOp before;
  memref::StoreOp added;
  LaneSum sum;
};

/// Finds an item that stores nothing but runs of neighbours. An element always
/// belongs to the same thread, so runs may overlap.
class FillFinder {
public:
  explicit FillFinder(scf::ForOp item) : item(item) {}

  /// The loops that store them; empty for other items.
  ArrayRef<scf::ForOp> find() {
    bool isPlain = true;
    item.getBody()->walk([&](Operation *op) { isPlain &= note(op); });
    for (Value memory : loaded)
      isPlain &= !viewOf.contains(memory);
    for (scf::ForOp loop : loops)
      loop.walk([&](scf::ForOp inner) { isPlain &= inner == loop; });
    return isPlain ? loops.getArrayRef() : ArrayRef<scf::ForOp>();
  }

private:
  /// Records `op`; false if such an item cannot contain it.
  bool note(Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      loaded.push_back(bufferBehind(load.getMemRef()));
    auto store = dyn_cast<memref::StoreOp>(op);
    return store ? noteStore(store)
                 : isKnown(op) && !isa<linalg::FillOp, scf::WhileOp>(op);
  }

  bool noteStore(memref::StoreOp store) {
    auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
    if (!loop || loop == item || !loop.getInitArgs().empty() ||
        !isConstantIntValue(loop.getStep(), 1) || store.getIndices().empty() ||
        store.getIndices().back() != loop.getInductionVar())
      return false;
    loops.insert(loop);
    Value view = store.getMemRef(), buffer = bufferBehind(view);
    bool isOnlyView = viewOf.try_emplace(buffer, view).first->second == view;
    return isOnlyView && view.getParentBlock() == item.getBody() &&
           !buffer.getDefiningOp<memref::AllocaOp>();
  }

  scf::ForOp item;
  SmallVector<Value> loaded;
  /// The single view by which each written buffer is accessed.
  llvm::DenseMap<Value, Value> viewOf;
  llvm::SmallSetVector<scf::ForOp, 4> loops;
};

} // namespace

/// A block's threads, if each has enough neighbours of a long run.
static int64_t threadsFor(ArrayRef<scf::ForOp> fills) {
  constexpr int64_t neighbours = 16, mostThreads = 1024;
  int64_t extent = 1;
  for (scf::ForOp loop : fills)
    for (auto store : loop.getOps<memref::StoreOp>())
      extent = std::max(extent, store.getMemRefType().getShape().back());
  return std::clamp(int64_t(llvm::PowerOf2Ceil(extent / neighbours)), mostLanes,
                    mostThreads);
}

static void chooseLanes(RowLanes &lanes, const Finder &finder, bool isAligned) {
  int64_t extent = finder.extent();
  lanes.width = isAligned ? finder.accessWidth() : 1;
  while (extent % lanes.width)
    lanes.width /= 2;
  lanes.count =
      std::min(mostLanes, int64_t(llvm::PowerOf2Ceil(extent / lanes.width)));
  lanes.loops.assign(finder.loops.begin(), finder.loops.end());
}

static void chooseParts(RowLanes &lanes, int64_t grid) {
  int64_t points = 1;
  for (scf::ForOp loop : lanes.dealt) {
    LoopBounds bounds = *boundsOf(loop);
    points = std::max(points, bounds.last - bounds.first);
  }
  int64_t threads = std::max<int64_t>(grid * lanes.count, 1);
  int64_t wanted = int64_t(llvm::divideCeil(enoughThreads, threads));
  lanes.parts = std::min({points, wanted, mostParts});
}

RowLanes tpsp::findRowLanes(KernelSource source) {
  RowLanes lanes;
  scf::ForOp item = source.itemLoop();
  if (!item)
    return lanes;
  Finder finder(item);
  if (!finder.find()) {
    lanes.sum = SumFinder(item).find();
    lanes.count = lanes.sum ? mostLanes : 1;
    if (lanes.sum)
      return lanes;
    FillFinder fills(item);
    llvm::append_range(lanes.fills, fills.find());
    if (!lanes.fills.empty())
      lanes.count = threadsFor(lanes.fills);
    return lanes;
  }
  chooseLanes(lanes, finder, source.isAligned);
  lanes.dealt = finder.dealtLoops();
  chooseParts(lanes, source.grid);
  return lanes;
}
