// External models of operations on integers that are algorithms on rows.
#include "KernelModels.h"
#include "RowLoops.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace tpsp;

using Start = llvm::function_ref<Value(StringRef)>;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

namespace {

/// Emits an item of a one-hot einsum: a block of sums along the innermost
/// index.
class OneHotRow {
public:
  OneHotRow(OpBuilder &b, OneHotEinsumOp op, ValueRange operands, Value result,
            Start start, Value sums)
      : op(op), row(b, cast<RowKernelOpInterface>(*op)), memory(operands),
        result(result), start(start), sums(sums) {}

  void emit() {
    forBlock([&](Value element) {
      Type type = elementTypeOf(sums);
      Value zero =
          arith::ConstantOp::create(row.b, row.loc, row.b.getZeroAttr(type));
      memref::StoreOp::create(row.b, row.loc, zero, sums, element);
    });
    if (!op.targets().empty())
      walkList();
    else
      addAllTerms();
    forBlock([&](Value element) {
      Value sum = memref::LoadOp::create(row.b, row.loc, sums, element);
      row.storeNarrow(sum, op.getResult().getType(), result);
    });
  }

private:
  /// Emits `body` for every element of the block.
  void forBlock(llvm::function_ref<void(Value element)> body) {
    row.forEach(op.getResult().getType(), result, op.innermost(), body);
  }

  /// Visits every term, in order.
  void addAllTerms() {
    OpBuilder::InsertionGuard guard(row.b);
    for (StringRef name : op.terms())
      for (auto [tensor, part] : llvm::zip(op->getOperands(), memory))
        if (getIdx(tensor).dimOf(name) && !row.at.contains(name))
          row.loop(name, row.extent(tensor.getType(), part, name));
    addTerm();
  }

  /// Visits the terms in this item's list.
  void walkList() {
    SmallVector<RankedTensorType> types =
        cast<BucketKernelOpInterface>(*op).getBucketTypes();
    Value heads = memory.drop_back().back(), links = memory.back();
    Value head = row.load(types[0], heads);
    auto loop = scf::WhileOp::create(
        row.b, row.loc, TypeRange(head.getType()), ValueRange(head),
        [&](OpBuilder &b, Location loc, ValueRange term) {
          Value isTerm = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::sge, term[0], row.i32(0));
          scf::ConditionOp::create(b, loc, isTerm, term);
        },
        [&](OpBuilder &b, Location loc, ValueRange term) {
          row.locate(row.asIndex(term[0]), op.terms(),
                     cast<MemRefType>(links.getType()).getShape());
          addTerm();
          scf::YieldOp::create(b, loc, row.load(types[1], links));
        });
    double lists = double(types[0].getNumElements()),
           terms = double(types[1].getNumElements());
    loop->setAttr(tripsAttrName, row.b.getF64FloatAttr(terms / lists));
  }

  /// Adds the elements that the current term selects, if this rank has them.
  void addTerm() {
    OpBuilder::InsertionGuard guard(row.b);
    SmallVector<StringRef> targets = op.targets();
    Value everywhere;
    for (auto [name, ids, part] :
         llvm::zip(op.selected(), op->getOperands(), memory)) {
      if (llvm::is_contained(targets, name))
        continue;
      Value id = row.asIndex(row.load(ids.getType(), part));
      row.at[name] = row.subtract(id, start(name));
      Value extent = extentLookedUp(name);
      everywhere = row.both(everywhere, row.isBelow(row.at[name], extent));
    }
    row.onlyIf(everywhere);
    forBlock([&](Value element) {
      Value sum = memref::LoadOp::create(row.b, row.loc, sums, element);
      sum = tpsp::addTerm(row.b, row.loc, sum, product());
      memref::StoreOp::create(row.b, row.loc, sum, sums, element);
    });
  }

  /// The number of positions along `name` that this rank has.
  Value extentLookedUp(StringRef name) {
    Value x = op.carrier(name);
    for (auto [tensor, part] : llvm::zip(op->getOperands(), memory))
      if (tensor == x)
        return row.extent(tensor.getType(), part, name);
    llvm_unreachable("it is verified that a number carries it");
  }

  /// The product of the numbers at the current position.
  Value product() {
    Value all;
    for (unsigned i = op.getIndices().size(); i < op->getNumOperands(); ++i) {
      Value x = row.loadWide(op->getOperand(i).getType(), memory[i]);
      all = all ? multiplyTerm(row.b, row.loc, all, x) : x;
    }
    return all;
  }

  OneHotEinsumOp op;
  RowLoops row;
  ValueRange memory;
  Value result;
  Start start;
  Value sums;
};

