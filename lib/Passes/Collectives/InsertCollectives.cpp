// tpsp-insert-collectives: make every operation agree with its compute
// placement.
#include "CollectiveBuilder.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "InsertTogether.h"
#include "Reasons.h"
#include "WaitingSums.h"
#include "tpsp/Dialect/Tpsp/ResultAttrs.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Inserter {
public:
  explicit Inserter(FunctionOpInterface function)
      : mesh(meshOf(function)), builder(function.getContext()), sums(mesh) {}

  LogicalResult run(FunctionOpInterface function) {
    SmallVector<IndexedOpInterface> ops;
    function->walk([&](IndexedOpInterface op) { ops.push_back(op); });
    for (IndexedOpInterface op : ops)
      if (failed(visit(op)))
        return failure();
    // They have served; what is equal but for them is equal.
    function->walk([](IndexedOpInterface op) {
      for (Value result : op->getResults())
        for (StringRef name : {goalAttrName, weightAttrName})
          setResultAttr(result, name, {});
    });
    return success();
  }

private:
  LogicalResult visit(IndexedOpInterface op) {
    if (op.isSumOfOperands() && failed(sumAlikeFirst(op)))
      return failure();
    Placed placed(op, mesh);
    auto choice = chooseComputePlacement(placed.get());
    if (!choice)
      return refuse(op);
    for (OpResult result : op->getResults())
      if (sums.mayWait(result, placed, *choice)) {
        result.setType(
            withoutPlacement(cast<RankedTensorType>(result.getType())));
        return visit(op);
      }
    noteFewerBytes(op, placed, *choice);
    Reasons reasons(op, placed.structure, *choice, mesh);
    for (auto [i, needs] : llvm::enumerate(choice->operands)) {
      builder.setInsertionPoint(op);
      const auto &tensor = placed.structure.operands[i];
      Value moved = move(op, op->getOperand(i), placed.operands[i], needs,
                         [&](const CollectiveStep &step) {
                           return reasons.ofOperand(tensor, step);
                         });
      op->setOperand(i, moved);
    }
    for (auto [i, comesOut] : llvm::enumerate(choice->results)) {
      Value result = op->getResult(i);
      std::optional<Placement> wants = placed.wanted[i];
      result.setType(withPlacement(cast<RankedTensorType>(result.getType()),
                                   comesOut, mesh));
      if (!wants || placed.isDelayed[i] || *wants == comesOut)
        continue;
      builder.setInsertionPointAfter(op);
      const auto &tensor = placed.structure.results[i];
      Value moved =
          move(op, result, comesOut, *wants, [&](const CollectiveStep &step) {
            return reasons.ofResult(tensor, step);
          });
      result.replaceUsesWithIf(moved, [&](OpOperand &use) {
        return !chain.contains(use.getOwner());
      });
    }
    return success();
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
  /// reduced once.
  LogicalResult sumAlikeFirst(IndexedOpInterface op) {
    llvm::MapVector<Attribute, SmallVector<Value>> alike;
    for (Value operand : op->getOperands()) {
      IdxAttr idx = getIdx(operand);
      SmallVector<Attribute> pending(idx.getPending().begin(),
                                     idx.getPending().end());
      alike[builder.getArrayAttr(pending)].push_back(operand);
    }
    if (alike.size() < 2)
      return success();
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
      RankedTensorType sum = typeOfSum(operands, result);
      state.addTypes(sum);
      state.addAttributes(op->getDiscardableAttrDictionary().getValue());
      if (!isUnplaced(result))
        state.addAttribute(
            goalAttrName, TypeAttr::get(tensorOver(indexNames(sum), {result})));
      auto partial = cast<IndexedOpInterface>(builder.create(state));
      if (failed(visit(partial)))
        return failure();
      summands.push_back(partial->getResult(0));
    }
    op->setOperands(summands);
    return success();
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

  template <typename Reason>
  Value move(IndexedOpInterface op, Value value, const Placement &from,
             const Placement &to, Reason reason) {
    if (from == to)
      return value;
    std::string name = tensorName(value);
    chain.clear();
    std::optional<Transition> steps = planTransition(from, to, mesh);
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
      chain.insert(value.getDefiningOp());
      copyPhase(op, value.getDefiningOp());
    }
    return value;
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
  WaitingSums sums;
  /// Collectives of the latest move.
  llvm::SmallPtrSet<Operation *, 4> chain;
};

struct InsertCollectives
    : public tpsp::impl::InsertCollectivesBase<InsertCollectives> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [&](auto function) {
          return together ? insertTogether(function)
                          : Inserter(function).run(function);
        })))
      signalPassFailure();
  }
};

} // namespace
