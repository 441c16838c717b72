#include "Optimizer.h"

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

Type UpdateBuilder::typeOver(ArrayRef<Value> operands) {
  return withoutPlacement(
      typeOf(*llvm::max_element(operands, [](Value a, Value b) {
        return typeOf(a).getRank() < typeOf(b).getRank();
      })));
}

Value UpdateBuilder::select(Value condition, Value x, Value y) {
  Type element = typeOf(x).getElementType();
  // Among operands with equal indices, the result gets the type of the last.
  return SelectOp::create(b, loc, typeOver({x, y}),
                          ValueRange{convert(condition, element), x, y});
}

Value UpdateBuilder::convert(Value x, Type element) {
  auto type = withoutPlacement(typeOf(x));
  if (type.getElementType() == element)
    return x;
  return ConvertOp::create(b, loc, type.clone(element), ValueRange{x});
}

Value UpdateBuilder::average(Value x, Value y, double factor) {
  return add(scale(x, factor), scale(y, 1 - factor));
}

static RankedTensorType typeWith(ArrayRef<StringRef> names,
                                 ArrayRef<Value> operands) {
  return withoutPlacement(
      tensorOver(names, llvm::map_to_vector(operands, typeOf)));
}

Value UpdateBuilder::sum(Value x, ArrayRef<StringRef> names) {
  return ReduceOp::create(b, loc, typeWith(names, {x}), ValueRange{x}, "sum");
}

Value UpdateBuilder::einsum(Value x, Value y, ArrayRef<StringRef> names) {
  return EinsumOp::create(b, loc, typeWith(names, {x, y}), ValueRange{x, y});
}

Value UpdateBuilder::rename(Value x, ArrayRef<StringRef> from,
                            ArrayRef<StringRef> to) {
  auto type = typeOf(x);
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

StringRef tpsp::nameOf(const Optimizer &optimizer) {
#define OPTIMIZER(row, function)                                               \
  if (&optimizer == &function())                                               \
    return row;
#include "tpsp/Abi/Optimizers.def"
#undef OPTIMIZER
  return "";
}
