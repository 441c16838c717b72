// tpsp-shard-replicated: puts an axis on values that are replicated over it
// only because propagation put no axis there.
//
// A sum over an index that an axis divides is computed pending. If it is wanted
// replicated, it becomes an all-reduce. Then every rank along the axis computes
// and keeps the same values after it, up to the operation that divides another
// index. This pass puts the axis on one index of all these values instead. The
// all-reduce then is a reduce-scatter, and its other half, the all-gather,
// comes where the values are used. In other words: each all-reduce is split,
// and its gather is moved past residual, dropout and norm to its consumer. The
// pass names no collective: they follow from the placements, forward and
// backward.
//
//   x [s, d]  = einsum over e@tp      x [s@tp, d]  = einsum over e@tp
//   n [s, d]  = norm(x)               n [s@tp, d]  = norm(x)
//   y [s, f@tp] = einsum of n, w      y [s, f@tp]  = einsum of n (gathered), w
//
// Bytes forward: the same if every value is gathered once. Backward, a value
// that was saved whole is gathered again, and gradients of replicated operands
// (a norm's gain) are summed over the axis. Memory: only the values' shards.
#include "Ledger.h"
#include "MovementModel.h"
#include "Passes/Program/MachineOptions.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <set>

namespace tpsp {
#define GEN_PASS_DEF_SHARDREPLICATED
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Values that can be sharded together, each with the dimension for the axis.
using ShardedValues = llvm::MapVector<Value, unsigned>;

class Sharder {
public:
  /// With a `cost`, shards only groups that make the step faster; otherwise all
  /// groups.
  Sharder(FunctionOpInterface function, AxisId axis,
          std::optional<CostModel> cost, OverlapRule rule)
      : function(function), mesh(meshOf(function)), axis(axis),
        cost(std::move(cost)), rule(rule) {}

  void run() {
    SmallVector<Value> sums;
    for (Operation &op : function.getFunctionBody().front())
      if (auto indexed = dyn_cast<IndexedOpInterface>(op);
          indexed && comesOutPending(indexed) && isFree(op.getResult(0)))
        sums.push_back(op.getResult(0));
    for (Value sum : sums)
      // An earlier group may have included it.
      if (!placementOf(sum.getType(), mesh).uses(axis))
        shard(bestGroup(sum));
  }

private:
  //===--------------------------------------------------------------------===//
  // Choosing values
  //===--------------------------------------------------------------------===//

  Placement placed(Value value) const {
    return placementOf(value.getType(), mesh);
  }

  const IndexStructure &structureOf(IndexedOpInterface op) {
    auto [it, isNew] = structures.try_emplace(op);
    if (isNew)
      it->second = op.getIndexStructure();
    return it->second;
  }

  /// Whether propagation placed the value without the axis, and the function
  /// does not return it.
  bool isFree(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && getResultAttr(value, proposedAttrName) &&
           !placed(value).uses(axis) &&
           llvm::none_of(op->getUsers(), [](Operation *user) {
             return user->hasTrait<OpTrait::IsTerminator>();
           });
  }

  /// Whether the operation sums over an index that the axis divides.
  bool comesOutPending(IndexedOpInterface op) {
    auto known = pending.find(op);
    if (known != pending.end())
      return known->second;
    auto choice = chooseComputePlacement(PlacedStructure(op, mesh).get());
    bool is = choice && choice->results[0].isPending(axis) &&
              choice->results[0].reduction == Reduction::Sum &&
              choice->drives[axis].kind == Drive::Index;
    return pending[op] = is;
  }

