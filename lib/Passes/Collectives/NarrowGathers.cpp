#include "NarrowGathers.h"
#include "CollectiveBuilder.h"
#include "Ledger.h"
#include "Passes/Program/Placed.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <limits>

using namespace mlir;
using namespace tpsp;

namespace {

/// `op` as an all-gather of one tensor; null if it is none.
CollectiveOpInterface asGather(Operation *op) {
  auto gather = dyn_cast_or_null<CollectiveOpInterface>(op);
  bool isGather = gather && op->getNumOperands() == 1 &&
                  gather.getCollectiveKind() == CollectiveKind::AllGather;
  return isGather ? gather : CollectiveOpInterface();
}

/// Whether each element of the result depends only on the operands' elements at
/// the same position.
bool isElementwise(IndexedOpInterface op, const IndexStructure &structure) {
  if (op.isSumOfProducts() || op.isView() || op->getNumResults() != 1 ||
      !op.getWholeIndices().empty() || !isMemoryEffectFree(op))
    return false;
  const IndexStructure::Tensor &result = structure.results.front();
  auto isThere = [&](IndexId index) { return result.dimOf(index).has_value(); };
  return result.minors.empty() &&
         llvm::all_of(structure.operands,
                      [&](const IndexStructure::Tensor &operand) {
                        return operand.minors.empty() &&
                               llvm::all_of(operand.indices, isThere);
                      });
}

/// One gather, and the operations that it can move after.
class NarrowedGather {
public:
  NarrowedGather(CollectiveOpInterface gather, const Mesh &mesh)
      : mesh(mesh), first(gather), axes(gather.getAxes()),
        step(stepOf(gather, mesh)) {}

  /// Moves the gather. Returns the gathers that it replaces; none if it stays.
  SmallVector<Operation *> run() {
    if (!placementOf(first->getResult(0).getType(), mesh).pending.empty())
      return {};
    findChain();
    chain.truncate(narrow);
    if (!chain.empty())
      rebuild();
    return std::move(moved);
  }

private:
  /// An operation that can run on shards, and the dimension of its result that
  /// is then gathered.
  struct Link {
    Operation *op = nullptr;
    unsigned dim = 0;
    /// Its other gathered operands, which become one gather with this.
    SmallVector<Operation *, 1> beside = {};
  };

  void findChain() {
    Value whole = first->getResult(0);
    unsigned dim = *step.from;
    int64_t gathered = localBytes(whole.getType(), mesh);
    int64_t least = std::numeric_limits<int64_t>::max();
    while (whole.hasOneUse()) {
      std::optional<Link> next = linkBehind(whole, dim);
      if (!next)
        return;
      for (Operation *gather : next->beside)
        gathered += localBytes(gather->getResult(0).getType(), mesh);
      whole = next->op->getResult(0);
      dim = next->dim;
      chain.push_back(std::move(*next));
      int64_t bytes = localBytes(whole.getType(), mesh);
      if (bytes < std::min(gathered, least)) {
        least = bytes;
        narrow = chain.size();
      }
    }
  }

  /// The only user of `whole`, if it can run on shards when `dim` is gathered
  /// after it; else nullopt.
  std::optional<Link> linkBehind(Value whole, unsigned dim) const {
    auto op = dyn_cast<IndexedOpInterface>(*whole.user_begin());
    if (!op || isBackward(op) != isBackward(first))
      return std::nullopt;
    const IndexStructure structure = op.getIndexStructure();
    if (!isElementwise(op, structure) || (isRow() && !structure.worksOnRows()))
      return std::nullopt;
    unsigned number = whole.use_begin()->getOperandNumber();
    IndexId index = structure.operands[number].indices[dim];
    Link link{op, *structure.results.front().dimOf(index)};
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<unsigned> at =
          structure.operands[operand.getOperandNumber()].dimOf(index);
      if (!at || operand.get() == whole)
        continue;
      if (!isGatheredAlike(operand.get(), *at))
        return std::nullopt;
      link.beside.push_back(operand.get().getDefiningOp());
    }
    if (axesOf(op->getResult(0), link.dim) != axesOf(whole, dim) ||
        usesGatheredAxis(op->getResult(0)))
      return std::nullopt;
    return link;
  }

  /// Whether a shard of the value could not be divided along the gathered axes,
  /// either, because they divide another dimension of it, or are pending.
  bool usesGatheredAxis(Value value) const {
    Placement shard = placementOf(first->getOperand(0).getType(), mesh);
    Placement whole = placementOf(first->getResult(0).getType(), mesh);
    Placement result = placementOf(value.getType(), mesh);
    return llvm::any_of(shard.dims[*step.from], [&](AxisId axis) {
      return !whole.uses(axis) && result.uses(axis);
    });
  }

