// Which loop operations become one kernel.
#include "DeviceLimits.h"
#include "KeptRows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

/// Rows longer than this (in elements) are not kept between the loops of a
/// kernel. It is 1 MiB of f32, the size of a large level-2 cache. The
/// vocabularies of today's models are shorter, and logits are the largest
/// tensors.
static constexpr int64_t longestRow = 1 << 18;

/// A grid smaller than this does not justify a longer kernel.
static constexpr int64_t smallestGrid = 64;

/// The most operations of a kernel. LLVM's compile time grows with the square
/// of a function's length.
static constexpr size_t mostOperations = 96;

/// The operations that may move into a full kernel: the begin of a parameter's
/// update, if the rest is in the kernel.
static constexpr size_t mostMoved = 24;

/// The most operands of a kernel: a GPU's limit, less some for positions and
/// the range of work items.
static constexpr size_t mostOperands = parameterBytes / 8 - 44;

SmallVector<LoopIndex> tpsp::loopIndices(Type type) {
  SmallVector<LoopIndex> indices;
  IdxAttr idx = getIdx(type);
  for (auto [name, extent, axes] :
       llvm::zip_equal(idx.getNames(), cast<RankedTensorType>(type).getShape(),
                       idx.getAxes()))
    indices.push_back({name, extent, axes, /*tile=*/{}});
  return indices;
}

SmallVector<LoopIndex> KernelGroup::gridOf(ArrayRef<LoopIndex> common,
                                           RankedTensorType widest) {
  SmallVector<LoopIndex> grid(common);
  SmallVector<LoopIndex> indices = loopIndices(widest);
  if (!indices.empty())
    llvm::erase(grid, indices.back());
  return grid;
}

/// Work items of a grid.
static int64_t itemsOf(ArrayRef<LoopIndex> grid) {
  int64_t items = 1;
  for (const LoopIndex &index : grid)
    items *= index.extent;
  return items;
}

int64_t KernelGroup::countItems() const {
  SmallVector<LoopIndex> grid = getGrid();
  return itemsOf(grid.empty() ? common : grid);
}

SmallVector<Value> KernelGroup::getInputs() const {
  llvm::SetVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!produces(operand))
        inputs.insert(operand);
  return inputs.takeVector();
}

SmallVector<Value> KernelGroup::getOutputs() const {
  SmallVector<Value> outputs;
  for (Operation *op : ops)
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !llvm::is_contained(ops, user);
        }))
      outputs.push_back(op->getResult(0));
  return outputs;
}

/// Operands count, too: a row that is only summed is still a row.
RankedTensorType KernelGroup::widestWith(LoopOpInterface op) const {
  RankedTensorType found = widest;
  auto consider = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    if (!found || tensor.getRank() > found.getRank())
      found = tensor;
  };
  consider(op->getResult(0).getType());
  llvm::for_each(op->getOperandTypes(), consider);
  return found;
}

SmallVector<LoopIndex> KernelGroup::commonWith(LoopOpInterface op) const {
  SmallVector<LoopIndex> carried = loopIndices(op->getResult(0).getType());
  if (empty())
    return carried;
  SmallVector<LoopIndex> both;
  for (const LoopIndex &index : common)
    if (llvm::is_contained(carried, index))
      both.push_back(index);
  return both;
}

bool KernelGroup::agreesOnTiles(LoopOpInterface op) const {
  return llvm::all_of(op.getPositionIndices(), [&](StringRef name) {
    auto known = tiles.find(name);
    return known == tiles.end() || known->second == op.getTileOf(name);
  });
}

/// Whether `op` loops over more than `indices`.
static bool loopsBeyond(Operation *op, ArrayRef<LoopIndex> indices) {
  auto isWider = [&](Type type) {
    return !llvm::all_of(loopIndices(type), [&](const LoopIndex &index) {
      return llvm::is_contained(indices, index);
    });
  };
  return llvm::any_of(op->getOperandTypes(), isWider) ||
         isWider(op->getResult(0).getType());
}

bool tpsp::isPointwise(Operation *op) {
  return !loopsBeyond(op, loopIndices(op->getResult(0).getType()));
}

/// Whether the group's other operations are elementwise and only feed `op`.
bool KernelGroup::feedsOnly(Operation *op) const {
  return llvm::all_of(ops, [&](Operation *each) {
    return each == op || (isPointwise(each) &&
                          llvm::all_of(each->getUsers(), [&](Operation *user) {
                            return user == op || llvm::is_contained(ops, user);
                          }));
  });
}

bool KernelGroup::isColumnSum() const {
  if (common.empty() || !getGrid().empty())
    return false;
  return ops.size() == 1 ||
         (loopsBeyond(ops.back(), common) && feedsOnly(ops.back()));
}

/// Whether items of the grid are columns of a tensor of the operation. Every
/// element of a row is then in another cache line.
static bool readsColumns(Operation *op, ArrayRef<LoopIndex> grid) {
  auto isColumn = [&](Type type) {
    SmallVector<LoopIndex> indices = loopIndices(type);
    auto isOfGrid = [&](const LoopIndex &index) {
      return llvm::is_contained(grid, index);
    };
    return !llvm::all_of(indices, isOfGrid) && isOfGrid(indices.back());
  };
  return llvm::any_of(op->getOperandTypes(), isColumn) ||
         isColumn(op->getResult(0).getType());
}

bool KernelGroup::sharesWith(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return produces(operand) || llvm::any_of(ops, [&](Operation *each) {
             return llvm::is_contained(each->getOperands(), operand);
           });
  });
}

