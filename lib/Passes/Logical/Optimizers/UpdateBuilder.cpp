#include "Optimizer.h"

#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

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
Value UpdateBuilder::max(Value x, Value y) {
  return create<MaxOp>(*this, {x, y});
}
Value UpdateBuilder::compare(Value x, Value y, StringRef is) {
  return create<CompareOp>(*this, {x, y}, b.getStringAttr(is));
}
Value UpdateBuilder::select(Value condition, Value x, Value y) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  // Last of operands alike, of which the result has its type.
  return SelectOp::create(b, loc, typeOf({x, y}),
                          ValueRange{convert(condition, element), x, y});
}

Value UpdateBuilder::convert(Value x, Type element) {
  auto type = withoutPlacement(cast<RankedTensorType>(x.getType()));
  if (type.getElementType() == element)
    return x;
  return ConvertOp::create(b, loc, type.clone(element), ValueRange{x});
}

Value UpdateBuilder::average(Value x, Value y, double factor) {
  return add(scale(x, factor), scale(y, 1 - factor));
}

static RankedTensorType typeOver(ArrayRef<StringRef> names,
                                 ArrayRef<Value> operands) {
  auto types = llvm::map_to_vector(operands, [](Value operand) {
    return cast<RankedTensorType>(operand.getType());
  });
  return withoutPlacement(tensorOver(names, types));
}

Value UpdateBuilder::sum(Value x, ArrayRef<StringRef> names) {
  return ReduceOp::create(b, loc, typeOver(names, {x}), ValueRange{x}, "sum");
}

Value UpdateBuilder::einsum(Value x, Value y, ArrayRef<StringRef> names) {
  return EinsumOp::create(b, loc, typeOver(names, {x, y}), ValueRange{x, y});
}

Value UpdateBuilder::rename(Value x, ArrayRef<StringRef> from,
                            ArrayRef<StringRef> to) {
  auto type = cast<RankedTensorType>(x.getType());
  auto names = llvm::map_to_vector(indexNames(type), [&](StringRef name) {
    const auto *at = llvm::find(from, name);
    return b.getStringAttr(at == from.end() ? name : to[at - from.begin()]);
  });
  auto renamed = RankedTensorType::get(type.getShape(), type.getElementType(),
                                       IdxAttr::get(b.getContext(), names));
  return RenameOp::create(b, loc, withoutPlacement(renamed), ValueRange{x});
}

const OptimizerSetting *Optimizer::find(StringRef name) const {
  const auto *own = llvm::find_if(settings, [&](const OptimizerSetting &each) {
    return each.name == name;
  });
  if (own != settings.end())
    return own;
  return otherwise ? otherwise().find(name) : nullptr;
}

const Optimizer *tpsp::findOptimizer(StringRef name) {
#define OPTIMIZER(row, function)                                               \
  if (name == row)                                                             \
    return &function();
#include "tpsp/Abi/Optimizers.def"
#undef OPTIMIZER
  return nullptr;
}
