#include "Passes/Lowering/RandomStrips.h"
#include "Passes/Device/IndexMath.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Blocks that are drawn together: a multiple of `group`, at most `most`. With
/// fewer blocks nothing hides the products' latency; with more, words no longer
/// fit in registers.
constexpr int64_t group = 8, most = 32;

/// Bits of a cache line.
constexpr int64_t lineBits = 64 * 8;

std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

/// The buffer of a view.
Value bufferOf(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

/// The words of `words` / 4 blocks from number `block` on, in the order of the
/// positions.
Value emitBlocks(OpBuilder &b, Location loc, Value block, int64_t words,
                 Value step, int64_t seed) {
  // Even lanes of a group have its first four blocks, odd lanes the others. So
  // the following shuffle stays within 128 bits.
  int64_t blocks = words / randomNeighbours;
  SmallVector<int64_t> numbers, order;
  for (int64_t lane = 0; lane < blocks; ++lane)
    numbers.push_back(lane / group * group + lane % 2 * (group / 2) +
                      lane % group / 2);
  for (int64_t first = 0; first < blocks; first += group)
    for (int64_t half : {0, 1})
      for (int64_t lane = first + half; lane < first + group; lane += 2)
        order.append({lane, blocks + lane});

  auto lanes = VectorType::get({blocks}, b.getI64Type());
  auto constant = [&](DenseElementsAttr value) -> Value {
    return arith::ConstantOp::create(b, loc, value);
  };
  auto same = [&](int64_t value) {
    return constant(DenseElementsAttr::get(lanes, value));
  };
  Value number = arith::AddIOp::create(
      b, loc, vector::BroadcastOp::create(b, loc, lanes, block),
      constant(DenseElementsAttr::get(lanes, ArrayRef(numbers))));
  auto x = emitRandomWords(b, loc, number, step, seed);
  // Two words of a block next to each other, the first in the lower half.
  auto pair = [&](Value even, Value odd) -> Value {
    return arith::OrIOp::create(
        b, loc, arith::AndIOp::create(b, loc, even, same(0xffffffff)),
        arith::ShLIOp::create(b, loc, odd, same(32)));
  };
  Value pairs = vector::ShuffleOp::create(b, loc, pair(x[0], x[1]),
                                          pair(x[2], x[3]), order);
  return vector::BitCastOp::create(
      b, loc, VectorType::get({words}, b.getI32Type()), pairs);
}

/// A loop over positions in steps of 1, whose draws are consecutive words.
class StripLoop {
public:
  explicit StripLoop(scf::ForOp loop) : loop(loop) {}

  /// Whether the loop can be cut into strips; `cut` does so.
  bool canBeCut() {
    if (constantOf(loop.getStep()) != 1 || loop.getNumResults() > 0)
      return false;
    for (auto op : loop.getOps<RandomBitsOp>())
      if (isRun(op))
        draws.push_back(op);
    return !draws.empty();
  }

  void cut();

private:
  /// Words on the stack. The first ones may belong to the previous strip.
  struct Strip {
    Value words, skipped;

    Value read(OpBuilder &b, Value number) const {
      IndexMath math(b, words.getLoc());
      Value at = skipped ? math.add(number, skipped) : number;
      return memref::LoadOp::create(b, words.getLoc(), words, at);
    }
  };

  /// Whether `op` draws word c mod 4 of block k + c / 4, where c increases by 1
  /// with each iteration.
  bool isRun(RandomBitsOp op) {
    auto word = op.getWord().getDefiningOp<arith::RemUIOp>();
    auto quotient = quotientOf(op.getBlock());
    return word && quotient && constantOf(word.getRhs()) == randomNeighbours &&
           constantOf(quotient.getRhs()) == randomNeighbours &&
           quotient.getLhs() == word.getLhs() && risesByOne(word.getLhs()) &&
           (!op.getStep() || isSame(op.getStep()));
  }

  arith::DivUIOp quotientOf(Value block) {
    auto sum = block.getDefiningOp<arith::AddIOp>();
    if (!sum)
      return block.getDefiningOp<arith::DivUIOp>();
    if (loop.isDefinedOutsideOfLoop(sum.getLhs()))
      return sum.getRhs().getDefiningOp<arith::DivUIOp>();
    return loop.isDefinedOutsideOfLoop(sum.getRhs())
               ? sum.getLhs().getDefiningOp<arith::DivUIOp>()
               : nullptr;
  }

  bool risesByOne(Value value) {
    if (value == loop.getInductionVar())
      return true;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      return risesByOne(cast.getIn());
    auto sum = value.getDefiningOp<arith::AddIOp>();
    if (!sum)
      return false;
    return loop.isDefinedOutsideOfLoop(sum.getLhs())
               ? risesByOne(sum.getRhs())
               : loop.isDefinedOutsideOfLoop(sum.getRhs()) &&
                     risesByOne(sum.getLhs());
  }

  /// Whether `value` is the same in all iterations: arithmetic on numbers that
  /// the loop does not write.
  bool isSame(Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    Operation *op = value.getDefiningOp();
    auto load = dyn_cast_or_null<memref::LoadOp>(op);
    return op && (load ? !isWritten(bufferOf(load.getMemRef())) : isPure(op)) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isSame(operand); });
  }

  /// Whether the loop writes to `buffer`; arguments of a kernel do not overlap.
  bool isWritten(Value buffer) {
    auto mayWrite = [&](Operation *op) {
      if (auto store = dyn_cast<memref::StoreOp>(op))
        return bufferOf(store.getMemRef()) == buffer;
      return op->getNumRegions() == 0 && !isa<memref::LoadOp>(op) &&
             !isMemoryEffectFree(op);
    };
    WalkResult walk = loop.getBody()->walk([&](Operation *op) {
      return mayWrite(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return walk.wasInterrupted();
  }

  /// Whether the word at the beginning of every strip is the first of its
  /// block.
  bool startsBlock(RandomBitsOp op) {
    return isMultiple(op.getWord().getDefiningOp<arith::RemUIOp>().getLhs());
  }

  /// Whether `value` is a multiple of four at the beginning of every strip.
  bool isMultiple(Value value) {
    if (value == loop.getInductionVar())
      return isMultiple(loop.getLowerBound());
    if (auto number = constantOf(value))
      return *number % randomNeighbours == 0;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      return isMultiple(cast.getIn());
    if (auto product = value.getDefiningOp<arith::MulIOp>())
      return isMultiple(product.getLhs()) || isMultiple(product.getRhs());
    auto sum = value.getDefiningOp<arith::AddIOp>();
    return sum && isMultiple(sum.getLhs()) && isMultiple(sum.getRhs());
  }

  /// Emits a strip: `length` elements, at most `extent`, from `start` on.
  void emitStrip(OpBuilder &b, Value start, Value length, int64_t extent);
  /// Loads a strip's elements early. LLVM lets masked instructions load values
  /// that are selected later, and such loads would wait for the words.
  void prefetch(OpBuilder &b, int64_t extent, IRMapping &first);
  /// The words that `op` draws, from a strip's `first` element on.
  Strip drawStrip(OpBuilder &b, RandomBitsOp op, int64_t words,
                  IRMapping &first);
  /// `value` at a strip's first element.
  Value emitFirst(OpBuilder &b, Value value, IRMapping &first);

  scf::ForOp loop;
  SmallVector<RandomBitsOp> draws;
  /// The most words of its first block that a strip may skip.
  int64_t before = 0;
};

} // namespace

void StripLoop::cut() {
  if (!llvm::all_of(draws, [&](auto op) { return startsBlock(op); }))
    before = randomNeighbours - 1;
  int64_t strip = most * randomNeighbours - before;

  OpBuilder b(loop);
  IndexMath math(b, loop.getLoc());
  Value from = loop.getLowerBound(), to = loop.getUpperBound();
  auto begin = constantOf(from), end = constantOf(to);
  std::optional<int64_t> extent;
  if (begin && end)
    extent = std::max<int64_t>(*end - *begin, 0);

  Value rest = from;
  if (!extent || *extent >= strip) {
    Value all = arith::SubIOp::create(b, loop.getLoc(), to, from);
    Value length = math.constant(strip);
    Value over = arith::RemSIOp::create(b, loop.getLoc(), all, length);
    rest = arith::SubIOp::create(b, loop.getLoc(), to, over);
    auto strips = scf::ForOp::create(b, loop.getLoc(), from, rest, length);
    OpBuilder inside = OpBuilder::atBlockBegin(strips.getBody());
    emitStrip(inside, strips.getInductionVar(), length, strip);
  }
  if (!extent || *extent % strip != 0)
    emitStrip(b, rest, arith::SubIOp::create(b, loop.getLoc(), to, rest),
              extent ? *extent % strip : strip);
  loop.erase();
}

void StripLoop::emitStrip(OpBuilder &b, Value start, Value length,
                          int64_t extent) {
  int64_t words = llvm::alignTo(extent + before, group * randomNeighbours);
  IRMapping first;
  first.map(loop.getInductionVar(), start);
  DenseMap<Operation *, Strip> strips;
  prefetch(b, extent, first);
  for (RandomBitsOp op : draws)
    strips[op] = drawStrip(b, op, words, first);

  IndexMath math(b, loop.getLoc());
  auto elements = scf::ForOp::create(b, loop.getLoc(), math.constant(0), length,
                                     math.constant(1));
  OpBuilder inside = OpBuilder::atBlockBegin(elements.getBody());
  Value number = elements.getInductionVar();
  IRMapping element;
  element.map(loop.getInductionVar(),
              IndexMath(inside, loop.getLoc()).add(start, number));
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto strip = strips.find(&op); strip != strips.end()) {
      element.map(op.getResult(0), strip->second.read(inside, number));
      continue;
    }
    inside.clone(op, element);
  }
}

