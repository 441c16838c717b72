#include "RowLanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

/// Threads of an item, at most: a warp, so that none waits for another's way
/// through the item.
static constexpr int64_t mostLanes = 32;

namespace {

class Finder {
public:
  /// Whether threads may share `item`.
  bool find(scf::ForOp item) {
    bool isPlain = true;
    item.getBody()->walk([&](Operation *op) { isPlain &= addStores(op); });
    return isPlain && !written.empty() && readsAreOwn(item);
  }

  /// Elements along the innermost index.
  int64_t extent() const {
    int64_t most = 1;
    for (Value memory : written)
      most =
          std::max(most, cast<MemRefType>(memory.getType()).getShape().back());
    return most;
  }

  llvm::SmallSetVector<scf::ForOp, 4> loops;

private:
  /// False for what stores without a loop along the innermost index.
  bool addStores(Operation *op) {
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      written.insert(store.getMemRef());
      scf::ForOp loop = loopOf(store.getIndices());
      if (loop)
        loops.insert(loop);
      return bool(loop) && isStatic(store.getMemRef());
    }
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      Value memory = fill.getDpsInitOperand(0)->get();
      written.insert(memory);
      return isStatic(memory);
    }
    return !isa<linalg::LinalgOp, memref::AllocaOp>(op);
  }

  static bool isStatic(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    return type.hasStaticShape() && type.getRank() > 0;
  }

  /// The loop from 0 in steps of 1 that counts the last of `indices`.
  static scf::ForOp loopOf(ValueRange indices) {
    auto last = indices.empty() ? BlockArgument()
                                : dyn_cast<BlockArgument>(indices.back());
    auto loop = last ? dyn_cast<scf::ForOp>(last.getOwner()->getParentOp())
                     : scf::ForOp();
    bool isPlain = loop && loop.getInductionVar() == last &&
                   loop.getInitArgs().empty() &&
                   isConstantIntValue(loop.getLowerBound(), 0) &&
                   isConstantIntValue(loop.getStep(), 1);
    return isPlain ? loop : scf::ForOp();
  }

  /// Whether what is written is read by the thread that wrote it.
  bool readsAreOwn(scf::ForOp item) {
    bool areOwn = true;
    item.getBody()->walk([&](memref::LoadOp load) {
      if (written.contains(load.getMemRef()))
        areOwn &= loops.contains(loopOf(load.getIndices()));
    });
    return areOwn;
  }

  llvm::SmallSetVector<Value, 4> written;
};

} // namespace

RowLanes tpsp::findRowLanes(KernelSource source) {
  RowLanes lanes;
  Finder finder;
  scf::ForOp item = source.itemLoop();
  if (!item || !finder.find(item))
    return lanes;
  lanes.count =
      std::min(mostLanes, int64_t(llvm::PowerOf2Ceil(finder.extent())));
  lanes.loops.assign(finder.loops.begin(), finder.loops.end());
  return lanes;
}
