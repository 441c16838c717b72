// The form of a device kernel that sorts integers into buckets.
//
// The function initialises the state of every bucket, and then visits all
// integers in order. An integer of a bucket uses the bucket's state and changes
// it:
//
//   for bucket: count[bucket] = 0
//   for i: if id[i] is one of the buckets:
//     earlier[i] = count[id[i]]; count[id[i]] += 1
//
// Here a block has a range of buckets. Each of its warps has a run of the
// integers, and visits it twice:
//
//   1. From neutral states, to find how the run changes each bucket.
//   2. From the states that the previous runs leave, to write the outputs.
//
// A warp visits 32 neighbouring integers at once. A lane finds the lanes with
// the same bucket by one instruction (match). So the order of integers is kept,
// and nothing is atomic.
#include "DeviceKernels.h"
#include "IndexMath.h"
#include "Passes/Kernels/DeviceLimits.h"
#include "RowLanes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

/// The most warps of a block.
static constexpr int64_t mostWarps = 32;
/// Integers that a lane loads before it processes them, to wait once for all.
static constexpr int64_t atOnce = 4;
/// States of all warps of a block: they fill the memory that a block has
/// without asking.
static constexpr int64_t mostStates = (48 << 10) / 4;

namespace {

/// A function that sorts integers into buckets.
struct BucketForm {
  /// Over points of the grid; contains the other loops.
  scf::ForOp points;
  /// Over the buckets of the range.
  scf::ForOp initial;
  /// The store of a bucket's initial state.
  memref::StoreOp initialised;
  /// Over the integers, outermost first.
  SmallVector<scf::ForOp> nest;
  /// An integer of the range uses and changes the state here.
  scf::IfOp step;
  /// The number of the integer's bucket in the range.
  Value bucket;
  memref::LoadOp before;
  memref::StoreOp after;

  Value state() const { return memref::StoreOp(initialised).getMemRef(); }
  /// Whether a state is the number of integers so far. Otherwise it depends
  /// only on the last integer, and is not negative.
  bool counts() const {
    auto add = memref::StoreOp(after).getValue().getDefiningOp<arith::AddIOp>();
    return add && add.getLhs() == memref::LoadOp(before).getResult();
  }
  int64_t integers() const {
    int64_t product = 1;
    for (scf::ForOp loop : nest)
      product *= boundsOf(loop)->last;
    return product;
  }
};

class FormFinder {
public:
  explicit FormFinder(KernelSource source) : source(source) {}

  std::optional<BucketForm> find() {
    func::FuncOp function = source.function;
    auto loops = function.getBody().getOps<scf::ForOp>();
    if (source.itemLoop() || !llvm::hasSingleElement(loops))
      return std::nullopt;
    form.points = *loops.begin();
    auto inner = llvm::to_vector(form.points.getOps<scf::ForOp>());
    if (inner.size() != 2)
      return std::nullopt;
    form.initial = inner[0];
    if (findInitial() && findNest(inner[1]) && findStep())
      return form;
    return std::nullopt;
  }

private:
  /// The last operation of a loop's body.
  static Operation *lastOf(scf::ForOp loop) {
    return loop.getBody()->getTerminator()->getPrevNode();
  }

  bool findInitial() {
    form.initialised = dyn_cast_or_null<memref::StoreOp>(lastOf(form.initial));
    return form.initialised &&
           form.initialised.getValue().getType().isInteger(32);
  }

  bool findNest(scf::ForOp loop) {
    for (;;) {
      std::optional<LoopBounds> bounds = boundsOf(loop);
      if (!bounds || bounds->first != 0)
        return false;
      form.nest.push_back(loop);
      auto inner = llvm::to_vector(loop.getOps<scf::ForOp>());
      if (inner.empty())
        break;
      loop = inner.front();
      if (inner.size() > 1 || lastOf(form.nest.back()) != loop)
        return false;
    }
    form.step = dyn_cast_or_null<scf::IfOp>(lastOf(loop));
    return bool(form.step);
  }

