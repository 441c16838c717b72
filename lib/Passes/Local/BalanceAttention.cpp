// tpsp-balance-attention: ranks exchange halves of the rows of causal
// attention, so that all have the same amount of work.
#include "Passes/Program/OriginListener.h"
#include "SweepBlocks.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/MachineOptions.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Algebra/AttentionHeads.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/LibraryCalls.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tpsp {
#define GEN_PASS_DEF_BALANCEATTENTION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

constexpr llvm::StringLiteral passName = "tpsp-balance-attention";

bool carries(Value value, StringRef index) {
  return getIdx(value).dimOf(index).has_value();
}

/// A rank's rows of a tensor in two parts. One is the first half of its own
/// rows. The other is the second half of the mirrored rank's rows. The mirrored
/// rank is as far from the last as this rank is from the first.
struct Halves {
  Value own, other;
};

/// Attention under a causal mask whose rows are divided over axes.
struct DividedRows {
  AttentionOpInterface op;
  AttentionHeads heads;
  ArrayAttr axes;
  AxisList axisIds;
  int64_t ranks;

  int64_t half() const { return heads.queries / 2; }
  /// The first rows of a rank's halves. Their sum is the same on all ranks.
  int64_t ownStart(int64_t rank) const { return 2 * rank * half(); }
  int64_t otherStart(int64_t rank) const {
    return (2 * (ranks - rank) - 1) * half();
  }

  AttentionWork work(int64_t queries, int64_t start) {
    AttentionWork result = attentionWork(op, heads);
    result.queries = queries;
    result.queryStart = start;
    return result;
  }
};

/// nullopt if no axis divides rows under a mask, or if they are balanced
/// already.
std::optional<DividedRows> dividedRows(AttentionOpInterface op,
                                       const Mesh &mesh) {
  IdxAttr idx = getIdx(op->getOperand(0));
  AttentionMatch match = op.matchHeads();
  if (!op.masksLaterKeys() || !idx.getLocal() || op.getRowTile() ||
      !match.matches())
    return std::nullopt;
  unsigned dim = *idx.dimOf(op.getRowIndex());
  AxisList axes = placementOf(op->getOperand(0).getType(), mesh).dims[dim];
  int64_t ranks = mesh.groupSize(axes);
  if (ranks == 1)
    return std::nullopt;
  return DividedRows{op, match.heads, idx.getAxes()[dim], axes, ranks};
}

/// The work that an exchange takes off the busiest rank, and its price. Both
/// are in seconds; without a cost model, work is counted in scores and the
/// price is 0.
class Gain {
public:
  Gain(DividedRows &rows, const std::optional<CostModel> &cost,
       const Mesh &mesh)
      : rows(rows), cost(cost), mesh(mesh) {}

  /// The last rank sees the most keys.
  double before() const {
    int64_t queries = rows.heads.queries;
    return effort(queries, (rows.ranks - 1) * queries);
  }

  /// Without a window all ranks have equal work; with one the ranks in the
  /// middle have the most.
  double after() const {
    double most = 0;
    for (int64_t rank = 0; rank < rows.ranks; ++rank)
      most = std::max(most, effort(rows.half(), rows.ownStart(rank)) +
                                effort(rows.half(), rows.otherStart(rank)));
    return most;
  }

  /// The price of sending halves, and of copies: into halves, out of them, and
  /// of the sums of both calls.
  double price() const {
    if (!cost)
      return 0;
    AttentionOpInterface op = rows.op;
    double seconds = 0;
    auto add = [&](Value value) {
      double bytes = double(localBytes(value.getType(), mesh));
      bool isSum = !carries(value, op.getRowIndex());
      seconds += cost->copySeconds(isSum ? 3 * bytes : 2 * bytes);
      if (!isSum)
        seconds += cost->collectiveSeconds(CollectiveKind::Permute, bytes / 2,
                                           rows.axisIds);
    };
    for (Value operand : op->getOperands())
      if (carries(operand, op.getRowIndex()))
        add(operand);
    for (Value result : op->getResults())
      if (!result.use_empty())
        add(result);
    return seconds;
  }

private:
  double effort(int64_t queries, int64_t start) const {
    PlanCommand call;
    call.kind = CommandKind::Attention;
    call.dtype =
        plan::runtimeType(typeOf(rows.op->getOperand(0)).getElementType());
    call.attention = rows.work(queries, start);
    return cost ? cost->seconds(call) : call.attention.pairs();
  }

