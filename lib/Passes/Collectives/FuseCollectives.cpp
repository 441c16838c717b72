// tpsp-fuse-collectives: shares equal collectives, and fuses two into one. An
// all-reduce and a slice become a reduce-scatter.
#include "CollectiveBuilder.h"
#include "GatherOnce.h"
#include "NarrowGathers.h"
#include "Passes/Program/FunctionWalk.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_FUSECOLLECTIVES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Whether `op` is a collective on one tensor that changes its placement alone.
bool isSingle(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && op->getNumOperands() == 1 && collective.getShift() == 0;
}

/// The text of an optional attribute; empty without it.
StringRef textOf(Operation *op, StringRef name) {
  auto text = op->getAttrOfType<StringAttr>(name);
  return text ? text.getValue() : "";
}

/// Notes in the ledger that a tensor of the forward pass is kept for `user`.
void noteKept(Operation *op, Operation *user) {
  StringRef note = "; kept for the backward pass",
            reason = textOf(op, "reason");
  bool crosses = !isBackward(op) && isBackward(user);
  if (crosses && !reason.ends_with(note))
    op->setAttr("reason", StringAttr::get(op->getContext(), reason + note));
}

/// Whether the backward pass may use the result of `op`, a collective of the
/// forward pass. By default it may not, and gathers the shard again. Keeping
/// the gathered tensor takes memory, so the user decides (`keep-gathered`).
bool lastsForBackward(Operation *op, bool keepGathered) {
  return keepGathered && cast<CollectiveOpInterface>(op).getCollectiveKind() ==
                             CollectiveKind::AllGather;
}

/// Keeps the first of several collectives that move a tensor alike, within the
/// forward or the backward pass of one micro-batch. With `keepGathered`, a
/// gather of the forward pass also serves the backward pass. The second
/// gather's bytes are then saved, and the gathered tensor stays in memory.
void share(Block &block, bool keepGathered) {
  std::map<
      std::tuple<const void *, const void *, const void *, bool, const void *>,
      Operation *>
      first;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isSingle(&op))
      continue;
    auto key =
        std::make_tuple(op.getOperand(0).getAsOpaquePointer(),
                        op.getResult(0).getType().getAsOpaquePointer(),
                        op.getName().getAsOpaquePointer(),
                        isBackward(&op) && !lastsForBackward(&op, keepGathered),
                        placeInStep(&op).getAsOpaquePointer());
    auto [entry, isNew] = first.try_emplace(key, &op);
    if (isNew)
      continue;
    noteKept(entry->second, &op);
    op.replaceAllUsesWith(entry->second);
    op.erase();
  }
}

/// Whether every group is a single rank, so that nothing is sent.
bool isOfOneRank(Operation *collective, const Mesh &mesh) {
  auto axes = cast<CollectiveOpInterface>(collective).getAxes();
  return llvm::all_of(axes.getAsRange<StringAttr>(), [&](StringAttr name) {
    std::optional<AxisId> axis = mesh.find(name.getValue());
    return axis && mesh.size(*axis) == 1;
  });
}

/// Replaces two successive collectives by the direct transition if that is
/// cheaper. Before: both movements' bytes; after: those of one. Memory shrinks
/// by the tensor in between.
bool fuse(Operation *second, const Mesh &mesh) {
  Operation *first = second->getOperand(0).getDefiningOp();
  if (!first || !isSingle(first) || !first->hasOneUse())
    return false;
  Value source = first->getOperand(0);
  auto type = cast<RankedTensorType>(source.getType());
  Placement from = placementOf(type, mesh);
  Placement between = placementOf(first->getResult(0).getType(), mesh);
  Placement to = placementOf(second->getResult(0).getType(), mesh);
  std::optional<Transition> direct =
      planTransition(from, to, type.getShape(), mesh);
  if (!direct)
    return false;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto price = [&](const Placement &a, const Placement &b) {
    std::optional<Transition> steps =
        planTransition(a, b, type.getShape(), mesh);
    return cost(*steps, a, type.getShape(), bytes, mesh);
  };
  TransitionCost before = price(from, between), after = price(from, to);
  TransitionCost rest = price(between, to);
  if (after.collectives > before.collectives + rest.collectives ||
      after.bytes > before.bytes + rest.bytes || direct->size() >= 2)
    return false;
  OpBuilder builder(second);
  Value moved = source;
  // An axis of one rank is never a reason.
  Operation *mover = isOfOneRank(first, mesh) ? second : first;
  for (const CollectiveStep &step : *direct) {
    moved = createCollective(builder, second->getLoc(), moved, step, mesh,
                             textOf(mover, "reason"), textOf(first, "tensor"));
    copyPhase(second, moved.getDefiningOp());
  }
  second->getResult(0).replaceAllUsesWith(moved);
  second->erase();
  first->erase();
  return true;
}

bool isOfKind(Operation *op, CollectiveKind kind) {
  auto collective = dyn_cast_or_null<CollectiveOpInterface>(op);
  return collective && collective.getCollectiveKind() == kind;
}

/// The operation that is computed undivided between an all-reduce and `slice`,
/// which divides its result over the same axes; null if there is none. Looks
/// only a few operations back, because an earlier result has other uses.
Operation *undividedBetween(Operation *slice) {
  constexpr int mostOperations = 4;
  ArrayAttr axes = cast<CollectiveOpInterface>(slice).getAxes();
  Operation *op = slice->getOperand(0).getDefiningOp();
  for (int i = 0; i < mostOperations && op; ++i) {
    if (!isa<IndexedOpInterface>(op) || !op->hasOneUse())
      return nullptr;
    Operation *summed = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp();
          isOfKind(made, CollectiveKind::AllReduce) && made->hasOneUse() &&
          cast<CollectiveOpInterface>(made).getAxes() == axes)
        return op;
      else if (made && made->hasOneUse())
        summed = made;
    op = summed;
  }
  return nullptr;
}

/// Emits remarks on sums that are completed everywhere and then divided.
void noteUndivided(Block &block) {
  for (Operation &op : block) {
    if (!isOfKind(&op, CollectiveKind::Slice))
      continue;
    if (Operation *between = undividedBetween(&op))
      remark::missed(op.getLoc(),
                     remark::RemarkOpts::name("all-reduce-and-slice")
                         .category("tpsp-fuse-collectives"))
          << remark::reason(
                 "a sum is completed on every rank and divided behind {0}, "
                 "which is done whole; a reduce-scatter in front of it would "
                 "send half",
                 between->getName().getStringRef());
  }
}

struct FuseCollectives
    : public WithOptions<tpsp::impl::FuseCollectivesBase<FuseCollectives>,
                         &CompileOptions::keepGathered,
                         &CompileOptions::gatherWeights> {
  void runOnOperation() override {
    Mesh mesh = meshOf(getOperation());
    auto visit = [&](FunctionOpInterface function) {
      Block &block = function.getFunctionBody().front();
      share(block, options().keepGathered);
      for (Operation &op : llvm::make_early_inc_range(block))
        if (isSingle(&op))
          fuse(&op, mesh);
      narrowGathers(block, mesh);
      if (options().gatherWeights == "step") {
        gatherOnce(function);
        share(block, options().keepGathered);
      }
      noteUndivided(block);
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