  /// Whether the axis may divide `index` of the operation: the index need not
  /// be whole, and no operand has the axis elsewhere.
  bool maps(IndexedOpInterface op, IndexId index) {
    const IndexStructure &structure = structureOf(op);
    if (structure.indices[index].whole || structure.isMinor(index))
      return false;
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), structure.operands)) {
      Placement placement = placed(operand);
      std::optional<unsigned> dim = placement.dimOf(axis);
      if (placement.isPending(axis) || (dim && tensor.dimOf(index) != dim))
        return false;
    }
    return true;
  }

  /// Whether dimension `dim` of `value` may carry the axis.
  bool accepts(Value value, unsigned dim) {
    if (!isFree(value))
      return false;
    auto type = cast<RankedTensorType>(value.getType());
    if (firstUnevenDim(type.getShape(), withAxis(value, dim), mesh))
      return false;
    auto op = cast<IndexedOpInterface>(value.getDefiningOp());
    return comesOutPending(op) || maps(op, indexOf(value, dim));
  }

  /// The operation's index that dimension `dim` of a result stands for.
  IndexId indexOf(Value value, unsigned dim) {
    auto result = cast<OpResult>(value);
    return structureOf(cast<IndexedOpInterface>(result.getOwner()))
        .results[result.getResultNumber()]
        .indices[dim];
  }

  Placement withAxis(Value value, unsigned dim) const {
    Placement placement = placed(value);
    placement.dims[dim].push_back(axis);
    return placement;
  }

  /// All values on which the axis can be put together with dimension `dim` of
  /// `sum`: those connected to it by operations that map the index.
  ShardedValues grow(Value sum, unsigned dim) {
    ShardedValues group, reached;
    auto reach = [&](Value value, std::optional<unsigned> onto) {
      if (!onto || reached.contains(value))
        return;
      if (accepts(value, *onto))
        group.insert({value, *onto});
      else if (!isSliced(value))
        return;
      reached.insert({value, *onto});
    };
    reach(sum, dim);
    for (unsigned next = 0; next < reached.size(); ++next) {
      auto [value, at] = reached.begin()[next];
      auto through = [&](Operation *op, IndexId index) {
        auto indexed = cast<IndexedOpInterface>(op);
        if (!maps(indexed, index))
          return;
        const IndexStructure &structure = structureOf(indexed);
        for (auto [result, tensor] :
             llvm::zip_equal(op->getResults(), structure.results))
          reach(result, tensor.dimOf(index));
        for (auto [operand, tensor] :
             llvm::zip_equal(op->getOperands(), structure.operands))
          reach(operand, tensor.dimOf(index));
      };
      for (OpOperand &use : value.getUses())
        if (auto user = dyn_cast<IndexedOpInterface>(use.getOwner()))
          through(
              user,
              structureOf(user).operands[use.getOperandNumber()].indices[at]);
      if (auto op = value.getDefiningOp<IndexedOpInterface>())
        through(op, indexOf(value, at));
    }
    return group;
  }

  /// Whether operations may slice the value for free: an argument that every
  /// rank has. It connects its users but stays as it is.
  bool isSliced(Value value) const {
    return isa<BlockArgument>(value) && !placed(value).uses(axis);
  }

  /// The largest group. Among equals, that of the innermost dimension: the
  /// sequence rather than the batch, whose extent should not decide.
  ShardedValues bestGroup(Value sum) {
    ShardedValues best;
    for (unsigned dim = 0; dim < getIdx(sum).getRank(); ++dim) {
      ShardedValues group = grow(sum, dim);
      if (group.size() >= best.size())
        best = std::move(group);
    }
    return best;
  }

  //===--------------------------------------------------------------------===//
  // Sharding values and reporting it
  //===--------------------------------------------------------------------===//

  void shard(const ShardedValues &group) {
    // A group of sums only would be gathered where it is scattered.
    if (llvm::all_of(group, [&](auto &member) {
          auto op = cast<IndexedOpInterface>(member.first.getDefiningOp());
          return comesOutPending(op);
        }))
      return;
    llvm::SetVector<Operation *> around;
    for (auto &[value, dim] : group) {
      around.insert(value.getDefiningOp());
      around.insert(value.getUsers().begin(), value.getUsers().end());
    }
    MovementModel model(mesh, cost, rule, pending);
    Movement before = model.movementOf(around.getArrayRef());
    SmallVector<Type> types;
    for (auto [value, dim] : group) {
      types.push_back(value.getType());
      auto type = cast<RankedTensorType>(value.getType());
      value.setType(withPlacement(type, withAxis(value, dim), mesh));
    }
    Movement after = model.movementOf(around.getArrayRef());
    if (cost && after.seconds >= before.seconds) {
      leave(group, types, before, after);
      return;
    }
    int64_t saved = 0;
    for (auto [member, type] : llvm::zip_equal(group, types)) {
      saved += note(member.first, member.second, type);
      setResultAttr(member.first, proposedAttrName, {});
    }
    report(group, saved, before, after);
  }

  /// Undoes a change that would make the step slower, and reports why.
  void leave(const ShardedValues &group, ArrayRef<Type> types,
             const Movement &before, const Movement &after) {
    for (auto [member, type] : llvm::zip_equal(group, types))
      Value(member.first).setType(type);
    Operation *first = group.begin()->first.getDefiningOp();
    std::string why = "stays replicated over @" + mesh.axis(axis).name +
                      ": sharded it would take " + milliseconds(after.seconds) +
                      " instead of " + milliseconds(before.seconds) +
                      " (all-reduces become reduce-scatters and all-gathers)";
    first->setAttr(noteAttrName, StringAttr::get(first->getContext(), why));
    remark::missed(first->getLoc(), remark::RemarkOpts::name("group").category(
                                        "tpsp-shard-replicated"))
        << remark::reason("{0}", why);
  }

  static std::string milliseconds(double seconds) {
    return llvm::formatv("{0:f3} ms", seconds * 1e3).str();
  }

  /// Notes that the axis was put on a value. Returns the bytes by which that
  /// makes it smaller.
  int64_t note(Value value, unsigned dim, Type type) {
    Type after = value.getType();
    int64_t saved = localBytes(type, mesh) - localBytes(after, mesh);
    std::string note = getIdx(after).getNames()[dim].getValue().str() + "@" +
                       mesh.axis(axis).name + " instead of replicated keeps " +
                       formatBytes(saved) + " per rank less";
    value.getDefiningOp()->setAttr(noteAttrName,
                                   StringAttr::get(value.getContext(), note));
    remark::passed(value.getLoc(), remark::RemarkOpts::name("value").category(
                                       "tpsp-shard-replicated"))
        << remark::reason("{0}", note) << remark::metric("saved_bytes", saved);
    return saved;
  }

  void report(const ShardedValues &group, int64_t saved, const Movement &before,
              const Movement &after) const {
    Operation *first = group.begin()->first.getDefiningOp();
    std::string note =
        first->getAttrOfType<StringAttr>(noteAttrName).getValue().str();
    note += "; one of " + std::to_string(group.size()) + " values, together " +
            formatBytes(saved) + " less; their forward collectives send " +
            formatBytes(after.bytes) + ", before " + formatBytes(before.bytes);
    if (cost)
      note += "; " + milliseconds(after.seconds) + " instead of " +
              milliseconds(before.seconds);
    first->setAttr(noteAttrName, StringAttr::get(first->getContext(), note));
    remark::passed(first->getLoc(), remark::RemarkOpts::name("group").category(
                                        "tpsp-shard-replicated"))
        << remark::reason("{0}", note)
        << remark::metric("values", int64_t(group.size()))
        << remark::metric("saved_bytes", saved)
        << remark::metric("forward_bytes_before", before.bytes)
        << remark::metric("forward_bytes", after.bytes);
  }

  FunctionOpInterface function;
  Mesh mesh;
  AxisId axis;
  std::optional<CostModel> cost;
  OverlapRule rule;
  llvm::DenseMap<Operation *, IndexStructure> structures;
  /// The results of comesOutPending, from before any change.
  llvm::DenseMap<Operation *, bool> pending;
};

struct ShardReplicated
    : public WithOptions<tpsp::impl::ShardReplicatedBase<ShardReplicated>,
                         &CompileOptions::shardReplicated,
                         &CompileOptions::grad, &CompileOptions::overlap,
                         &CompileOptions::hardware, &CompileOptions::threads> {
  void runOnOperation() override {
    const CompileOptions &given = options();
    if (given.shardReplicated == "off")
      return;
    auto visit = [&](FunctionOpInterface function, const Mesh &mesh,
                     const std::optional<CostModel> &cost) {
      for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
        Sharder(function, axis, cost, {given.grad, given.overlap == "on"})
            .run();
    };
    if (failed(forEachFunction(
            {getOperation(), getArgument(), given.hardware, given.threads},
            /*asksForTime=*/given.shardReplicated == "time", visit)))
      signalPassFailure();
  }
};

} // namespace