  DividedRows &rows;
  const std::optional<CostModel> &cost;
  const Mesh &mesh;
};

class Balancer {
public:
  Balancer(FunctionOpInterface function, const Mesh &mesh,
           std::optional<CostModel> cost)
      : body(function.getFunctionBody().front()), mesh(mesh),
        cost(std::move(cost)), b(function.getContext(), &mark) {}

  void run() {
    for (Operation &op : body)
      if (auto attention = dyn_cast<AttentionOpInterface>(op))
        if (std::optional<DividedRows> rows = dividedRows(attention, mesh))
          if (pays(*rows))
            chosen.insert({&op, *rows});
    for (auto &[op, rows] : chosen)
      balance(rows);
    for (auto &[op, rows] : llvm::reverse(chosen))
      op->erase();
  }

private:
  bool pays(DividedRows &rows) const {
    AttentionOpInterface op = rows.op;
    auto missed = [&] {
      return remark::missed(
          op->getLoc(), remark::RemarkOpts::name("balance").category(passName));
    };
    if (rows.heads.queries % 2 != 0) {
      missed() << remark::reason("the last rank has most to do: {0} rows of a "
                                 "rank have no halves",
                                 rows.heads.queries);
      return false;
    }
    Gain gain(rows, cost, mesh);
    double before = gain.before(), after = gain.after(), price = gain.price();
    StringRef unit = cost ? "us" : "scores";
    double scale = cost ? 1e6 : 1;
    if (before <= after + price) {
      missed() << remark::reason(
          "ranks keep their rows: the last one has {0} {1} to do; after an "
          "exchange the busiest would have {2}, and {3} to exchange",
          before * scale, unit, after * scale, price * scale);
      return false;
    }
    remark::passed(op->getLoc(),
                   remark::RemarkOpts::name("balance").category(passName))
        << remark::reason("{0} ranks exchange halves of their rows: {1} {2} "
                          "and not {3}",
                          rows.ranks, (after + price) * scale, unit,
                          before * scale);
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Halves
  //===--------------------------------------------------------------------===//

  /// The halves of an operand of `rows`, exchanged now if they do not exist
  /// yet.
  Halves halvesOf(Value whole, DividedRows &rows) {
    StringRef index = rows.op.getRowIndex();
    auto known = halves.find(keyOf(whole, index));
    if (known != halves.end() && isAtHand(known->second, rows.op))
      return known->second;
    Value own = partOf(b, whole, index, /*parts=*/2, 0);
    Value sent = partOf(b, whole, index, /*parts=*/2, 1);
    return halves[keyOf(whole, index)] = {own, mirrored(sent, whole, rows)};
  }

  /// A backward pass exchanges halves again instead of keeping them. The
  /// statistic, which nothing else reads, exists only in halves.
  bool isAtHand(const Halves &made, Operation *op) const {
    Operation *source = made.own.getDefiningOp();
    return neverWhole.contains(made.own) ||
           (phaseOf(source) == phaseOf(op) &&
            originOf(source).part == originOf(op).part);
  }

  /// The key includes the index, because one attention's rows may be another's
  /// keys.
  std::pair<Value, StringAttr> keyOf(Value whole, StringRef index) {
    return {whole, b.getStringAttr(index)};
  }

  Value mirrored(Value half, Value whole, DividedRows &rows) {
    LedgerRow row;
    row.kind = CollectiveKind::Permute;
    for (auto axis : rows.axes.getAsRange<StringAttr>())
      row.axes.push_back(axis.getValue().str());
    row.index = rows.op.getRowIndex().str();
    row.phase = phaseOf(rows.op);
    row.group = rows.ranks;
    row.bytes = bytesSent(CollectiveKind::Permute,
                          localBytes(half.getType(), mesh), rows.ranks);
    row.tensor = tensorName(whole);
    row.reason = "the mask leaves the last ranks of @" +
                 llvm::join(row.axes, ", @") + " most: halves of " + row.index +
                 " change places";
    return MirrorOp::create(b, whole.getLoc(), half.getType(), half, rows.axes,
                            plan::LedgerAttr::get(b.getContext(), row));
  }

  //===--------------------------------------------------------------------===//
  // The rewrite
  //===--------------------------------------------------------------------===//

  /// Sent before: nothing. After: half of every tensor with rows, once in each
  /// direction. Memory: the halves, and sums over rows twice.
  void balance(DividedRows &rows) {
    AttentionOpInterface op = rows.op;
    mark.follow(op);
    b.setInsertionPoint(op);
    StringRef index = op.getRowIndex();
    SmallVector<Value> own, other;
    for (Value operand : op->getOperands()) {
      Halves in = carries(operand, index) ? halvesOf(operand, rows)
                                          : Halves{operand, operand};
      own.push_back(in.own);
      other.push_back(in.other);
    }
    int64_t half = rows.half();
    Operation *first = callOn(own, rows, 2 * half, 0);
    Operation *second =
        callOn(other, rows, -2 * half, (2 * rows.ranks - 1) * half);
    for (OpResult result : op->getResults())
      if (!result.use_empty()) {
        unsigned number = result.getResultNumber();
        replace(result, {first->getResult(number), second->getResult(number)},
                rows);
      }
  }

  /// Creates the call on halves whose starts are `stride` apart from rank to
  /// rank.
  Operation *callOn(ArrayRef<Value> operands, DividedRows &rows, int64_t stride,
                    int64_t offset) {
    StringRef index = rows.op.getRowIndex();
    Operation *call = b.clone(*rows.op);
    call->setLoc(rows.op->getLoc());
    call->setOperands(operands);
    for (Value result : call->getResults())
      if (carries(result, index))
        result.setType(blockType(typeOf(result), index, rows.half()));
    cast<AttentionOpInterface>(call).setRowTile(
        TileAttr::get(b.getContext(), b.getStringAttr(index), stride,
                      /*shift=*/0, offset, rows.axes));
    return call;
  }

  /// Whether all users of `value` are about to read it in halves.
  bool isReadInHalves(Value value, StringRef index) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      auto found = chosen.find(user);
      return found != chosen.end() && found->second.op.getRowIndex() == index;
    });
  }

  void replace(OpResult result, Halves made, DividedRows &rows) {
    StringRef index = rows.op.getRowIndex();
    Value whole;
    if (!carries(result, index)) {
      whole = AddOp::create(b, result.getLoc(), result.getType(),
                            ValueRange{made.own, made.other});
    } else if (isReadInHalves(result, index)) {
      neverWhole.insert(made.own);
      halves[keyOf(result, index)] = made;
      return;
    } else {
      Value home = mirrored(made.other, result, rows);
      whole = joined(b, {made.own, home}, typeOf(result), index);
      halves[keyOf(whole, index)] = made;
    }
    whole.getDefiningOp()->setLoc(locationOf(result));
    result.replaceAllUsesWith(whole);
  }

  Block &body;
  const Mesh &mesh;
  std::optional<CostModel> cost;
  OriginListener mark;
  OpBuilder b;
  llvm::MapVector<Operation *, DividedRows> chosen;
  /// Halves by tensor and the index that is halved.
  llvm::DenseMap<std::pair<Value, StringAttr>, Halves> halves;
  /// Own halves of values that are computed and read in halves only.
  llvm::DenseSet<Value> neverWhole;
};

struct BalanceAttention
    : public WithOptions<tpsp::impl::BalanceAttentionBase<BalanceAttention>,
                         &CompileOptions::balanceAttention,
                         &CompileOptions::hardware, &CompileOptions::threads> {
  void runOnOperation() override {
    // A machine may be too small for a mesh, which matters only if costs are
    // needed.
    const CompileOptions &given = options();
    if (given.balanceAttention == "off" || !hasDividedRows())
      return;
    auto visit = [&](FunctionOpInterface function, const Mesh &mesh,
                     std::optional<CostModel> cost) {
      Balancer(function, mesh, std::move(cost)).run();
    };
    if (failed(forEachFunction(
            {getOperation(), getArgument(), given.hardware, given.threads},
            /*asksForTime=*/given.balanceAttention == "time", visit)))
      signalPassFailure();
  }

  bool hasDividedRows() {
    return getOperation()
        .walk([](AttentionOpInterface op) {
          return dividedRows(op, meshOf(op)) ? WalkResult::interrupt()
                                             : WalkResult::advance();
        })
        .wasInterrupted();
  }
};

} // namespace