bool KernelGroup::accepts(LoopOpInterface op, bool isMove) const {
  size_t most = mostOperations + (isMove ? mostMoved : 0);
  if (empty())
    return true;
  bool mayShare = !limits.fusion || limits.fusion->mayShare(ops.front(), op);
  return mayShare && ops.size() < most && sharesGridWith(op) && hasRoomFor(op);
}

bool KernelGroup::sharesGridWith(LoopOpInterface op) const {
  auto agrees = [&](Type type) {
    return llvm::all_of(loopIndices(type), [&](const LoopIndex &index) {
      auto known = meaning.find(index.name);
      return known == meaning.end() || known->second == index;
    });
  };
  if (!llvm::all_of(op->getOperandTypes(), agrees) ||
      !agrees(op->getResult(0).getType()) || !agreesOnTiles(op))
    return false;
  SmallVector<LoopIndex> both = commonWith(op);
  // Numbers share kernels only with numbers.
  RankedTensorType all = widestWith(op);
  if (both.empty())
    return all.getRank() == 0;
  SmallVector<LoopIndex> grid = gridOf(both, all);
  // Items would be columns (a gain's gradient, and other operations on the same
  // rows). Every element of every row would be in another cache line.
  auto isWide = [&](Operation *each) { return loopsBeyond(each, both); };
  if (grid.empty() && isWide(op) && feedsOnly(op))
    return true;
  if (grid.empty() && (isWide(op) || llvm::any_of(ops, isWide)))
    return false;
  // Unrelated operations save no memory in one kernel, such as sums of
  // gradients of weights that are laid out along different indices.
  auto isColumn = [&](Operation *each) { return readsColumns(each, grid); };
  if (!sharesWith(op) && (isColumn(op) || llvm::any_of(ops, isColumn)))
    return false;
  int64_t items = itemsOf(grid);
  int64_t before = itemsOf(getGrid());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  // With a grid of one item, as of a number, rows would be whole tensors.
  bool isNumber = largest == 1 && result.getNumElements() > 1;
  if (items < smallestGrid && (items < before || isNumber))
    return false;
  // On GPUs, whose blocks are items, it would be one block.
  int64_t own = itemsOf(gridOf(loopIndices(result), result));
  if (limits.keptBytes && items < own && items < smallestGrid &&
      !sharesWith(op))
    return false;
  int64_t row = std::max(largest, result.getNumElements()) / items;
  return row <= longestRow;
}

/// Bytes of a result in its compute type, or more.
static int64_t bytesOfResult(Operation *op) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return result.getNumElements() *
         std::max(32u, result.getElementTypeBitWidth()) / 8;
}

bool KernelGroup::fewOperandsWith(LoopOpInterface op) const {
  if (operands + op->getNumOperands() + 1 <= mostOperands)
    return true;
  KernelGroup with = *this;
  with.add(op);
  return with.getInputs().size() + with.getOutputs().size() <= mostOperands;
}

/// Whether the operation is elementwise over exactly the rows of `row`, apart
/// from the indices of the grid.
static bool isOverRow(Operation *op, ArrayRef<LoopIndex> row,
                      ArrayRef<LoopIndex> grid) {
  SmallVector<LoopIndex> own = loopIndices(op->getResult(0).getType());
  auto isOwn = [&](const LoopIndex &index) {
    return llvm::is_contained(own, index) || llvm::is_contained(grid, index);
  };
  auto isOfRow = [&](const LoopIndex &index) {
    return llvm::is_contained(row, index) || llvm::is_contained(grid, index);
  };
  return llvm::all_of(row, isOwn) && llvm::all_of(own, isOfRow) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return llvm::all_of(loopIndices(type), isOwn);
         });
}

/// Whether the group with `op` is one loop, which keeps no row.
bool KernelGroup::isOneLoopWith(LoopOpInterface op,
                                ArrayRef<LoopIndex> grid) const {
  SmallVector<LoopIndex> row = loopIndices(op->getResult(0).getType());
  return isOverRow(op, row, grid) && llvm::all_of(ops, [&](Operation *each) {
           return isOverRow(each, row, grid);
         });
}

bool KernelGroup::fewRowsWith(LoopOpInterface op) const {
  if (!limits.keptBytes)
    return true;
  // The bytes if every result were kept.
  SmallVector<LoopIndex> grid = gridOf(commonWith(op), widestWith(op));
  int64_t most = (resultBytes + bytesOfResult(op)) / itemsOf(grid) +
                 BlockRows::alignment * int64_t(ops.size() + 1);
  if (!grid.empty() && (most <= limits.keptBytes || isOneLoopWith(op, grid)))
    return true;
  KernelGroup with = *this;
  with.add(op);
  return blockRowsOf(with).fit(limits.keptBytes);
}

bool KernelGroup::hasRoomFor(LoopOpInterface op) const {
  return fewOperandsWith(op) && fewRowsWith(op);
}

void KernelGroup::add(LoopOpInterface op) {
  common = commonWith(op);
  widest = widestWith(op);
  ops.push_back(op);
  auto learn = [&](Type type) {
    for (const LoopIndex &index : loopIndices(type))
      meaning.try_emplace(index.name, index);
  };
  for (Type type : op->getOperandTypes())
    learn(type);
  learn(op->getResult(0).getType());
  for (StringRef name : op.getPositionIndices())
    tiles.try_emplace(name, op.getTileOf(name));
  largest = std::max(
      largest,
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements());
  resultBytes += bytesOfResult(op);
  operands += op->getNumOperands() + 1;
}
