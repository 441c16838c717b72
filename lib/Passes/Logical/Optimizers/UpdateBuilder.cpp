#include "Optimizer.h"

#include "tpsp/Dialect/Tpsp/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

using namespace mlir;
using namespace tpsp;

/// Unplaced, and with the indices of the operand that has most.
static Type typeOf(ArrayRef<Value> operands) {
  RankedTensorType widest;
  for (Value operand : operands) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!widest || type.getRank() > widest.getRank())
      widest = type;
  }
  return withoutPlacement(widest);
}

template <typename Op, typename... Attributes>
static Value create(UpdateBuilder &b, ArrayRef<Value> operands,
                    Attributes... attributes) {
  return Op::create(b.b, b.loc, typeOf(operands), ValueRange(operands),
                    attributes...);
}

Value UpdateBuilder::add(Value x, Value y) {
  return create<AddOp>(*this, {x, y});
}
Value UpdateBuilder::sub(Value x, Value y) {
  return create<SubOp>(*this, {x, y});
}
Value UpdateBuilder::mul(Value x, Value y) {
  return create<MulOp>(*this, {x, y});
}
Value UpdateBuilder::div(Value x, Value y) {
  return create<DivOp>(*this, {x, y});
}
Value UpdateBuilder::scale(Value x, double factor) {
  return create<ScaleOp>(*this, {x}, b.getF64FloatAttr(factor));
}
Value UpdateBuilder::shift(Value x, double by) {
  return create<ShiftOp>(*this, {x}, b.getF64FloatAttr(by));
}
Value UpdateBuilder::square(Value x) { return create<SquareOp>(*this, {x}); }
Value UpdateBuilder::sqrt(Value x) { return create<SqrtOp>(*this, {x}); }
Value UpdateBuilder::exp(Value x) { return create<ExpOp>(*this, {x}); }
Value UpdateBuilder::tanh(Value x) { return create<TanhOp>(*this, {x}); }
Value UpdateBuilder::relu(Value x) { return create<ReluOp>(*this, {x}); }
Value UpdateBuilder::rsqrt(Value x) { return create<RsqrtOp>(*this, {x}); }

Value UpdateBuilder::convert(Value x, Type element) {
  auto type = withoutPlacement(cast<RankedTensorType>(x.getType()));
  if (type.getElementType() == element)
    return x;
  return ConvertOp::create(b, loc, type.clone(element), ValueRange{x});
}

Value UpdateBuilder::average(Value x, Value y, double factor) {
  return add(scale(x, factor), scale(y, 1 - factor));
}

const Optimizer *tpsp::findOptimizer(StringRef name) {
#define OPTIMIZER(row, function)                                               \
  if (name == row)                                                             \
    return &function();
#include "tpsp/Abi/Optimizers.def"
#undef OPTIMIZER
  return nullptr;
}
