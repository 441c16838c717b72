// tpsp-bucket-collectives: reduce tensors that only the function's result waits
// for together.
#include "tpsp/Passes/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// What must agree for two reductions to be one: axes, element type, how they
/// combine, and the pass they belong to.
Attribute bucketOf(AllReduceOp op) {
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  IdxAttr idx = getIdx(type);
  Builder builder(op.getContext());
  return builder.getArrayAttr(
      {op.getAxes(), TypeAttr::get(type.getElementType()),
       builder.getBoolAttr(idx.getPendingMax()),
       builder.getBoolAttr(op->hasAttr(backwardAttrName))});
}

std::string joined(MutableArrayRef<AllReduceOp> ops) {
  std::string names;
  for (AllReduceOp op : ops)
    names += (names.empty() ? "" : ", ") + op.getTensor().value_or("?").str();
  return names;
}

void merge(MutableArrayRef<AllReduceOp> ops, Operation *terminator) {
  OpBuilder builder(terminator);
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (AllReduceOp op : ops) {
    llvm::append_range(operands, op.getInputs());
    llvm::append_range(types, op.getResultTypes());
    locs.push_back(op.getLoc());
  }
  auto bucket = AllReduceOp::create(
      builder, FusedLoc::get(builder.getContext(), locs), types, operands,
      ops.front().getAxes(), ops.front().getReasonAttr(),
      builder.getStringAttr(joined(ops)));
  bucket->setDiscardableAttrs(ops.front()->getDiscardableAttrDictionary());
  unsigned next = 0;
  for (AllReduceOp op : ops) {
    op->replaceAllUsesWith(
        bucket.getResults().slice(next, op->getNumResults()));
    next += op->getNumResults();
    op->erase();
  }
}

void fillBuckets(Block &block) {
  Operation *terminator = block.getTerminator();
  llvm::MapVector<Attribute, SmallVector<AllReduceOp>> buckets;
  for (auto op : block.getOps<AllReduceOp>())
    if (llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return user == terminator; }))
      buckets[bucketOf(op)].push_back(op);
  for (auto &[key, ops] : buckets)
    if (ops.size() > 1)
      merge(ops, terminator);
}

struct BucketCollectives
    : public tpsp::impl::BucketCollectivesBase<BucketCollectives> {
  using Base::Base;
  void runOnOperation() override {
    auto visit = [&](FunctionOpInterface function) {
      fillBuckets(function.getFunctionBody().front());
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