  bool findStep() {
    int accesses = 0;
    form.nest.front().walk([&](Operation *op) {
      if (!llvm::is_contained(op->getOperands(), form.state()))
        return;
      ++accesses;
      if (op->getParentOp() != form.step)
        return;
      if (auto load = dyn_cast<memref::LoadOp>(op))
        form.before = load;
      if (auto store = dyn_cast<memref::StoreOp>(op))
        form.after = store;
    });
    findBucket(form.step.getCondition());
    return accesses == 2 && form.before && form.after && form.bucket &&
           (form.counts() ? countsOne() : isOfInteger());
  }

  bool countsOne() {
    auto add = form.after.getValue().getDefiningOp<arith::AddIOp>();
    return matchPattern(add.getRhs(), m_One());
  }

  /// Whether the new state is computed from numbers outside the step alone.
  bool isOfInteger() {
    Operation *made = form.after.getValue().getDefiningOp();
    return made && isMemoryEffectFree(made) &&
           llvm::none_of(made->getOperands(), [&](Value operand) {
             return operand.getParentBlock() == form.step.thenBlock();
           });
  }

  /// Finds the comparison of the bucket with the length of the range.
  void findBucket(Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      findBucket(both.getLhs());
      findBucket(both.getRhs());
    }
    auto below = condition.getDefiningOp<arith::CmpIOp>();
    auto length =
        below ? below.getRhs().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    if (length && below.getPredicate() == arith::CmpIPredicate::ult &&
        length.getLhs() == form.initial.getUpperBound() &&
        length.getRhs() == form.initial.getLowerBound())
      form.bucket = below.getLhs();
  }

  KernelSource source;
  BucketForm form;
};

class BucketEmitter : IndexMath {
public:
  BucketEmitter(OpBuilder &b, KernelSource source, BucketForm form)
      : IndexMath(b, source.function.getLoc()), source(source), form(form),
        integers(form.integers()) {
    auto rounds = int64_t(llvm::divideCeil(integers, warp * atOnce));
    warps = std::min(int64_t(llvm::PowerOf2Ceil(rounds)), mostWarps);
    batches = int64_t(llvm::divideCeil(rounds, warps));
    auto wanted = int64_t(llvm::divideCeil(source.grid, enoughBlocks));
    range = std::clamp<int64_t>(wanted, 1, mostStates / warps);
  }