void StripLoop::prefetch(OpBuilder &b, int64_t extent, IRMapping &first) {
  for (auto load : loop.getOps<memref::LoadOp>()) {
    MemRefType type = load.getMemRefType();
    ValueRange indices = load.getIndices();
    if (indices.empty() || !type.getElementType().isIntOrFloat() ||
        !risesByOne(indices.back()) || !type.isLastDimUnitStride() ||
        !llvm::all_of(indices.drop_back(), [&](Value index) {
          return loop.isDefinedOutsideOfLoop(index);
        }))
      continue;
    SmallVector<Value> at(indices);
    Value row = emitFirst(b, indices.back(), first);
    IndexMath math(b, load.getLoc());
    int64_t line =
        std::max<int64_t>(lineBits / type.getElementTypeBitWidth(), 1);
    for (int64_t next = 0; next < extent; next += line) {
      at.back() = math.add(row, math.constant(next));
      memref::PrefetchOp::create(b, load.getLoc(), load.getMemRef(), at,
                                 /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
    }
  }
}

StripLoop::Strip StripLoop::drawStrip(OpBuilder &b, RandomBitsOp op,
                                      int64_t words, IRMapping &first) {
  Strip strip;
  // Strips consist of whole blocks only if all draws begin at one.
  if (before > 0)
    strip.skipped = arith::IndexCastOp::create(
        b, op.getLoc(), b.getIndexType(), emitFirst(b, op.getWord(), first));
  Value step = op.getStep() ? emitFirst(b, op.getStep(), first) : Value();
  Value block = emitFirst(b, op.getBlock(), first);

  auto kernel = loop->getParentOfType<func::FuncOp>();
  OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
  strip.words = memref::AllocaOp::create(
      entry, op.getLoc(), MemRefType::get({words}, b.getI32Type()),
      b.getI64IntegerAttr(64));
  Value drawn = emitBlocks(b, op.getLoc(), block, words, step, op.getSeed());
  Value none = arith::ConstantIndexOp::create(b, op.getLoc(), 0);
  vector::StoreOp::create(b, op.getLoc(), drawn, strip.words, none);
  return strip;
}

Value StripLoop::emitFirst(OpBuilder &b, Value value, IRMapping &first) {
  if (loop.isDefinedOutsideOfLoop(value) || first.contains(value))
    return first.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    emitFirst(b, operand, first);
  b.clone(*op, first);
  return first.lookup(value);
}

void tpsp::drawInStrips(func::FuncOp kernel) {
  llvm::SetVector<Operation *> loops;
  kernel.walk([&](RandomBitsOp op) {
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
      loops.insert(loop);
  });
  for (Operation *op : loops) {
    auto loop = cast<scf::ForOp>(op);
    moveLoopInvariantCode(loop);
    StripLoop strips(loop);
    if (strips.canBeCut())
      strips.cut();
  }
}
