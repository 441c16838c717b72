// tpsp-insert-collectives: makes every operation agree with its compute
// placement. FunctionPlacement.h decides that, by the search of
// Algebra/PlacementSearch.h. Algebra/Collective.h derives the collectives.
#include "CollectiveBuilder.h"
#include "FunctionPlacement.h"
#include "Ledger.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "PlacementWarnings.h"
#include "Reasons.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace tpsp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The placements to which a value has been brought, for one phase of one
/// micro-batch.
class Versions {
public:
  /// The value, then its other versions, in program order.
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
  using Key = std::tuple<Value, unsigned, Attribute>;
  static Key keyOf(Value value, Operation *user) {
    return {value, unsigned(phaseOf(user)), placeInStep(user)};
  }
  llvm::DenseMap<Key, SmallVector<Value>> made;
};

class Inserter {
public:
  explicit Inserter(FunctionOpInterface function)
      : mesh(meshOf(function)), builder(function.getContext()),
        decided(function, mesh), warnings(mesh) {}

  LogicalResult run(FunctionOpInterface function) {
    SmallVector<IndexedOpInterface> ops;
    function->walk([&](IndexedOpInterface op) { ops.push_back(op); });
    for (IndexedOpInterface op : ops)
      if (failed(visit(op, decided.of(op))))
        return failure();
    warnings.emit();
    // The attributes are no longer needed. Without them, equal operations are
    // equal for CSE.
    function->walk([](IndexedOpInterface op) {
      for (Value result : op->getResults())
        for (StringRef name : {proposedAttrName, weightAttrName})
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
    if (choice && decision && op.isSumOfOperands()) {
      Decision passing = *decision;
      if (failed(sumAlikeFirst(op, *choice, passing)))
        return failure();
      choice = choose(op, &passing);
    }
    if (!choice)
      return refusePlacement(op);
    PlacedStructure placed(op, mesh);
    noteFewerBytes(op, placed.get(), *choice);
    warnings.see(op, placed.get(), *choice);
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
      replaceByMoved(result, moveTensor(builder, op, result, *home, mesh,
                                        [&](const CollectiveStep &step) {
                                          return reasons.ofResult(tensor, step);
                                        }));
    }
    return handOnShards(builder, op, mesh);
  }

  /// The choice is cached, so that layers and micro-batches choose alike.
  std::optional<ComputePlacement> choose(IndexedOpInterface op,
                                         const Decision *decision) {
    Signature key = signatureOf(op);
    auto add = [&](size_t number) {
      key.push_back(reinterpret_cast<const void *>(number));
    };
    if (decision)
      append(*decision, add);
    auto [known, isNew] = choices.try_emplace(std::move(key));
    if (isNew)
      known->second = chooseAnew(op, decision);
    return known->second;
  }

  /// Appends everything in a decision as numbers.
  template <typename Add>
  static void append(const Decision &decision, Add add) {
    auto addAxes = [&](ArrayRef<AxisId> axes) {
      add(axes.size());
      llvm::for_each(axes, add);
    };
    for (const Drive &drive : decision.drives) {
      add(drive.kind);
      add(drive.index);
    }
    for (const FunctionPlacement::Home &home : decision.results) {
      add(home.isWanted);
      llvm::for_each(home.placement.dims, addAxes);
      addAxes(home.placement.pending);
      add(size_t(home.placement.reduction));
    }
  }

  /// The compute placement that was decided. If it is illegal, because several
  /// axes together do not divide an extent, the best one for the operands'
  /// placements.
  std::optional<ComputePlacement> chooseAnew(IndexedOpInterface op,
                                             const Decision *decision) {
    PlacedStructure placed(op, mesh);
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
    if (!choice) {
      placed.wanted.assign(asTyped.begin(), asTyped.end());
      return chooseComputePlacement(placed.get());
    }
    if (choice->cost.collectives <= axesMoved(placed, *choice))
      return choice;
    auto other = chooseComputePlacement(placed.get());
    return other && other->cost < choice->cost ? other : choice;
  }

  /// The number of axes that move, added over tensors. If axes that divide one
  /// index change their order, more collectives than this are needed.
  unsigned axesMoved(const PlacedStructure &placed,
                     const ComputePlacement &choice) const {
    unsigned count = 0;
    auto add = [&](const Placement &from, const Placement &to) {
      for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
        AxisState before = AxisState::of(from, axis);
        count += mesh.size(axis) > 1 && before != AxisState::whole() &&
                 before != AxisState::of(to, axis);
      }
    };
    for (auto [has, needs] : llvm::zip_equal(placed.operands, choice.operands))
      add(has, needs);
    for (auto [comesOut, wants] :
         llvm::zip_equal(choice.results, placed.wanted))
      if (wants)
        add(comesOut, *wants);
    return count;
  }

  /// The placement to which a result is brought; nullopt if it stays as
  /// computed.
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
    // Axes that each divide an extent may not divide it together.
    bool isThere = true,
         isPossible =
             canBeStored(cast<RankedTensorType>(type).getShape(), home, mesh);
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

  /// If one of several partial factors stays partial, completes the others.
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

  /// Adds operands that are partial over the same axes first, so that they are
  /// reduced once. Operands that already have the placement that `choice` needs
  /// are left. If all operands are partial alike, the pending sum passes
  /// through the operation, and `decision` is changed accordingly.
  LogicalResult sumAlikeFirst(IndexedOpInterface op,
                              const ComputePlacement &choice,
                              Decision &decision) {
    llvm::MapVector<Attribute, SmallVector<Value>> alike;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Value nearest = this->nearest(op, operand, choice.operands[i]);
      IdxAttr idx = getIdx(nearest);
      SmallVector<Attribute> pending(idx.getPending().begin(),
                                     idx.getPending().end());
      alike[builder.getArrayAttr(pending)].push_back(nearest);
    }
    if (alike.size() < 2) {
      Placement all = placementOf(alike.front().second.front().getType(), mesh);
      if (all.reduction == Reduction::Sum)
        for (AxisId axis : all.pending)
          decision.drives[axis] = {Drive::Pending, 0};
      return success();
    }
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
        return failure();
      summands.push_back(partial->getResult(0));
    }
    if (summands.size() < op->getNumOperands())
      op->setOperands(summands);
    return success();
  }

  /// The version of a value from which the transition to a placement costs
  /// least.
  Value nearest(IndexedOpInterface op, Value value, const Placement &to) const {
    Value best = value;
    std::optional<TransitionCost> least;
    auto type = cast<RankedTensorType>(value.getType());
    for (Value version : versions.of(value, op)) {
      Placement from = placementOf(version.getType(), mesh);
      std::optional<Transition> steps =
          planTransition(from, to, type.getShape(), mesh);
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

  /// Returns an operand in the placement that the operation needs.
  template <typename Reason>
  Value bring(IndexedOpInterface op, Value value, const Placement &to,
              Reason reason) {
    Value from = nearest(op, value, to);
    if (placementOf(from.getType(), mesh) == to)
      return from;
    builder.setInsertionPoint(op);
    SmallVector<Value> steps = moveTensor(builder, op, from, to, mesh, reason);
    for (Value step : steps)
      versions.add(value, op, step);
    return steps.back();
  }

  Mesh mesh;
  OpBuilder builder;
  FunctionPlacement decided;
  PlacementWarnings warnings;
  Versions versions;
  std::map<Signature, std::optional<ComputePlacement>> choices;
};

struct InsertCollectives
    : public tpsp::impl::InsertCollectivesBase<InsertCollectives> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [](auto function) {
          return Inserter(function).run(function);
        })))
      signalPassFailure();
  }
};

} // namespace
