#include "KernelLoops.h"

#include "DeviceLimits.h"

#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

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
  SmallVector<LoopIndex> kept = loopIndices(op->getResult(0).getType());
  return llvm::any_of(op->getOperandTypes(), [&](Type type) {
    return llvm::any_of(loopIndices(type), [&](const LoopIndex &index) {
      return !llvm::is_contained(kept, index) && !inGrid(index);
    });
  });
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

namespace {

/// Computes values in the later loops that read them, where this saves keeping
/// a row:
///
/// - an operation that one later loop alone reads moves there. (The exponential
///   in a softmax's gradient waits for the row's scale.)
/// - a conversion of memory is done by every loop that reads it, if the row is
///   longer than a block of a GPU holds.
///
/// Outputs stay, because later loops would read them rounded.
class LoopChoice {
public:
  LoopChoice(const KernelGroup &group, KernelLoops &kernel)
      : group(group), kernel(kernel) {}

  void run() {
    for (Operation *each : llvm::reverse(group.getOps())) {
      auto op = cast<LoopOpInterface>(each);
      if (kernel.isOutput(op->getResult(0)) || kernel.reduces(op))
        continue;
      KernelLoop *home = loopOf(op);
      SmallVector<KernelLoop *> readers = readersOf(op);
      if (llvm::any_of(readers, [&](KernelLoop *loop) {
            return !loop->isOver(home->indices);
          }))
        continue;
      if (readers.size() == 1 && readers.front() != home &&
          keptOperands(op, *home) <= 1) {
        llvm::erase(home->ops, op);
        insert(op, *readers.front());
        continue;
      }
      if (isCopied(op))
        for (KernelLoop *loop : readers)
          if (loop != home)
            insert(op, *loop);
    }
    llvm::erase_if(kernel.loops,
                   [](const KernelLoop &loop) { return loop.ops.empty(); });
  }

private:
  KernelLoop *loopOf(LoopOpInterface op) {
    return &*llvm::find_if(kernel.loops, [&](const KernelLoop &loop) {
      return llvm::is_contained(loop.ops, op);
    });
  }
  SmallVector<KernelLoop *> readersOf(LoopOpInterface op) {
    SmallVector<KernelLoop *> readers;
    for (KernelLoop &loop : kernel.loops)
      if (llvm::any_of(op->getResult(0).getUsers(), [&](Operation *user) {
            return llvm::is_contained(loop.ops, user);
          }))
        readers.push_back(&loop);
    return readers;
  }

  /// The operands that its loop would have to keep if the operation left it. An
  /// output counts as many, because it must not be read back.
  unsigned keptOperands(LoopOpInterface op, const KernelLoop &home) {
    unsigned kept = 0;
    for (Value operand : op->getOperands())
      if (llvm::is_contained(home.ops, operand.getDefiningOp()))
        kept += kernel.isOutput(operand) ? 2 : 1;
    return kept;
  }

  bool isCopied(LoopOpInterface op) {
    if (!isa<ConvertOp>(op) || group.produces(op->getOperand(0)))
      return false;
    int64_t elements = 1;
    for (const LoopIndex &index : kernel.rowOf(op->getResult(0).getType()))
      elements *= index.extent;
    return !kernel.range && elements > blockMemoryBytes / 4;
  }

  /// Adds the operation in the group's order.
  void insert(LoopOpInterface op, KernelLoop &loop) {
    auto numberOf = [&](Operation *each) {
      return llvm::find(group.getOps(), each) - group.getOps().begin();
    };
    auto *at = llvm::find_if(loop.ops, [&](LoopOpInterface other) {
      return numberOf(op) < numberOf(other);
    });
    loop.ops.insert(at, op);
  }

  const KernelGroup &group;
  KernelLoops &kernel;
};

} // namespace

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
  LoopChoice(group, kernel).run();
}

/// Whether a loop reads the value of another. The first loop with the operation
/// keeps it for those that do not compute it themselves.
static bool isKept(const KernelLoops &kernel, const KernelLoop &loop,
                   LoopOpInterface op) {
  auto has = [&](const KernelLoop &other) {
    return llvm::is_contained(other.ops, op);
  };
  if (&*llvm::find_if(kernel.loops, has) != &loop)
    return false;
  return kernel.isOutput(op->getResult(0)) ||
         llvm::any_of(kernel.loops, [&](const KernelLoop &other) {
           return !has(other) &&
                  llvm::any_of(op->getResult(0).getUsers(),
                               [&](Operation *user) {
                                 return llvm::is_contained(other.ops, user);
                               });
         });
}

/// Finds the values that a loop reads and stores.
static void findReadAndStored(const KernelLoops &kernel, KernelLoop &loop) {
  auto isOfLoop = [&](Operation *op) {
    return llvm::is_contained(loop.ops, op);
  };
  llvm::SetVector<Value> read;
  for (LoopOpInterface op : loop.ops) {
    for (Value operand : op->getOperands())
      if (!isOfLoop(operand.getDefiningOp()))
        read.insert(operand);
    if (isKept(kernel, loop, op))
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

/// The number of the micro-batch is a position along an index of no extent.
static void askForMicroBatch(MLIRContext *context, KernelLoops &kernel) {
  LoopIndex number{StringAttr::get(context, microBatchPosition), /*extent=*/0,
                   ArrayAttr::get(context, {}), TileAttr()};
  if (!llvm::is_contained(kernel.positions, number))
    kernel.positions.push_back(number);
}

static void findPositions(const KernelGroup &group, KernelLoops &kernel) {
  for (Operation *each : group.getOps()) {
    auto op = cast<LoopOpInterface>(each);
    auto indices = loopIndices(op->getResult(0).getType());
    for (Type type : op->getOperandTypes())
      llvm::append_range(indices, loopIndices(type));
    for (StringRef name : op.getPositionIndices()) {
      if (name == microBatchPosition)
        askForMicroBatch(op.getContext(), kernel);
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
    findReadAndStored(kernel, loop);
    findHidden(kernel, loop);
  }
  findPositions(group, kernel);
  return kernel;
}
