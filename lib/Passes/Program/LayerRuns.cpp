#include "tpsp/Passes/Program/LayerRuns.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

std::string LayerRun::name() const {
  return llvm::join(
      llvm::map_range(ArrayRef(calls).take_front(period),
                      [](func::CallOp call) { return call.getCallee().str(); }),
      ", ");
}

/// The call that alone reads the call's result.
static func::CallOp nextLayer(func::CallOp call) {
  if (call.getNumResults() != 1 || !call.getResult(0).hasOneUse())
    return {};
  return dyn_cast<func::CallOp>(*call.getResult(0).user_begin());
}

/// How many calls from the first on repeat the first `period` of them: whole
/// units.
static size_t repeated(ArrayRef<func::CallOp> calls, size_t period) {
  auto callee = [&](size_t i) {
    func::CallOp call = calls[i];
    return call.getCallee();
  };
  size_t count = std::min(period, calls.size());
  while (count < calls.size() && callee(count) == callee(count - period))
    ++count;
  return count - count % period;
}

/// The longest run that begins with the first call, or of equals the one with
/// the smallest units; empty if there is none.
static LayerRun runAtFront(ArrayRef<func::CallOp> calls, size_t shortest) {
  constexpr size_t largestPeriod = 4;
  LayerRun best;
  for (size_t period = 1; period <= largestPeriod; ++period) {
    size_t count = repeated(calls, period);
    if (count / period > shortest && count > best.calls.size())
      best = {llvm::to_vector(calls.take_front(count)), period};
  }
  return best;
}

SmallVector<LayerRun> tpsp::layerRuns(func::FuncOp program, size_t shortest) {
  SmallVector<LayerRun> runs;
  llvm::DenseSet<Operation *> seen;
  program.walk([&](func::CallOp call) {
    SmallVector<func::CallOp> chain;
    for (func::CallOp next = call; next && seen.insert(next).second;
         next = nextLayer(next))
      chain.push_back(next);
    for (ArrayRef<func::CallOp> rest = chain; !rest.empty();) {
      LayerRun run = runAtFront(rest, shortest);
      rest = rest.drop_front(std::max<size_t>(run.calls.size(), 1));
      if (!run.calls.empty())
        runs.push_back(std::move(run));
    }
  });
  return runs;
}

llvm::BitVector tpsp::keepLayers(func::FuncOp program, ArrayRef<LayerRun> runs,
                                 ArrayRef<size_t> depths) {
  llvm::BitVector unread(program.getNumArguments());
  for (BlockArgument argument : program.getArguments())
    if (!argument.use_empty())
      unread.set(argument.getArgNumber());
  for (auto [run, depth] : llvm::zip_equal(runs, depths)) {
    if (depth >= run.size())
      continue;
    size_t count = depth * run.period;
    Value kept = run.calls[count - 1]->getResult(0);
    Value last = run.calls.back()->getResult(0);
    // Its one use is the next layer, which is removed.
    last.replaceAllUsesWith(kept);
    for (func::CallOp call : llvm::reverse(llvm::drop_begin(run.calls, count)))
      call.erase();
  }
  for (BlockArgument argument : program.getArguments())
    if (!argument.use_empty())
      unread.reset(argument.getArgNumber());
  (void)program.eraseArguments(unread);
  return unread;
}