struct OneHotRows
    : RowKernelOpInterface::ExternalModel<OneHotRows, OneHotEinsumOp> {
  bool runsByRow(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      return llvm::any_of(indexNames(operand.getType()), [&](StringRef name) {
        return !getIdx(op.getResult()).dimOf(name);
      });
    });
  }
  StringRef getBlockIndex(Operation *self) const {
    return cast<OneHotEinsumOp>(self).innermost();
  }
  SmallVector<StringRef> getRowIndices(Operation *self) const {
    auto op = cast<OneHotEinsumOp>(self);
    SmallVector<StringRef> row, written = op.targets();
    for (StringRef name : op.selected())
      if (!llvm::is_contained(written, name))
        row.push_back(name);
    if (StringRef name = op.innermost(); !name.empty())
      row.push_back(name);
    return row;
  }
  MemRefType getScratch(Operation *self, int64_t block) const {
    Type result = self->getResult(0).getType();
    return MemRefType::get({block}, RowLoops::sumType(result));
  }
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start start, Value scratch) const {
    OpBuilder::InsertionGuard guard(b);
    OneHotRow(b, cast<OneHotEinsumOp>(self), operands, result, start, scratch)
        .emit();
  }
};

/// Model of operations whose row consists of the indices that they need whole.
template <typename Model, typename Op>
struct WholeRows : RowKernelOpInterface::ExternalModel<Model, Op> {
  SmallVector<StringRef> getRowIndices(Operation *self) const {
    return cast<Op>(self).getWholeIndices();
  }
};

struct RouterRows : WholeRows<RouterRows, RouterOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<RouterOp>(self);
    // For each choice: the largest value that no earlier choice has taken.
    OpBuilder::InsertionGuard guard(b);
    RowLoops row(b, cast<RowKernelOpInterface>(op.getOperation()));
    Location loc = op.getLoc();
    Value memory = operands[0];
    row.loop(op.getChoice(),
             row.extent(op.getResult().getType(), result, op.getChoice()));
    Value choice = row.at[op.getChoice()];
    Value none = row.i32(-1);
    Value experts =
        row.extent(op.getOperand(0).getType(), memory, op.getExpert());
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(elementTypeOf(memory)));
    auto isFree = [&](Value id) {
      Value yes = arith::ConstantIntOp::create(b, loc, b.getI1Type(), 1);
      auto differs = [&](Value earlier, ValueRange free) -> RowLoops::Values {
        Value other =
            memref::LoadOp::create(b, loc, result, ValueRange{earlier});
        return {row.both(free[0],
                         arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                               other, id))};
      };
      return row.carry(row.constant(0), choice, yes, differs).front();
    };
    auto better = [&](Value expert, ValueRange best) -> RowLoops::Values {
      Value id = row.asI32(expert), free = isFree(id);
      Value score = memref::LoadOp::create(b, loc, memory, ValueRange{expert});
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            best[0], none);
      Value isLarger = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                             score, best[1]);
      Value isBetter =
          row.both(arith::OrIOp::create(b, loc, isFirst, isLarger), free);
      return {arith::SelectOp::create(b, loc, isBetter, id, best[0]),
              arith::SelectOp::create(b, loc, isBetter, score, best[1])};
    };
    Value best =
        row.carry(row.constant(0), experts, {none, zero}, better).front();
    memref::StoreOp::create(b, loc, best, result, ValueRange{choice});
  }
};

struct RunsRows : WholeRows<RunsRows, RunsOp> {
  void emitRow(Operation *self, OpBuilder &b, ValueRange operands, Value result,
               Start, Value) const {
    auto op = cast<RunsOp>(self);
    OpBuilder::InsertionGuard guard(b);
    RowLoops row(b, cast<RowKernelOpInterface>(op.getOperation()));
    Location loc = op.getLoc();
    Value positions =
        row.extent(op.getOperand(0).getType(), operands[0], op.getOf());
    Value places = row.extent(op.getResult().getType(), result, op.getAlong());
    auto fill = [&](Value first, Value last, Value with) {
      OpBuilder::InsertionGuard inLoop(b);
      Value at = row.loop(first, last);
      memref::StoreOp::create(b, loc, with, result, ValueRange{at});
    };
    Value none = row.constant(0), nothing = row.i32(-1);
    auto addRun = [&](Value position, ValueRange done) -> RowLoops::Values {
      Value count = row.asIndex(
          memref::LoadOp::create(b, loc, operands[0], ValueRange{position}));
      count = arith::MaxSIOp::create(b, loc, count, none);
      Value end =
          arith::MinSIOp::create(b, loc, row.add(done[0], count), places);
      fill(done[0], end, row.asI32(position));
      return {end};
    };
    fill(row.carry(none, positions, none, addRun).front(), places, nothing);
  }
};

} // namespace

void tpsp::attachIntegerRows(MLIRContext &context) {
  OneHotEinsumOp::attachInterface<OneHotRows>(context);
  RouterOp::attachInterface<RouterRows>(context);
  RunsOp::attachInterface<RunsRows>(context);
}
