#include "InPlaceUpdates.h"

#include "Passes/Kernels/KernelLoops.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The values that a command reads, through views.
static SmallVector<Value> readsOf(const PlannedCommand &command) {
  SmallVector<Value> reads;
  if (command.form == CommandForm::Kernel)
    reads = command.group->getInputs();
  else
    llvm::append_range(reads, command.op->getOperands());
  if (command.matmul) {
    reads.push_back(command.matmul->a);
    reads.push_back(command.matmul->b);
    llvm::append_range(reads, command.matmul->reads);
  }
  for (Value &read : reads)
    read = withoutViews(read);
  return reads;
}

/// Whether each element of the result depends only on the operands' elements at
/// its own position.
static bool readsOwnElement(Operation *op) {
  return isPointwise(op) &&
         llvm::none_of(
             cast<IndexedOpInterface>(op).getIndexStructure().indices,
             [](const IndexStructure::Index &index) { return index.whole; });
}

/// Whether a kernel with these loops may write `made` in the memory of
/// `argument`. Its readers must run in the loop that writes, or in an earlier
/// one.
static bool overwrites(const KernelLoops &kernel, Value made, Value argument) {
  bool isWritten = false;
  for (const KernelLoop &loop : kernel.loops) {
    for (LoopOpInterface op : loop.ops)
      if (llvm::is_contained(op->getOperands(), argument) &&
          (isWritten || !readsOwnElement(op)))
        return false;
    isWritten |= llvm::any_of(loop.stored, [&](LoopOpInterface op) {
      return op->getResult(0) == made;
    });
  }
  return isWritten;
}

llvm::DenseMap<Value, Value>
tpsp::findInPlaceUpdates(func::FuncOp function,
                         ArrayRef<PlannedCommand> commands,
                         const SumMemory &sums) {
  llvm::DenseMap<Value, Value> found(sums);
  llvm::DenseMap<Value, BlockArgument> updates;
  const OperandRange results = returnedValues(function);
  for (auto [i, value] : llvm::enumerate(results)) {
    auto of = function.getResultAttrOfType<IntegerAttr>(i, updatesAttrName);
    auto argument = of ? function.getArgument(of.getInt()) : BlockArgument();
    if (argument && value.getDefiningOp() && llvm::count(results, value) == 1 &&
        value.getType() == argument.getType())
      updates[value] = argument;
  }
  if (updates.empty())
    return found;
  llvm::DenseMap<Value, size_t> lastRead, made;
  for (auto [number, command] : llvm::enumerate(commands)) {
    for (Value read : readsOf(command))
      lastRead[read] = number;
    auto makes = [&made, number = number](Operation *op) {
      for (Value result : op->getResults())
        made.try_emplace(result, number);
    };
    makes(command.op);
    if (command.group)
      llvm::for_each(command.group->getOps(), makes);
    if (command.matmul)
      for (Value written : command.matmul->writes)
        made.try_emplace(written, number);
  }
  // Returned values may be copied after all commands.
  for (auto [i, value] : llvm::enumerate(results))
    if (!function.getResultAttr(i, updatesAttrName))
      lastRead[withoutViews(value)] = commands.size();
  // A kernel often makes a parameter and its state.
  llvm::DenseMap<size_t, KernelLoops> loopsOf;
  auto mayOverwrite = [&](size_t number, Value value, Value argument) {
    auto [loops, isNew] = loopsOf.try_emplace(number);
    if (isNew)
      loops->second = findLoops(*commands[number].group);
    return overwrites(loops->second, value, argument);
  };
  for (auto [value, argument] : updates) {
    auto maker = made.find(value);
    // Readers of the argument want the value that the step began with.
    if (maker == made.end() || lastRead.contains(value))
      continue;
    auto reader = lastRead.find(argument);
    bool isRead = reader != lastRead.end();
    if (isRead && reader->second > maker->second)
      continue;
    const PlannedCommand &command = commands[maker->second];
    bool isOwn = isRead && reader->second == maker->second;
    if (isOwn && (command.form != CommandForm::Kernel ||
                  !mayOverwrite(maker->second, value, argument)))
      continue;
    found[value] = argument;
  }
  return found;
}
