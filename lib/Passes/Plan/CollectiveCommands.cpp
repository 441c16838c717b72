// Emits commands of collectives and of pieces of collectives.
#include "CommandEmission.h"

#include "Passes/Collectives/Ledger.h"
#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A collective that becomes a command.
struct CollectiveCommand {
  Operation *op;
  CollectiveStep step;
  DenseI64ArrayAttr axes;
  /// TPSP_RT_SUM or TPSP_RT_MAX.
  int64_t reduction = TPSP_RT_SUM;
  plan::LedgerAttr ledger = {};
};

} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return typeOf(value).getShape();
}

static int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

static void emitAllReduce(ProgramBuilder &to, const CollectiveCommand &c) {
  SmallVector<Value> sources = to.buffers.of(c.op->getOperands()), targets;
  for (Value result : c.op->getResults())
    targets.push_back(to.buffers.define(result));
  plan::AllReduceOp::create(to.b, c.op->getLoc(), sources, targets, c.axes,
                            to.b.getI64IntegerAttr(c.reduction), c.ledger,
                            to.b.getI64IntegerAttr(0));
}

/// A tensor as [outer, chunk]: `narrow` is the side that holds one rank's part
/// of dimension `dim`.
static std::pair<int64_t, int64_t> outerAndChunk(Value narrow, unsigned dim) {
  ArrayRef<int64_t> shape = shapeOf(narrow);
  return {product(shape.take_front(dim)), product(shape.drop_front(dim))};
}

static void emitSlice(ProgramBuilder &to, const CollectiveCommand &c) {
  Value result = c.op->getResult(0);
  auto [outer, chunk] = outerAndChunk(result, *c.step.to);
  Value source = to.buffers.of(c.op->getOperand(0));
  plan::SliceOp::create(
      to.b, c.op->getLoc(), source, to.buffers.define(result), c.axes,
      to.b.getI64IntegerAttr(outer), to.b.getI64IntegerAttr(chunk),
      to.b.getI64IntegerAttr(c.reduction), c.ledger, to.b.getI64IntegerAttr(0));
}

/// Emits a transfer of one or several tensors, each divided on its own
/// dimension.
template <typename Op>
static void emitShards(ProgramBuilder &to, const CollectiveCommand &c) {
  SmallVector<Value> sources = to.buffers.of(c.op->getOperands()), targets;
  SmallVector<int64_t> layouts;
  for (auto [operand, result] :
       llvm::zip_equal(c.op->getOperands(), c.op->getResults())) {
    bool isGather = c.step.kind == CollectiveKind::AllGather;
    CollectiveStep step =
        stepOf(cast<CollectiveOpInterface>(c.op), operand, result, to.mesh);
    auto [outer, chunk] = isGather ? outerAndChunk(operand, *step.from)
                                   : outerAndChunk(result, *step.to);
    layouts.append({outer, chunk, /*pitch=*/0});
    targets.push_back(to.buffers.define(result));
  }
  ArrayRef<int64_t> others = ArrayRef<int64_t>(layouts).drop_front(3);
  Op::create(
      to.b, c.op->getLoc(), sources, targets, c.axes,
      to.b.getI64IntegerAttr(layouts[0]), to.b.getI64IntegerAttr(layouts[1]),
      to.b.getI64IntegerAttr(c.reduction), c.ledger, to.b.getI64IntegerAttr(0),
      to.b.getI64IntegerAttr(0), to.b.getDenseI64ArrayAttr(others));
}

static void emitAllToAll(ProgramBuilder &to, const CollectiveCommand &c) {
  unsigned gathered = *c.step.from, scattered = *c.step.to;
  ArrayRef<int64_t> before = shapeOf(c.op->getOperand(0));
  ArrayRef<int64_t> after = shapeOf(c.op->getResult(0));
  unsigned first = std::min(gathered, scattered);
  unsigned second = std::max(gathered, scattered);
  SmallVector<int64_t> extents = {
      product(before.take_front(first)), before[gathered],
      product(before.slice(first + 1, second - first - 1)), after[scattered],
      product(before.drop_front(second + 1))};
  Value source = to.buffers.of(c.op->getOperand(0));
  plan::AllToAllOp::create(
      to.b, c.op->getLoc(), source, to.buffers.define(c.op->getResult(0)),
      c.axes, to.b.getBoolAttr(gathered < scattered),
      to.b.getDenseI64ArrayAttr(extents), c.ledger, to.b.getI64IntegerAttr(0));
}

static void emitSources(ProgramBuilder &to, Operation *op,
                        DenseI64ArrayAttr axes, ArrayRef<int64_t> from,
                        plan::LedgerAttr ledger) {
  Value source = to.buffers.of(op->getOperand(0));
  plan::PermuteOp::create(
      to.b, op->getLoc(), source, to.buffers.define(op->getResult(0)), axes,
      to.b.getDenseI64ArrayAttr(from), ledger, to.b.getI64IntegerAttr(0));
}

