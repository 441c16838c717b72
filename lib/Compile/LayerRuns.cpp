#include "LayerRuns.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The call of the same function that alone reads the call's result, as the
/// argument that the call has for the result of the one before.
static func::CallOp nextLayer(func::CallOp call) {
  if (call.getNumResults() != 1 || !call.getResult(0).hasOneUse())
    return {};
  auto next = dyn_cast<func::CallOp>(*call.getResult(0).user_begin());
  if (!next || next.getCallee() != call.getCallee())
    return {};
  return next;
}

SmallVector<LayerRun> tpsp::layerRuns(func::FuncOp program, size_t shortest) {
  SmallVector<LayerRun> runs;
  llvm::DenseSet<Operation *> seen;
  program.walk([&](func::CallOp call) {
    if (seen.contains(call))
      return;
    LayerRun run;
    for (func::CallOp next = call; next; next = nextLayer(next)) {
      seen.insert(next);
      run.push_back(next);
    }
    if (run.size() > shortest)
      runs.push_back(std::move(run));
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
    Value kept = run[depth - 1]->getResult(0);
    Value last = run.back()->getResult(0);
    // Its one use is the next layer, which goes.
    last.replaceAllUsesWith(kept);
    for (func::CallOp call : llvm::reverse(llvm::drop_begin(run, depth)))
      call.erase();
  }
  for (BlockArgument argument : program.getArguments())
    if (!argument.use_empty())
      unread.reset(argument.getArgNumber());
  (void)program.eraseArguments(unread);
  return unread;
}
