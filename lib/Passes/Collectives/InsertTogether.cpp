#include "InsertTogether.h"

#include "CollectiveBuilder.h"
#include "FunctionPlacement.h"
#include "Passes/Program/Placed.h"
#include "Reasons.h"
#include "tpsp/Dialect/Tpsp/ResultAttrs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Where a value has been brought, for one phase of one micro-batch.
class Versions {
public:
  /// The value, then what was made of it, in program order.
  SmallVector<Value> of(Value value, Operation *user) const {
    SmallVector<Value> found = {value};
    auto known = made.find(keyOf(value, user));
    if (known != made.end())
      found.append(known->second);
    return found;
  }

  void add(Value value, Operation *user, Value version) {
    made[keyOf(value, user)].push_back(version);
  }

private:
  using Key = std::tuple<Value, Attribute, Attribute>;
  static Key keyOf(Value value, Operation *user) {
    return {value, user->getAttr(backwardAttrName),
            user->getAttr(partAttrName)};
  }
  llvm::DenseMap<Key, SmallVector<Value>> made;
};

class Inserter {
public:
  explicit Inserter(FunctionOpInterface function)
      : mesh(meshOf(function)), builder(function.getContext()),
        decided(function, mesh) {}

  LogicalResult run(FunctionOpInterface function) {
    SmallVector<IndexedOpInterface> ops;
    function->walk([&](IndexedOpInterface op) { ops.push_back(op); });
    for (IndexedOpInterface op : ops)
      if (failed(visit(op, decided.of(op))))
        return failure();
    // They have served; what is equal but for them is equal.
    function->walk([](IndexedOpInterface op) {
      op->removeAttr(propagatedAttrName);
      for (Value result : op->getResults())
        for (StringRef name : {goalAttrName, weightAttrName})
          setResultAttr(result, name, {});
    });
    return success();
  }

private:
  using Decision = FunctionPlacement::Decision;

  LogicalResult visit(IndexedOpInterface op, const Decision *decision) {
    if (decision)
      completeOthers(op, *decision);
    auto choice = choose(op, decision);
    if (choice && op.isSumOfOperands() && sumAlikeFirst(op, *choice))
      choice = choose(op, decision);
    if (!choice)
      return refuse(op);
    Placed placed(op, mesh);
    noteFewerBytes(op, placed, *choice);
    Reasons reasons(op, placed.structure, *choice, mesh);
    for (auto [i, needs] : llvm::enumerate(choice->operands)) {
      const auto &tensor = placed.structure.operands[i];
      op->setOperand(i, bring(op, op->getOperand(i), needs,
                              [&](const CollectiveStep &step) {
                                return reasons.ofOperand(tensor, step);
                              }));
    }
    for (auto [i, comesOut] : llvm::enumerate(choice->results)) {
      Value result = op->getResult(i);
      std::optional<Placement> home = homeOf(op, decision, i, comesOut);
      result.setType(withPlacement(cast<RankedTensorType>(result.getType()),
                                   comesOut, mesh));
      if (!home || *home == comesOut)
        continue;
      builder.setInsertionPointAfter(op);
      const auto &tensor = placed.structure.results[i];
      SmallVector<Value> steps =
          move(op, result, *home, [&](const CollectiveStep &step) {
            return reasons.ofResult(tensor, step);
          });
      llvm::SmallPtrSet<Operation *, 4> chain;
      for (Value step : steps)
        chain.insert(step.getDefiningOp());
      result.replaceUsesWithIf(steps.back(), [&](OpOperand &use) {
        return !chain.contains(use.getOwner());
      });
    }
    return success();
  }