  /// Whether it gathers the pieces of a row of elements.
  bool isRow() const {
    RankedTensorType type = typeOf(first->getOperand(0));
    return flatCut(type.getShape(), placementOf(type, mesh), mesh).has_value();
  }

  AxisList axesOf(Value value, unsigned dim) const {
    return placementOf(value.getType(), mesh).dims[dim];
  }

  /// The axes of the gathered dimension before the gather.
  AxisList shardAxes() const {
    return axesOf(first->getOperand(0), *step.from);
  }

  bool isGatheredAlike(Value value, unsigned dim) const {
    CollectiveOpInterface other = asGather(value.getDefiningOp());
    return other && value.hasOneUse() && other.getAxes() == axes &&
           stepOf(other, mesh).from == dim &&
           axesOf(other->getOperand(0), dim) == shardAxes();
  }

  void rebuild() {
    OpBuilder builder(chain.back().op);
    IRMapping shards;
    moved.push_back(first);
    for (const Link &link : chain)
      llvm::append_range(moved, link.beside);
    for (Operation *gather : moved)
      shards.map(gather->getResult(0), gather->getOperand(0));
    for (const Link &link : chain) {
      Value result = builder.clone(*link.op, shards)->getResult(0);
      result.setType(typeOnShards(link));
    }
    Value whole = chain.back().op->getResult(0);
    replaceLast(builder, shards.lookup(whole));
    for (const Link &link : llvm::reverse(chain))
      link.op->erase();
    for (Operation *gather : moved)
      gather->erase();
  }

  RankedTensorType typeOnShards(const Link &link) const {
    auto type = cast<RankedTensorType>(link.op->getResult(0).getType());
    Placement placement = placementOf(type, mesh);
    placement.dims[link.dim] = shardAxes();
    return withPlacement(type, placement, mesh);
  }

  void replaceLast(OpBuilder &builder, Value shard) {
    Value whole = chain.back().op->getResult(0);
    CollectiveStep behind = step;
    behind.from = chain.back().dim;
    behind.after = placementOf(whole.getType(), mesh);
    Value gathered = createCollective(
        builder, first->getLoc(), shard, behind, mesh,
        first.getReasonAttr() ? first.getReasonAttr().getValue() : "",
        first.getTensorAttr() ? first.getTensorAttr().getValue() : "");
    copyPhase(first, gathered.getDefiningOp());
    remark::passed(first->getLoc(), remark::RemarkOpts::name("narrow-gather")
                                        .category("tpsp-fuse-collectives"))
        << remark::reason("is gathered behind {0}, in fewer bytes",
                          chain.back().op->getName().getStringRef())
        << remark::metric("bytes", localBytes(whole.getType(), mesh))
        << remark::metric("bytes_before",
                          localBytes(first->getResult(0).getType(), mesh));
    whole.replaceAllUsesWith(gathered);
  }

  const Mesh &mesh;
  CollectiveOpInterface first;
  ArrayAttr axes;
  CollectiveStep step;
  SmallVector<Link> chain;
  SmallVector<Operation *> moved;
  /// The length of the chain after which the fewest bytes are gathered.
  size_t narrow = 0;
};

/// Emits a remark if a narrower tensor is computed from a gathered one that has
/// other users.
void noteKeptWide(CollectiveOpInterface gather) {
  Value whole = gather->getResult(0);
  if (whole.hasOneUse())
    return;
  auto width = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth();
  };
  for (Operation *user : whole.getUsers())
    if (auto op = dyn_cast<IndexedOpInterface>(user);
        op && op.mixesPrecision() && width(op->getResult(0)) < width(whole)) {
      remark::missed(gather->getLoc(), remark::RemarkOpts::name("narrow-gather")
                                           .category("tpsp-fuse-collectives"))
          << remark::reason("is gathered in front of {0}, which has fewer "
                            "bytes, because others use it, too",
                            user->getName().getStringRef());
      return;
    }
}

} // namespace

void tpsp::narrowGathers(Block &block, const Mesh &mesh) {
  SmallVector<CollectiveOpInterface> gathers;
  for (Operation &op : block)
    if (CollectiveOpInterface gather = asGather(&op))
      gathers.push_back(gather);
  llvm::SmallPtrSet<Operation *, 8> gone;
  for (CollectiveOpInterface gather : gathers) {
    if (gone.contains(gather.getOperation()))
      continue;
    noteKeptWide(gather);
    for (Operation *moved : NarrowedGather(gather, mesh).run())
      gone.insert(moved);
  }
}