/// For each rank of a permutation's group: the rank whose block it receives.
/// Rank r wants block number r. The axes `before` (major to minor) spell that
/// number in the coordinates of the block's owner; `after` spells the owner's
/// rank.
static SmallVector<int64_t> sourcesOf(const Mesh &mesh, const AxisList &before,
                                      const AxisList &after) {
  SmallVector<int64_t> from;
  for (int64_t receiver = 0; receiver < mesh.groupSize(after); ++receiver) {
    llvm::SmallDenseMap<AxisId, int64_t> owner;
    int64_t rest = receiver;
    for (AxisId axis : llvm::reverse(before)) {
      owner[axis] = rest % mesh.size(axis);
      rest /= mesh.size(axis);
    }
    int64_t number = 0;
    for (AxisId axis : after)
      number = number * mesh.size(axis) + owner[axis];
    from.push_back(number);
  }
  return from;
}

/// The ranks that each rank of `group` receives from.
static SmallVector<int64_t> sourcesOf(PermuteOp op, int64_t group) {
  SmallVector<int64_t> from;
  int64_t by = int64_t(op.getBy());
  for (int64_t rank = 0; rank < group; ++rank)
    from.push_back(((op.getMirrored() ? -rank : rank) + 2 * group - by) %
                   group);
  return from;
}

static void emitPermute(ProgramBuilder &to, const CollectiveCommand &c) {
  auto permute = cast<PermuteOp>(c.op);
  if (permute.getShift() != 0)
    return emitSources(to, c.op, c.axes,
                       sourcesOf(permute, to.mesh.groupSize(c.step.axes)),
                       c.ledger);
  AxisList before =
      placementOf(c.op->getOperand(0).getType(), to.mesh).dims[*c.step.from];
  emitSources(to, c.op, c.axes, sourcesOf(to.mesh, before, c.step.axes),
              c.ledger);
}

void tpsp::emitExchange(ProgramBuilder &to, ExchangeOpInterface op) {
  SmallVector<int64_t> axes;
  for (auto axis : op.getExchangeAxes().getAsRange<StringAttr>())
    axes.push_back(*to.mesh.find(axis.getValue()));
  int64_t group = to.mesh.groupSize(AxisList(axes.begin(), axes.end()));
  emitSources(to, op, to.b.getDenseI64ArrayAttr(axes), op.getSources(group),
              cast_or_null<plan::LedgerAttr>(op.getExchangeRow()));
}

/// A row for what a rank of stage `from` sends in every run of `send`.
static LedgerRow rowOf(SendOp send, StringRef axis) {
  LedgerRow row;
  row.kind = CollectiveKind::Transfer;
  row.axes = {axis.str()};
  row.phase = phaseOf(send);
  auto type = typeOf(send.getInput());
  row.bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  row.times = timesOf(send);
  row.group = 2;
  row.tensor = send.getTensor().value_or("").str();
  row.reason = "stage " + std::to_string(send.getFrom()) +
               " has it, and stage " + std::to_string(send.getTo()) +
               " needs it";
  return row;
}

/// Forward passes and once-a-step transfers have one stream, and backward
/// passes another: so what comes from both sides does not wait for each other.
static int64_t streamOf(SendOp op) {
  return hasPart(op) && isBackward(op) ? 2 : 1;
}

/// The other side of a receive. A value may be sent to several readers.
static SendOp sendOf(ReceiveOp receive) {
  for (Operation *user : receive.getInput().getUsers())
    if (auto send = dyn_cast<SendOp>(user))
      if (send.getTransfer() == receive.getTransfer())
        return send;
  llvm_unreachable("a receive has its send");
}

void tpsp::emitTransfer(ProgramBuilder &to, Operation *op) {
  AxisId axis = *stageAxisOf(op);
  auto axes = to.b.getDenseI64ArrayAttr({int64_t(axis)});
  if (auto send = dyn_cast<SendOp>(op)) {
    auto ledger = plan::LedgerAttr::get(op->getContext(),
                                        rowOf(send, to.mesh.axis(axis).name));
    plan::TransferOp::create(to.b, op->getLoc(), to.buffers.of(send.getInput()),
                             Value(), axes, send.getFrom(), send.getTo(),
                             send.getTransfer(), ledger, streamOf(send));
    return;
  }
  auto receive = cast<ReceiveOp>(op);
  plan::TransferOp::create(
      to.b, op->getLoc(), Value(), to.buffers.define(receive.getResult()), axes,
      receive.getFrom(), receive.getTo(), receive.getTransfer(),
      plan::LedgerAttr(), streamOf(sendOf(receive)));
}

void tpsp::emitCollective(ProgramBuilder &to, CollectiveOpInterface op) {
  CollectiveStep step = stepOf(op, to.mesh);
  SmallVector<int64_t> ids(step.axes.begin(), step.axes.end());
  CollectiveCommand c{op, step, to.b.getDenseI64ArrayAttr(ids)};
  Value operand = op->getOperand(0);
  // A slice sends nothing, so it has no row of the ledger.
  if (step.kind == CollectiveKind::Slice)
    return emitSlice(to, c);
  c.ledger = plan::LedgerAttr::get(op.getContext(), ledgerOf(op, to.mesh));
  // A gather combines nothing.
  if (step.kind == CollectiveKind::AllGather)
    return emitShards<plan::AllGatherOp>(to, c);
  c.reduction = getIdx(operand).getPendingMax() ? TPSP_RT_MAX : TPSP_RT_SUM;
  switch (step.kind) {
  case CollectiveKind::ReduceScatter:
    return emitShards<plan::ReduceScatterOp>(to, c);
  case CollectiveKind::AllToAll:
    return emitAllToAll(to, c);
  case CollectiveKind::Permute:
    return emitPermute(to, c);
  default:
    return emitAllReduce(to, c);
  }
}
