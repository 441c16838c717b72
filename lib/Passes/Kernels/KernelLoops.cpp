#include "KernelLoops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

bool KernelLoop::isOver(ArrayRef<LoopIndex> row) const {
  return indices.size() == row.size() &&
         llvm::all_of(indices, [&](const LoopIndex &index) {
           return llvm::is_contained(row, index);
         });
}

SmallVector<LoopIndex> KernelLoops::rowOf(Type type) const {
  SmallVector<LoopIndex> row = loopIndices(type);
  llvm::erase_if(row, [&](const LoopIndex &index) { return inGrid(index); });
  return row;
}

SmallVector<LoopIndex> KernelLoops::rowOf(LoopOpInterface op) const {
  SmallVector<Type> types(op->getOperandTypes());
  types.push_back(op->getResult(0).getType());
  llvm::stable_sort(types, [](Type x, Type y) {
    return getIdx(x).getRank() > getIdx(y).getRank();
  });
  SmallVector<LoopIndex> row = rowOf(types.front());
  for (Type type : ArrayRef<Type>(types).drop_front()) {
    SmallVector<LoopIndex> others = rowOf(type);
    for (const LoopIndex &index : llvm::reverse(others))
      if (!llvm::is_contained(row, index))
        row.insert(row.begin(), index);
  }
  return row;
}

bool KernelLoops::reduces(LoopOpInterface op) const {
  return rowOf(op).size() > rowOf(op->getResult(0).getType()).size();
}

/// The indices of the widest operand, in the order of memory.
static SmallVector<LoopIndex> widestOperand(LoopOpInterface op) {
  return loopIndices(
      *llvm::max_element(op->getOperandTypes(), [](Type x, Type y) {
        return getIdx(x).getRank() < getIdx(y).getRank();
      }));
}

bool KernelLoops::reducesAcrossRows(LoopOpInterface op) const {
  if (!reduces(op))
    return false;
  SmallVector<LoopIndex> kept = loopIndices(op->getResult(0).getType());
  SmallVector<LoopIndex> operand = widestOperand(op);
  auto isReduced = [&](const LoopIndex &index) {
    return !llvm::is_contained(kept, index);
  };
  return kept.empty() ||
         !llvm::all_of(
             llvm::make_range(llvm::find_if(operand, isReduced), operand.end()),
             isReduced);
}

static void chooseItems(const KernelGroup &group, KernelLoops &kernel) {
  kernel.grid = group.getGrid();
  if (group.isColumnSum())
    kernel.range = group.getCommon().front();
  else if (kernel.grid.empty())
    kernel.grid.assign(group.getCommon().begin(), group.getCommon().end());
}

/// The stage of the loop of `op`: after the loops of its operands, unless these
/// are elementwise over the same rows.
static unsigned stageOf(LoopOpInterface op, ArrayRef<LoopIndex> row,
                        const KernelLoops &kernel,
                        const llvm::DenseMap<Operation *, unsigned> &loopOf) {
  unsigned stage = 0;
  for (Value operand : op->getOperands()) {
    auto producer = loopOf.find(operand.getDefiningOp());
    if (producer == loopOf.end())
      continue;
    const KernelLoop &loop = kernel.loops[producer->second];
    bool shares =
        loop.isOver(row) &&
        !kernel.reduces(cast<LoopOpInterface>(operand.getDefiningOp()));
    stage = std::max(stage, loop.stage + (shares ? 0 : 1));
  }
  return stage;
}

static void formLoops(const KernelGroup &group, KernelLoops &kernel) {
  std::vector<KernelLoop> &loops = kernel.loops;
  llvm::DenseMap<Operation *, unsigned> loopOf;
  for (Operation *each : group.getOps()) {
    auto op = cast<LoopOpInterface>(each);
    SmallVector<LoopIndex> row = kernel.rowOf(op);
    unsigned stage = stageOf(op, row, kernel, loopOf);
    auto found = llvm::find_if(loops, [&](const KernelLoop &loop) {
      return loop.stage == stage && loop.isOver(row);
    });
    if (found == loops.end()) {
      KernelLoop loop;
      loop.stage = stage;
      loop.indices = row;
      found = loops.insert(found, loop);
    }
    found->ops.push_back(op);
    loopOf[each] = std::distance(loops.begin(), found);
  }
  llvm::stable_sort(loops, [](const KernelLoop &x, const KernelLoop &y) {
    return x.stage < y.stage;
  });
}

/// Finds the values that a loop reads and stores.
static void findReadAndStored(const KernelGroup &group,
                              const KernelLoops &kernel, KernelLoop &loop) {
  auto isOfLoop = [&](Operation *op) {
    return llvm::is_contained(loop.ops, op);
  };
  llvm::SetVector<Value> read;
  for (LoopOpInterface op : loop.ops) {
    for (Value operand : op->getOperands())
      if (!isOfLoop(operand.getDefiningOp()))
        read.insert(operand);
    Value result = op->getResult(0);
    if (kernel.isOutput(result) ||
        llvm::any_of(result.getUsers(), [&](Operation *user) {
          return llvm::is_contained(group.getOps(), user) && !isOfLoop(user);
        }))
      loop.stored.push_back(op);
  }
  loop.read = read.takeVector();
}

static void findHidden(const KernelLoops &kernel, KernelLoop &loop) {
  SmallVector<Value> tensors(loop.read);
  for (LoopOpInterface op : loop.stored)
    tensors.push_back(op->getResult(0));
  for (auto [at, index] : llvm::enumerate(loop.indices))
    if (llvm::none_of(tensors, [&, index = index](Value tensor) {
          return llvm::is_contained(kernel.rowOf(tensor.getType()), index);
        }))
      loop.hidden.push_back(at);
}

static void findPositions(const KernelGroup &group, KernelLoops &kernel) {
  for (Operation *each : group.getOps()) {
    auto op = cast<LoopOpInterface>(each);
    auto indices = loopIndices(op->getResult(0).getType());
    for (Type type : op->getOperandTypes())
      llvm::append_range(indices, loopIndices(type));
    for (StringRef name : op.getPositionIndices()) {
      const auto *index = llvm::find_if(indices, [&](const LoopIndex &i) {
        return i.name.getValue() == name;
      });
      if (index == indices.end())
        continue;
      LoopIndex asked = *index;
      asked.tile = op.getTileOf(name);
      if ((asked.tile || !asked.axes.empty()) &&
          !llvm::is_contained(kernel.positions, asked))
        kernel.positions.push_back(asked);
    }
  }
}

KernelLoops tpsp::findLoops(const KernelGroup &group) {
  KernelLoops kernel;
  kernel.inputs = group.getInputs();
  kernel.outputs = group.getOutputs();
  chooseItems(group, kernel);
  formLoops(group, kernel);
  for (KernelLoop &loop : kernel.loops) {
    findReadAndStored(group, kernel, loop);
    findHidden(kernel, loop);
  }
  findPositions(group, kernel);
  return kernel;
}
