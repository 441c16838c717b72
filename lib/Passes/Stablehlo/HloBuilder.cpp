#include "HloBuilder.h"

#include "HloDialects.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

void Space::add(StringAttr name, int64_t extent) {
  names.push_back(name);
  extents.push_back(extent);
}

void Space::addAll(const NamedTensor &x) {
  for (StringAttr name : x.names)
    if (!llvm::is_contained(names, name))
      add(name, x.extent(name));
}

Value HloBuilder::make(StringRef name, Type type, ValueRange operands,
                       ArrayRef<NamedAttribute> attributes) {
  OperationState state(loc, name, operands, type, attributes);
  return b.create(state)->getResult(0);
}

Value HloBuilder::splat(RankedTensorType type, TypedAttr value) {
  return make("stablehlo.constant", type, {},
              named("value", DenseElementsAttr::get(type, Attribute(value))));
}

Value HloBuilder::splat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return splat(type, b.getFloatAttr(element, value));
  return splat(type, b.getIntegerAttr(element, static_cast<int64_t>(value)));
}

Value HloBuilder::iota(RankedTensorType type, unsigned dim) {
  return make("stablehlo.iota", type, {},
              named("iota_dimension", b.getI64IntegerAttr(dim)));
}

Value HloBuilder::convert(Value x, Type element) {
  auto type = typeOf(x);
  if (type.getElementType() == element)
    return x;
  return make("stablehlo.convert", type.clone(element), x);
}

NamedTensor HloBuilder::convert(NamedTensor x, Type element) {
  x.value = convert(x.value, element);
  return x;
}

Value HloBuilder::bitcast(Value x, Type element) {
  auto type = typeOf(x);
  if (type.getElementType() == element)
    return x;
  return make("stablehlo.bitcast_convert", type.clone(element), x);
}

Value HloBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  auto type = typeOf(x);
  if (type.getShape() == shape)
    return x;
  return make("stablehlo.reshape", type.clone(shape), x);
}

Value HloBuilder::compare(StringRef direction, Value x, Value y) {
  auto type = typeOf(x);
  Attribute is = foreignAttr<StablehloDialect>(
      b.getContext(), "comparison_direction " + direction);
  return make("stablehlo.compare", type.clone(b.getI1Type()), {x, y},
              named("comparison_direction", is));
}

Value HloBuilder::select(Value condition, Value x, Value y) {
  return make("stablehlo.select", x.getType(), {condition, x, y});
}

Value HloBuilder::spread(const NamedTensor &x, const Space &space) {
  if (Names(x.names) == Names(space.names))
    return x.value;
  auto dims = llvm::map_to_vector(x.names, [&](StringAttr name) {
    return static_cast<int64_t>(space.dimOf(name));
  });
  return make("stablehlo.broadcast_in_dim", space.of(x.element()), x.value,
              named("broadcast_dimensions", b.getDenseI64ArrayAttr(dims)));
}

NamedTensor HloBuilder::ordered(NamedTensor x, Names names) {
  if (Names(x.names) == names)
    return x;
  SmallVector<int64_t> order, shape;
  for (StringAttr name : names) {
    order.push_back(x.dimOf(name));
    shape.push_back(x.extent(name));
  }
  x.value = make("stablehlo.transpose", x.type().clone(shape), x.value,
                 named("permutation", b.getDenseI64ArrayAttr(order)));
  x.names.assign(names.begin(), names.end());
  return x;
}

/// The neutral element of a reduction.
static TypedAttr neutral(OpBuilder &b, Type element, Reduction by) {
  if (by == Reduction::Sum)
    return b.getZeroAttr(element);
  return b.getFloatAttr(element, -std::numeric_limits<double>::infinity());
}

NamedTensor HloBuilder::reduce(const NamedTensor &x, Names kept, Reduction by) {
  Space rest;
  SmallVector<int64_t> dims;
  for (auto [dim, name] : llvm::enumerate(x.names))
    if (llvm::is_contained(kept, name))
      rest.add(name, x.extent(name));
    else
      dims.push_back(dim);
  if (dims.empty())
    return x;
  auto number = RankedTensorType::get({}, x.element());
  Value first = splat(number, neutral(b, x.element(), by));
  OperationState state(loc, "stablehlo.reduce", {x.value, first},
                       rest.of(x.element()),
                       named("dimensions", b.getDenseI64ArrayAttr(dims)));
  return {makeCombining(state, by), rest.names};
}

Value HloBuilder::makeCombining(OperationState &state, Reduction by) {
  auto type = cast<RankedTensorType>(state.types.front());
  auto number = RankedTensorType::get({}, type.getElementType());
  Block &body = state.addRegion()->emplaceBlock();
  body.addArguments({number, number}, {loc, loc});
  Operation *op = b.create(state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  Value both = map(by == Reduction::Sum ? "stablehlo.add" : "stablehlo.maximum",
                   body.getArguments());
  b.create(OperationState(loc, "stablehlo.return", both, TypeRange()));
  return op->getResult(0);
}

Value HloBuilder::slice(Value x, unsigned dim, int64_t from, int64_t count) {
  auto type = typeOf(x);
  SmallVector<int64_t> start(type.getRank(), 0), limit(type.getShape()),
      stride(type.getRank(), 1), shape(type.getShape());
  start[dim] = from;
  limit[dim] = from + count;
  shape[dim] = count;
  return make("stablehlo.slice", type.clone(shape), x,
              {named("start_indices", b.getDenseI64ArrayAttr(start)),
               named("limit_indices", b.getDenseI64ArrayAttr(limit)),
               named("strides", b.getDenseI64ArrayAttr(stride))});
}

Value HloBuilder::pad(Value x, unsigned dim, int64_t low, int64_t high,
                      double value) {
  auto type = typeOf(x);
  SmallVector<int64_t> before(type.getRank(), 0), behind(before),
      between(before), shape(type.getShape());
  before[dim] = low;
  behind[dim] = high;
  shape[dim] += low + high;
  Value fill = splat(RankedTensorType::get({}, type.getElementType()), value);
  return make("stablehlo.pad", type.clone(shape), {x, fill},
              {named("edge_padding_low", b.getDenseI64ArrayAttr(before)),
               named("edge_padding_high", b.getDenseI64ArrayAttr(behind)),
               named("interior_padding", b.getDenseI64ArrayAttr(between))});
}

Value HloBuilder::concatenate(ValueRange parts, unsigned dim) {
  auto type = typeOf(parts.front());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += typeOf(part).getDimSize(dim);
  return make("stablehlo.concatenate", type.clone(shape), parts,
              named("dimension", b.getI64IntegerAttr(dim)));
}

Type HloBuilder::wide(Type element) {
  return isa<FloatType>(element) && !element.isF64() ? b.getF32Type() : element;
}
