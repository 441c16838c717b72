// tpsp-compose-step: composes gradients and update into one function.
#include "Passes/Program/FunctionResults.h"

#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_COMPOSESTEP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The cotangent times the loss scale of `update`.
Value scaled(OpBuilder &b, BlockArgument cotangent, func::FuncOp update) {
  Location loc = cotangent.getLoc();
  auto type = typeOf(cotangent);
  if (auto fixed = update->getAttrOfType<FloatAttr>(lossScaleAttrName))
    return ScaleOp::create(b, loc, type, ValueRange{cotangent}, fixed);
  auto number = update->getAttrOfType<IntegerAttr>(lossScaleAttrName);
  Value scale = cotangent.getOwner()->getArgument(number.getInt());
  auto scaleType = typeOf(scale);
  if (scaleType.getElementType() != type.getElementType())
    scale =
        ConvertOp::create(b, loc, withElement(scaleType, type.getElementType()),
                          ValueRange{scale});
  return MulOp::create(b, loc, type, ValueRange{cotangent, scale});
}

/// Multiplies all cotangents by the loss scale; the update divides by it.
void scaleLoss(func::FuncOp step, func::FuncOp update) {
  Block &body = step.getBody().front();
  Operation *first = &body.front();
  OpBuilder b(first);
  for (BlockArgument argument : body.getArguments()) {
    if (!step.getArgAttr(argument.getArgNumber(), cotangentAttrName))
      continue;
    Value product = scaled(b, argument, update);
    // A part of a cotangent is another one in every micro-batch.
    if (step.getArgAttr(argument.getArgNumber(), cutAttrName))
      changeOrigin(product.getDefiningOp(),
                   [](Origin &origin) { origin.part = 0; });
    argument.replaceUsesWithIf(product, [&](OpOperand &use) {
      return !use.getOwner()->isBeforeInBlock(first);
    });
  }
  for (Operation &op : llvm::make_range(body.begin(), first->getIterator()))
    changeOrigin(&op, [](Origin &origin) { origin.phase = Phase::Backward; });
}

/// Notes on values which arguments' gradients they are, as the results'
/// attributes did.
void noteGradients(Builder &b, const llvm::MapVector<int64_t, Value> &values) {
  for (auto [argument, value] : values) {
    if (!value.getDefiningOp())
      continue;
    SmallVector<int64_t> numbers;
    if (auto before = dyn_cast_or_null<DenseI64ArrayAttr>(
            getResultAttr(value, gradientsAttrName)))
      llvm::append_range(numbers, before.asArrayRef());
    numbers.push_back(argument);
    setResultAttr(value, gradientsAttrName, b.getDenseI64ArrayAttr(numbers));
  }
}

/// Appends `update`, which reads the gradients, to `step`.
void compose(func::FuncOp step, func::FuncOp update) {
  if (update->hasAttr(lossScaleAttrName))
    scaleLoss(step, update);
  auto end = cast<func::ReturnOp>(step.getBody().front().getTerminator());
  IRMapping mapping;
  FunctionResults before(step), added(update), results;
  llvm::MapVector<int64_t, Value> gradients;
  for (auto [i, value] : llvm::enumerate(before.values)) {
    auto of = step.getResultAttrOfType<IntegerAttr>(i, gradientAttrName);
    if (of)
      gradients[of.getInt()] = value;
    // The previous chunk waits for the gradient of an argument that it sent.
    if (!of || step.getArgAttr(of.getInt(), receivedAttrName))
      results.add(value, before.attributes[i]);
  }
  for (BlockArgument argument : update.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto of = update.getArgAttrOfType<IntegerAttr>(number, gradientAttrName);
    mapping.map(argument, of ? gradients.lookup(of.getInt())
                             : Value(step.getArgument(number)));
  }
  OpBuilder b(end);
  noteGradients(b, gradients);
  for (Operation &op : update.getBody().front().without_terminator())
    changeOrigin(b.clone(op, mapping),
                 [](Origin &origin) { origin.phase = Phase::Update; });
  for (auto [value, attribute] :
       llvm::zip_equal(added.values, added.attributes))
    results.add(mapping.lookup(value), attribute);
  results.setOf(step);
}

struct ComposeStep : public tpsp::impl::ComposeStepBase<ComposeStep> {
  using Base::Base;
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp update : functions) {
      auto of = update->getAttrOfType<FlatSymbolRefAttr>(updateOfAttrName);
      if (!of)
        continue;
      std::string name = (of.getValue() + "_grad").str();
      if (auto step = getOperation().lookupSymbol<func::FuncOp>(name))
        compose(step, update);
      update.erase();
    }
  }
};

} // namespace
