#include "SpreadElements.h"

using namespace mlir;
using namespace tpsp;

Place SpreadElements::placeOf(Value memory) {
  if (auto row = memory.getDefiningOp<memref::AllocaOp>())
    return rows.lookup(row);
  Place place;
  place.buffer = map.lookupOrDefault(memory);
  return place;
}

SmallVector<Value> SpreadElements::indices(const Place &place, AffineMap access,
                                           ElementAccess at) {
  SmallVector<Value> all(place.leading);
  for (AffineExpr result : access.getResults())
    all.push_back(at.point[cast<AffineDimExpr>(result).getPosition()]);
  if (place.whole.empty())
    return all;
  // The position, in the thread's memory, of the row's element at `all`.
  Value number = constant(0);
  for (auto [extent, index] : llvm::zip_equal(place.whole, all))
    number = add(multiply(number, extent), index);
  Value round = quotient(number, place.width * shape.threadsPerItem);
  return {add(multiply(round, place.width), remainder(number, place.width))};
}

/// Whether rows consist of whole accesses and begin aligned. A part of a range
/// has no extent here; it begins aligned, and the strides are those of whole
/// rows.
static bool hasWholeAccesses(MemRefType type, ArrayRef<int64_t> strides,
                             int64_t width) {
  int64_t extent = type.getShape().back();
  if (!ShapedType::isDynamic(extent))
    return extent % width == 0;
  return llvm::all_of(strides.drop_back(), [&](int64_t stride) {
    return !ShapedType::isDynamic(stride) && stride % width == 0;
  });
}

/// The alignment of an access to neighbours, if it can be one access. LLVM
/// cannot always see this if addresses are sums of many indices.
static llvm::MaybeAlign alignmentOf(const Place &place, AffineMap access,
                                    ElementAccess at) {
  auto type = cast<MemRefType>(place.buffer.getType());
  auto results = access.getResults();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (at.width == 1 || !place.whole.empty() || results.empty() ||
      cast<AffineDimExpr>(results.back()).getPosition() != at.along ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 || !hasWholeAccesses(type, strides, at.width))
    return {};
  return llvm::Align(uint64_t(at.width * type.getElementTypeBitWidth() / 8));
}

Value SpreadElements::load(OpOperand &operand, AffineMap access,
                           ElementAccess at) {
  Value memory = operand.get();
  if (Value value = known.lookup(memory))
    return value;
  if (!isa<MemRefType>(memory.getType()))
    return map.lookupOrDefault(memory);
  Place place = placeOf(memory);
  return memref::LoadOp::create(
      b, loc, place.buffer, indices(place, access, at),
      /*nontemporal=*/false, alignmentOf(place, access, at));
}

/// Loads come first, so that they can become one wide access and are all in
/// flight at once.
SmallVector<SmallVector<Value>> SpreadElements::load(const ItemLoop &loop,
                                                     const Neighbours &at) {
  linalg::LinalgOp nest = loop.nest;
  SmallVector<SmallVector<Value>> elements(at.points.size());
  for (OpOperand *input : nest.getDpsInputOperands()) {
    bool isRead = nest.payloadUsesValueFromOperand(input);
    AffineMap access = nest.getMatchingIndexingMap(input);
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i].push_back(
          isRead ? load(*input, access, at.at(i))
                 : zeroOf(nest.getMatchingBlockArgument(input).getType()));
  }
  return elements;
}

SmallVector<Value> SpreadElements::compute(const ItemLoop &loop,
                                           const Point &point,
                                           ArrayRef<Value> elements,
                                           ValueRange sums) {
  linalg::LinalgOp nest = loop.nest;
  IRMapping inner = map;
  Block *body = nest.getBlock();
  inner.map(body->getArguments().take_front(elements.size()), elements);
  for (auto [number, sum] : llvm::zip(loop.sums, sums))
    inner.map(nest.getMatchingBlockArgument(nest.getDpsInitOperand(number)),
              sum);
  // Sums of another loop are not used.
  for (BlockArgument argument :
       body->getArguments().drop_front(elements.size()))
    if (!inner.contains(argument))
      inner.map(argument, zeroOf(argument.getType()));
  for (Operation &op : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      inner.map(index.getResult(), point[index.getDim()]);
      continue;
    }
    b.clone(op, inner)->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(point[index.getDim()]);
    });
  }
  return llvm::map_to_vector(
      body->getTerminator()->getOperands(),
      [&](Value value) { return inner.lookupOrDefault(value); });
}

void SpreadElements::store(const ItemLoop &loop, unsigned number, Value value,
                           ElementAccess at) {
  linalg::LinalgOp nest = loop.nest;
  OpOperand *output = nest.getDpsInitOperand(number);
  Place place = placeOf(output->get());
  AffineMap access = nest.getMatchingIndexingMap(output);
  memref::StoreOp::create(b, loc, value, place.buffer,
                          indices(place, access, at), /*nontemporal=*/false,
                          alignmentOf(place, access, at));
}

void SpreadElements::store(const ItemLoop &loop, const Neighbours &at,
                           ArrayRef<SmallVector<Value>> results) {
  for (unsigned number : loop.stored)
    for (size_t i = 0; i < at.points.size(); ++i)
      store(loop, number, results[i][number], at.at(i));
}

SmallVector<Value> SpreadElements::visit(const ItemLoop &loop,
                                         const Neighbours &at,
                                         ValueRange sums) {
  SmallVector<SmallVector<Value>> elements = load(loop, at), results;
  SmallVector<Value> current(sums);
  for (auto [point, values] : llvm::zip(at.points, elements)) {
    results.push_back(compute(loop, point, values, current));
    for (auto [number, sum] : llvm::zip(loop.sums, current))
      sum = results.back()[number];
  }
  store(loop, at, results);
  return current;
}
