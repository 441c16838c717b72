#include "ItemLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tpsp;

Value tpsp::bufferBehind(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

SmallVector<int64_t> ItemLoop::extents(int64_t range) const {
  linalg::LinalgOp op = nest;
  SmallVector<int64_t> all = op.getStaticLoopRanges();
  for (int64_t &extent : all)
    extent = ShapedType::isDynamic(extent) ? range : extent;
  return all;
}

Value ItemLoop::output(unsigned number) const {
  linalg::LinalgOp op = nest;
  return op.getDpsInitOperand(number)->get();
}

Operation *ItemLoop::combiner(unsigned number) const {
  linalg::LinalgOp op = nest;
  return op.getBlock()->getTerminator()->getOperand(number).getDefiningOp();
}

namespace {

class Finder {
public:
  Finder(KernelSource source, ItemLoops &loops, std::string &obstacle)
      : source(source), loops(loops), obstacle(obstacle) {}

  bool find() {
    Block &entry = source.function.getBody().front();
    scf::ForOp loop = source.itemLoop();
    for (Operation &op : entry.without_terminator()) {
      if (auto row = dyn_cast<memref::AllocaOp>(op))
        loops.rows.push_back(row);
      else if (&op != loop && !visit(&op))
        return false;
    }
    if (loop)
      for (Operation &op : loop.getBody()->without_terminator())
        if (!visit(&op))
          return false;
    return true;
  }

private:
  bool fail(const llvm::Twine &why) {
    obstacle = why.str();
    return false;
  }

  bool visit(Operation *op) {
    if (auto nest = dyn_cast<linalg::LinalgOp>(op))
      return isInitial(nest) || addLoops(nest);
    if (op->getNumRegions() > 0 || !isMemoryEffectFree(op))
      return fail("an item is not a sequence of loop nests: it has " +
                  op->getName().getStringRef());
    loops.steps.push_back({op, {}});
    return true;
  }

  /// Whether this only fills memory into which its next user sums.
  bool isInitial(linalg::LinalgOp op) {
    auto fill = dyn_cast<linalg::FillOp>(op.getOperation());
    if (!fill)
      return false;
    Value memory = fill.getDpsInitOperand(0)->get();
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (llvm::is_contained(next->getOperands(), memory)) {
        auto nest = dyn_cast<linalg::LinalgOp>(next);
        if (!nest || !sums(nest, memory))
          return false;
        loops.initial[memory] = fill.getDpsInputOperand(0)->get();
        return true;
      }
    return false;
  }

  static bool sums(linalg::LinalgOp nest, Value memory) {
    for (OpOperand &output : nest.getDpsInitsMutable())
      if (output.get() == memory)
        return nest.payloadUsesValueFromOperand(&output);
    return false;
  }

  bool addLoops(linalg::LinalgOp nest) {
    if (!hasPlainMaps(nest))
      return false;
    std::vector<ItemLoop> nestLoops;
    SmallVector<unsigned> stored;
    for (auto [i, output] : llvm::enumerate(nest.getDpsInitsMutable())) {
      if (!nest.payloadUsesValueFromOperand(&output)) {
        stored.push_back(i);
        continue;
      }
      if (!isSum(nest, i))
        return false;
      addSum(nestLoops, nest, i);
    }
    if (nestLoops.empty())
      nestLoops.push_back(loopOver(nest, allDims(nest)));
    nestLoops.front().stored = stored;
    for (ItemLoop &loop : nestLoops)
      loops.steps.push_back({nullptr, std::move(loop)});
    return true;
  }

  bool hasPlainMaps(linalg::LinalgOp nest) {
    for (OpOperand &operand : nest->getOpOperands()) {
      if (!nest.getMatchingIndexingMap(&operand).isProjectedPermutation())
        return fail("an operand is not indexed by loops alone");
      auto row = operand.get().getDefiningOp<ViewLikeOpInterface>();
      if (row &&
          bufferBehind(row.getViewSource()).getDefiningOp<memref::AllocaOp>())
        return fail("a kept row is used in parts");
    }
    return true;
  }

  /// Whether output `number` is combined from a known initial value by an
  /// operation that threads may apply in any order.
  bool isSum(linalg::LinalgOp nest, unsigned number) {
    Value result = nest.getBlock()->getTerminator()->getOperand(number);
    Value before =
        nest.getMatchingBlockArgument(nest.getDpsInitOperand(number));
    Operation *combiner = result.getDefiningOp();
    bool combines = combiner && combiner->getNumOperands() == 2 &&
                    before.hasOneUse() && *before.user_begin() == combiner &&
                    arith::getNeutralElement(combiner);
    if (!combines)
      return fail("a result of a loop is neither stored nor summed");
    if (!loops.initial.contains(nest.getDpsInitOperand(number)->get()))
      return fail("a sum begins from a value in memory");
    return true;
  }

  static SmallVector<unsigned> allDims(linalg::LinalgOp nest) {
    return llvm::to_vector(llvm::seq<unsigned>(0, nest.getNumLoops()));
  }

  static ItemLoop loopOver(linalg::LinalgOp nest, ArrayRef<unsigned> kept) {
    ItemLoop loop;
    loop.nest = nest;
    loop.kept.assign(kept.begin(), kept.end());
    for (unsigned dim : allDims(nest))
      if (!llvm::is_contained(kept, dim))
        loop.summed.push_back(dim);
    return loop;
  }

  static void addSum(std::vector<ItemLoop> &nestLoops, linalg::LinalgOp nest,
                     unsigned number) {
    AffineMap map = nest.getMatchingIndexingMap(nest.getDpsInitOperand(number));
    SmallVector<unsigned> kept;
    for (unsigned dim : allDims(nest))
      if (map.isFunctionOfDim(dim))
        kept.push_back(dim);
    auto same = llvm::find_if(
        nestLoops, [&](const ItemLoop &loop) { return loop.kept == kept; });
    if (same == nestLoops.end()) {
      nestLoops.push_back(loopOver(nest, kept));
      same = std::prev(nestLoops.end());
    }
    same->sums.push_back(number);
  }

  KernelSource source;
  ItemLoops &loops;
  std::string &obstacle;
};

} // namespace

bool tpsp::findItemLoops(KernelSource source, ItemLoops &loops,
                         std::string &obstacle) {
  return Finder(source, loops, obstacle).find();
}