  gpu::GPUFuncOp emit() {
    gpu::GPUFuncOp kernel = createDeviceKernel(b, source);
    int64_t threads = warps * warp;
    setLaunch(kernel, {threads, range, 1, 0});
    kernel.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    states = kernel.addWorkgroupAttribution(
        MemRefType::get({warps, range}, b.getI32Type(), AffineMap(), space),
        loc);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    map.map(
        source.function.getArguments(),
        kernel.getArguments().take_front(source.function.getNumArguments()));
    takeRange();
    for (Operation &op :
         source.function.getBody().front().without_terminator()) {
      if (&op == form.points)
        emitPoints();
      else if (!isa<memref::AllocaOp>(op))
        b.clone(op, map);
    }
    gpu::ReturnOp::create(b, loc);
    return kernel;
  }

private:
  /// An integer that a lane visits.
  struct Visit {
    IRMapping map;
    Value isInteger;
  };

  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  }
  Value asI32(Value x) {
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), x);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }

  /// Selects the block's buckets as the range.
  void takeRange() {
    thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    lane = remainder(thread, warp);
    warpNumber = quotient(thread, warp);
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value first = add(map.lookup(source.begin()), multiply(block, range));
    Value last = arith::MinSIOp::create(b, loc, add(first, constant(range)),
                                        map.lookup(source.end()));
    map.map(source.begin(), first);
    map.map(source.end(), last);
  }

  void emitPoints() {
    auto points = scf::ForOp::create(
        b, loc, map.lookup(form.points.getLowerBound()),
        map.lookup(form.points.getUpperBound()), constant(1));
    map.map(form.points.getInductionVar(), points.getInductionVar());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(points.getBody());
    for (Operation &op : form.points.getBody()->without_terminator()) {
      if (&op == form.nest.front())
        emitPoint();
      else if (&op != form.initial)
        b.clone(op, map);
    }
  }

  void emitPoint() {
    clearStates();
    gpu::BarrierOp::create(b, loc);
    visitRun(/*writes=*/false);
    gpu::BarrierOp::create(b, loc);
    passStatesOn();
    gpu::BarrierOp::create(b, loc);
    if (!writesOutputs())
      return;
    visitRun(/*writes=*/true);
    gpu::BarrierOp::create(b, loc);
  }

  /// Whether an integer stores anything but a state.
  bool writesOutputs() {
    bool found = false;
    form.nest.front().walk(
        [&](memref::StoreOp store) { found |= store != form.after; });
    return found;
  }

  void clearStates() {
    Value neutral = i32(form.counts() ? 0 : -1);
    forPoints(thread, constant(warps * range), warps * warp, {},
              [&](Value number, ValueRange) {
                memref::StoreOp::create(b, loc, neutral, states,
                                        ValueRange{quotient(number, range),
                                                   remainder(number, range)});
                return SmallVector<Value>();
              });
  }

  /// Replaces every warp's change of a bucket by the state that the warp finds,
  /// and stores the last states if they are results.
  void passStatesOn() {
    Value first = map.lookup(form.initial.getLowerBound()),
          last = map.lookup(form.initial.getUpperBound());
    forPoints(add(first, thread), last, warps * warp, {},
              [&](Value bucket, ValueRange) {
                passStateOn(bucket,
                            arith::SubIOp::create(b, loc, bucket, first));
                return SmallVector<Value>();
              });
  }

  void passStateOn(Value bucket, Value number) {
    IRMapping inner(map);
    inner.map(form.initial.getInductionVar(), bucket);
    for (Operation &op : form.initial.getBody()->without_terminator())
      if (&op != form.initialised)
        b.clone(op, inner);
    Value state = inner.lookupOrDefault(form.initialised.getValue());
    auto pass = [&](Value before, ValueRange carried) -> SmallVector<Value> {
      SmallVector<Value> at = {before, number};
      Value change = memref::LoadOp::create(b, loc, states, at);
      memref::StoreOp::create(b, loc, carried[0], states, at);
      return {form.counts()
                  ? add(carried[0], change)
                  : valueIf(compare(arith::CmpIPredicate::slt, change, i32(0)),
                            carried[0], change)};
    };
    state = forPoints(constant(0), constant(warps), 1, state, pass).front();
    if (Value result = map.lookupOrNull(form.state())) {
      SmallVector<Value> at =
          llvm::map_to_vector(form.initialised.getIndices(), [&](Value index) {
            return inner.lookupOrDefault(index);
          });
      memref::StoreOp::create(b, loc, state, result, at);
    }
  }

  /// Visits the integers of the warp's run.
  void visitRun(bool writes) {
    Value run = add(multiply(warpNumber, batches * atOnce * warp), lane);
    forPoints(
        constant(0), constant(batches), 1, {}, [&](Value batch, ValueRange) {
          SmallVector<Visit> visits;
          for (int64_t i = 0; i < atOnce; ++i)
            visits.push_back(load(add(
                run, add(multiply(batch, atOnce * warp), constant(i * warp)))));
          for (Visit &visit : visits)
            process(visit, writes);
          return SmallVector<Value>();
        });
  }

  /// Emits the operations before the step for integer `number` of the nest. A
  /// lane past the end loads the last integer, and does not use it.
  Visit load(Value number) {
    Visit visit;
    visit.map = map;
    visit.isInteger = isBelow(number, constant(integers));
    number = arith::MinSIOp::create(b, loc, number, constant(integers - 1));
    for (scf::ForOp loop : llvm::reverse(form.nest)) {
      int64_t extent = boundsOf(loop)->last;
      visit.map.map(loop.getInductionVar(), remainder(number, extent));
      number = quotient(number, extent);
    }
    for (scf::ForOp loop : form.nest)
      for (Operation &op : loop.getBody()->without_terminator())
        if (!isa<scf::ForOp, scf::IfOp>(op))
          b.clone(op, visit.map);
    return visit;
  }

  void process(Visit &visit, bool writes) {
    if (writes)
      for (auto other : form.nest.back().getOps<scf::IfOp>())
        if (other != form.step)
          guarded(visit.isInteger, [&] { b.clone(*other, visit.map); });
    Value isOurs =
        both(visit.isInteger, visit.map.lookup(form.step.getCondition()));
    Value number = valueIf(isOurs, visit.map.lookup(form.bucket), constant(0));
    SmallVector<Value> at = {warpNumber, number};
    Value state = memref::LoadOp::create(b, loc, states, at);
    Value all = i32(-1);
    Value peers = NVVM::MatchSyncOp::create(b, loc, b.getI32Type(), all,
                                            valueIf(isOurs, asI32(number), all),
                                            NVVM::MatchSyncKind::any);
    if (writes || form.counts())
      state = stateBefore(visit, state, peers);
    Value rest = arith::ShRUIOp::create(b, loc, peers, asI32(lane));
    Value isLast = compare(arith::CmpIPredicate::eq, rest, i32(1));
    // All lanes have loaded the state before one of them changes it, and later
    // loads follow the change.
    NVVM::SyncWarpOp::create(b, loc, all);
    guarded(isOurs, [&] {
      visit.map.map(form.before.getResult(), state);
      for (Operation &op : form.step.thenBlock()->without_terminator())
        if (&op != form.before && &op != form.after &&
            (writes || isMemoryEffectFree(&op)))
          b.clone(op, visit.map);
      Value next = visit.map.lookupOrDefault(form.after.getValue());
      guarded(isLast,
              [&] { memref::StoreOp::create(b, loc, next, states, at); });
    });
    NVVM::SyncWarpOp::create(b, loc, all);
  }

  /// The bucket's state before the lane's integer, where `state` is that before
  /// the warp's 32 integers, and `peers` are lanes of the same bucket.
  Value stateBefore(Visit &visit, Value state, Value peers) {
    Value lower = arith::ShLIOp::create(b, loc, i32(1), asI32(lane));
    lower = arith::SubIOp::create(b, loc, lower, i32(1));
    Value earlier = arith::AndIOp::create(b, loc, peers, lower);
    if (form.counts())
      return add(state, LLVM::CtPopOp::create(b, loc, earlier));
    Operation *made = form.after.getValue().getDefiningOp();
    Value next = b.clone(*made, visit.map)->getResult(0);
    Value zeros = LLVM::CountLeadingZerosOp::create(
        b, loc, b.getI32Type(), earlier, /*is_zero_poison=*/false);
    // The last of them; any lane if there is none.
    Value last = arith::SubIOp::create(b, loc, i32(warp - 1), zeros);
    last = arith::AndIOp::create(b, loc, last, i32(warp - 1));
    auto other = gpu::ShuffleOp::create(b, loc, next, last, i32(warp),
                                        gpu::ShuffleMode::IDX);
    Value isFirst = compare(arith::CmpIPredicate::eq, earlier, i32(0));
    return valueIf(isFirst, state, other.getShuffleResult());
  }

  KernelSource source;
  BucketForm form;
  /// Numbers of integers, of warps of a block, of batches of a warp's run, and
  /// of buckets of a block.
  int64_t integers, warps, batches, range;
  IRMapping map;
  Value thread, lane, warpNumber;
  /// The state of each bucket in each warp.
  Value states;
};

} // namespace

gpu::GPUFuncOp tpsp::emitBucketDeviceKernel(OpBuilder &b, KernelSource source) {
  std::optional<BucketForm> form = FormFinder(source).find();
  return form ? BucketEmitter(b, source, *form).emit() : gpu::GPUFuncOp();
}