  /// The compute placement that was decided. Where it is illegal, by extents
  /// that several axes together do not divide, the best where the operands are.
  std::optional<ComputePlacement> choose(IndexedOpInterface op,
                                         const Decision *decision) {
    Placed placed(op, mesh);
    if (!decision)
      return chooseComputePlacement(placed.get());
    SmallVector<std::optional<Placement>> asTyped =
        llvm::to_vector(ArrayRef<std::optional<Placement>>(placed.wanted));
    for (auto [wanted, home] :
         llvm::zip_equal(placed.wanted, decision->results))
      if (!home.isWanted)
        wanted = std::nullopt;
    auto choice = evaluate(placed.get(), decision->drives);
    if (choice) {
      for (auto [i, wanted] : llvm::enumerate(placed.wanted))
        wanted = homeOf(op, decision, i, choice->results[i]);
      choice = evaluate(placed.get(), decision->drives);
    }
    if (choice)
      return choice;
    placed.wanted.assign(asTyped.begin(), asTyped.end());
    return chooseComputePlacement(placed.get());
  }

  /// Where a result is brought: nowhere if it stays as it comes out.
  std::optional<Placement> homeOf(IndexedOpInterface op,
                                  const Decision *decision, unsigned number,
                                  const Placement &comesOut) const {
    Type type = op->getResult(number).getType();
    std::optional<Placement> typed =
        isUnplaced(type) ? std::nullopt
                         : std::optional(placementOf(type, mesh));
    if (!decision)
      return typed;
    const Placement &home = decision->results[number].placement;
    if (decision->results[number].isWanted)
      return home;
    bool isThere = true, isPossible = true;
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
      AxisState state = AxisState::of(home, axis);
      isThere &= state == AxisState::of(comesOut, axis);
      isPossible &=
          !state.isPending() || state == AxisState::of(comesOut, axis);
    }
    if (isThere)
      return std::nullopt;
    return isPossible ? std::optional(home) : typed;
  }

  /// Where one of several partial factors stays partial, the others are
  /// completed.
  void completeOthers(IndexedOpInterface op, const Decision &decision) {
    if (op.getLinearity() != Linearity::Multi)
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      Placement needs = placementOf(operand.get().getType(), mesh);
      for (auto [axis, drive] : llvm::enumerate(decision.drives))
        if (drive.kind == Drive::Pending &&
            drive.index != operand.getOperandNumber())
          llvm::erase(needs.pending, AxisId(axis));
      operand.set(bring(op, operand.get(), needs, [](const CollectiveStep &) {
        return std::string("another factor of the product stays a sum");
      }));
    }
  }

  /// Says so where fewer bytes could be had for more collectives or more work.
  void noteFewerBytes(IndexedOpInterface op, const Placed &placed,
                      const ComputePlacement &choice) {
    if (!op->getContext()->getRemarkEngine() || choice.cost.bytes == 0)
      return;
    std::optional<ComputePlacement> other = fewestBytes(placed.get());
    if (!other || other->cost.bytes >= choice.cost.bytes)
      return;
    remark::missed(op->getLoc(), remark::RemarkOpts::name("fewer-bytes")
                                     .category("tpsp-insert-collectives"))
        << remark::reason("another placement sends fewer bytes, with {0} "
                          "collectives instead of {1}",
                          other->cost.collectives, choice.cost.collectives)
        << remark::metric("bytes", choice.cost.bytes)
        << remark::metric("fewest_bytes", other->cost.bytes);
  }

  /// Adds operands that are partial over the same axes first, so that they are
  /// reduced once; not those that are there as `choice` needs them already.
  /// Whether it added any.
  bool sumAlikeFirst(IndexedOpInterface op, const ComputePlacement &choice) {
    llvm::MapVector<Attribute, SmallVector<Value>> alike;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Value nearest = this->nearest(op, operand, choice.operands[i]);
      IdxAttr idx = getIdx(nearest);
      SmallVector<Attribute> pending(idx.getPending().begin(),
                                     idx.getPending().end());
      alike[builder.getArrayAttr(pending)].push_back(nearest);
    }
    if (alike.size() < 2 && choice.operands == placementsOf(op->getOperands()))
      return false;
    SmallVector<Value> summands;
    for (auto &[pending, operands] : alike) {
      if (operands.size() == 1 || cast<ArrayAttr>(pending).empty()) {
        summands.append(operands.begin(), operands.end());
        continue;
      }
      builder.setInsertionPoint(op);
      OperationState state(op->getLoc(), op->getName());
      state.addOperands(operands);
      auto result = cast<RankedTensorType>(op->getResult(0).getType());
      state.addTypes(typeOfSum(operands, result));
      state.addAttributes(op->getDiscardableAttrDictionary().getValue());
      auto partial = cast<IndexedOpInterface>(builder.create(state));
      if (failed(visit(partial, nullptr)))
        return false;
      summands.push_back(partial->getResult(0));
    }
    if (summands.size() == op->getNumOperands())
      return false;
    op->setOperands(summands);
    return true;
  }

  SmallVector<Placement, 3> placementsOf(ValueRange values) const {
    SmallVector<Placement, 3> placements;
    for (Value value : values)
      placements.push_back(placementOf(value.getType(), mesh));
    return placements;
  }

  /// The sum of some of the operands. It has those of the result's indices that
  /// they carry: the rest of the operands may broadcast it along the others.
  static RankedTensorType typeOfSum(ArrayRef<Value> summands, Type result) {
    SmallVector<StringRef> names;
    SmallVector<RankedTensorType> sources;
    for (Value summand : summands)
      sources.push_back(cast<RankedTensorType>(summand.getType()));
    for (StringRef name : indexNames(result))
      if (llvm::any_of(summands,
                       [&](Value v) { return getIdx(v).dimOf(name); }))
        names.push_back(name);
    return withoutPlacement(tensorOver(names, sources));
  }

  /// What is available of a value from which the way to a placement costs
  /// least.
  Value nearest(IndexedOpInterface op, Value value, const Placement &to) const {
    Value best = value;
    std::optional<TransitionCost> least;
    auto type = cast<RankedTensorType>(value.getType());
    for (Value version : versions.of(value, op)) {
      Placement from = placementOf(version.getType(), mesh);
      std::optional<Transition> steps = planTransition(from, to, mesh);
      if (!steps)
        continue;
      TransitionCost price =
          cost(*steps, from, type.getShape(),
               std::max(type.getElementTypeBitWidth() / 8, 1u), mesh);
      auto key = [](const TransitionCost &c) {
        return std::tie(c.collectives, c.bytes, c.trivial);
      };
      if (least && key(*least) <= key(price))
        continue;
      best = version;
      least = price;
    }
    return best;
  }

  /// An operand as the operation needs it.
  template <typename Reason>
  Value bring(IndexedOpInterface op, Value value, const Placement &to,
              Reason reason) {
    Value from = nearest(op, value, to);
    if (placementOf(from.getType(), mesh) == to)
      return from;
    builder.setInsertionPoint(op);
    SmallVector<Value> steps = move(op, from, to, reason);
    for (Value step : steps)
      versions.add(value, op, step);
    return steps.back();
  }

  /// What each step makes of the value.
  template <typename Reason>
  SmallVector<Value> move(IndexedOpInterface op, Value value,
                          const Placement &to, Reason reason) {
    std::string name = tensorName(value);
    SmallVector<Value> made;
    std::optional<Transition> steps =
        planTransition(placementOf(value.getType(), mesh), to, mesh);
    bool again = op->hasAttr(recomputedAttrName);
    for (const CollectiveStep &step : *steps) {
      std::string why =
          reason(step) + (again ? "; recomputed for the backward pass" : "");
      value =
          createCollective(builder, op->getLoc(), value, step, mesh, why, name);
      remark::passed(op->getLoc(),
                     remark::RemarkOpts::name(tpsp::name(step.kind))
                         .category("tpsp-insert-collectives"))
          << remark::reason("{0}", why) << remark::metric("tensor", name);
      copyPhase(op, value.getDefiningOp());
      made.push_back(value);
    }
    return made;
  }

  LogicalResult refuse(IndexedOpInterface op) {
    InFlightDiagnostic diag = op->emitOpError(
        "has no legal compute placement: its result is wanted [");
    diag << subscripts(op->getResult(0).getType())
         << "], which cannot be made from its operands; a whole tensor cannot "
            "become partial, and axes must divide the extents they shard";
    return diag;
  }

  Mesh mesh;
  OpBuilder builder;
  FunctionPlacement decided;
  Versions versions;
};

} // namespace

LogicalResult tpsp::insertTogether(FunctionOpInterface function) {
  return Inserter(function).run(function);
}
