// Forms of look-ups and routing.
#include "Forms.h"
#include "HloDialects.h"

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

//===----------------------------------------------------------------------===//
// one_hot_einsum
//===----------------------------------------------------------------------===//

/// 1 where every integer is the position along its index, else 0, of `element`.
static NamedTensor oneHot(HloBuilder &h, OneHotEinsumOp op,
                          ArrayRef<NamedTensor> ids, Type element) {
  Space space;
  for (const NamedTensor &each : ids)
    space.addAll(each);
  unsigned first = space.names.size();
  for (auto [i, name] :
       llvm::enumerate(op.getIndices().getAsRange<StringAttr>()))
    space.add(name, op.getIntegerBound(i));
  Value all;
  for (auto [i, each] : llvm::enumerate(ids)) {
    Value at = h.iota(space.of(each.element()), first + i);
    Value here = h.compare("EQ", h.spread(each, space), at);
    all = all ? h.map("stablehlo.and", {all, here}) : here;
  }
  return {h.convert(all, element), space.names};
}

/// x at the positions of `ids` along `index`, and 0 for an integer that is not
/// a position. The result has the names of `ids`, then the other names of x.
static NamedTensor gather(HloBuilder &h, const NamedTensor &ids,
                          const NamedTensor &x, StringAttr index) {
  unsigned dim = x.dimOf(index), depth = ids.names.size();
  Space space;
  space.addAll(ids);
  SmallVector<int64_t> sizes(x.type().getShape());
  sizes[dim] = 1;
  SmallVector<int64_t> offsets;
  for (auto [name, extent] : llvm::zip_equal(x.names, x.type().getShape()))
    if (name != index) {
      offsets.push_back(space.names.size());
      space.add(name, extent);
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "gather<offset_dims = [";
  llvm::interleaveComma(offsets, os);
  os << "], collapsed_slice_dims = [" << dim << "], start_index_map = [" << dim
     << "], index_vector_dim = " << depth << ">";
  Value rows =
      h.make("stablehlo.gather", space.of(x.element()), {x.value, ids.value},
             {h.named("dimension_numbers",
                      foreignAttr<StablehloDialect>(h.b.getContext(), text)),
              h.named("slice_sizes", h.b.getDenseI64ArrayAttr(sizes)),
              h.named("indices_are_sorted", h.b.getBoolAttr(false))});
  // Positions beyond the ends are clamped to them.
  auto limit = [&](double value) { return h.splat(ids.type(), value); };
  Value isThere =
      h.map("stablehlo.and",
            {h.compare("GE", ids.value, limit(0)),
             h.compare("LT", ids.value, limit(double(x.extent(index))))});
  Value none = h.splat(space.of(x.element()), 0);
  return {h.select(h.spread({isThere, ids.names}, space), rows, none),
          space.names};
}

/// Sums x into the positions along `index` that `ids` give; other positions are
/// 0. The result has `index`, then the names of x that `ids` lack.
static NamedTensor scatter(HloBuilder &h, const NamedTensor &ids, NamedTensor x,
                           StringAttr index, int64_t extent) {
  unsigned depth = ids.names.size();
  Space space;
  space.add(index, extent);
  SmallVector<StringAttr> order = ids.names;
  SmallVector<int64_t> windows;
  for (StringAttr name : x.names)
    if (!ids.has(name)) {
      windows.push_back(order.size());
      order.push_back(name);
      space.add(name, x.extent(name));
    }
  x = h.ordered(h.convert(x, h.wide(x.element())), order);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "scatter<update_window_dims = [";
  llvm::interleaveComma(windows, os);
  os << "], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = "
     << depth << ">";
  Value none = h.splat(space.of(x.element()), 0);
  OperationState state(
      h.loc, "stablehlo.scatter", {none, ids.value, x.value}, none.getType(),
      {h.named("scatter_dimension_numbers",
               foreignAttr<StablehloDialect>(h.b.getContext(), text)),
       h.named("indices_are_sorted", h.b.getBoolAttr(false)),
       h.named("unique_indices", h.b.getBoolAttr(false))});
  return {h.makeCombining(state, Reduction::Sum), space.names};
}

/// The product of several tensors with the one-hot tensors of `ids`. Each is
/// multiplied in turn, and summed over names that no later tensor has. Matrices
/// come last: rows are moved to their matrix, and no matrix is copied to rows.
static NamedTensor chosenProduct(HloBuilder &h, OneHotEinsumOp op,
                                 ArrayRef<NamedTensor> ids,
                                 ArrayRef<NamedTensor> numbers) {
  NamedTensor all = oneHot(h, op, ids, numbers.front().element());
  SmallVector<NamedTensor> order(numbers);
  std::stable_partition(order.begin(), order.end(), [&](const NamedTensor &x) {
    return llvm::none_of(op.getIndices().getAsRange<StringAttr>(),
                         [&](StringAttr name) { return x.has(name); });
  });
  for (auto [i, x] : llvm::enumerate(order)) {
    SmallVector<StringAttr> kept(getIdx(op.getResult()).getNames());
    for (const NamedTensor &later : ArrayRef(order).drop_front(i + 1))
      llvm::append_range(kept, later.names);
    all = product(h, all, x, kept);
  }
  return all;
}

/// If all positions take rows of a table, rows are gathered from it, and its
/// gradient is scattered. Otherwise it is a product with the one-hot tensors.
FailureOr<NamedTensor> hlo::lookUp(HloBuilder &h, Operation *op,
                                   ArrayRef<NamedTensor> operands) {
  auto self = cast<OneHotEinsumOp>(op);
  unsigned count = self.getIndices().size();
  ArrayRef<NamedTensor> ids = operands.take_front(count);
  if (operands.size() > count + 1)
    return chosenProduct(h, self, ids, operands.drop_front(count));
  const NamedTensor &x = operands.back();
  Names result = getIdx(self.getResult()).getNames();
  auto index = cast<StringAttr>(self.getIndices()[0]);
  auto isOfX = [&](StringAttr name) { return x.has(name); };
  auto isOfResult = [&](StringAttr name) {
    return llvm::is_contained(result, name);
  };
  // The result has no more points than x.
  bool isInside =
      llvm::all_of(self.getIndices().getAsRange<StringAttr>(), isOfX) &&
      llvm::all_of(ids, [&](const NamedTensor &each) {
        return llvm::all_of(each.names, isOfX);
      });
  if (isInside)
    return emitLoop(h, cast<LoopOpInterface>(op), operands);
  bool isOne = ids.size() == 1;
  if (isOne && x.has(index) && llvm::none_of(ids[0].names, isOfX)) {
    NamedTensor rows = gather(h, ids[0], x, index);
    return h.reduce(h.convert(rows, h.wide(rows.element())), result,
                    Reduction::Sum);
  }
  if (isOne && !x.has(index) && llvm::all_of(ids[0].names, isOfX) &&
      llvm::none_of(ids[0].names, isOfResult)) {
    NamedTensor sums = scatter(h, ids[0], x, index, self.getIntegerBound(0));
    return h.reduce(sums, result, Reduction::Sum);
  }
  return product(h, oneHot(h, self, ids, x.element()), x, result);
}

//===----------------------------------------------------------------------===//
// router
//===----------------------------------------------------------------------===//

/// Positions along `dim`, sorted by decreasing number; equal numbers stay in
/// order.
static Value sortedPositions(HloBuilder &h, Value x, unsigned dim) {
  auto type = typeOf(x);
  RankedTensorType integers = type.clone(h.b.getI32Type());
  Value positions = h.iota(integers, dim);
  OperationState state(h.loc, "stablehlo.sort", {x, positions},
                       {type, integers},
                       {h.named("dimension", h.b.getI64IntegerAttr(dim)),
                        h.named("is_stable", h.b.getBoolAttr(true))});
  Block &body = state.addRegion()->emplaceBlock();
  for (Type element : {type.getElementType(), integers.getElementType()})
    for (int side = 0; side < 2; ++side)
      body.addArgument(RankedTensorType::get({}, element), h.loc);
  Operation *op = h.b.create(state);
  OpBuilder::InsertionGuard guard(h.b);
  h.b.setInsertionPointToStart(&body);
  Value isFirst = h.compare("GT", body.getArgument(0), body.getArgument(1));
  h.b.create(OperationState(h.loc, "stablehlo.return", isFirst, TypeRange()));
  return op->getResult(1);
}

FailureOr<NamedTensor> hlo::choose(HloBuilder &h, Operation *op,
                                   ArrayRef<NamedTensor> operands) {
  auto self = cast<RouterOp>(op);
  NamedTensor x = operands.front();
  unsigned dim = x.dimOf(self.getExpertAttr());
  Names result = getIdx(self.getResult()).getNames();
  int64_t choices = self.getResult().getType().getDimSize(
      llvm::find(result, self.getChoiceAttr()) - result.begin());
  x.value = h.slice(sortedPositions(h, x.value, dim), dim, 0, choices);
  x.names[dim] = self.getChoiceAttr();
  return x;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// The extent of `name` on the result of `op`, or on an operand.
static int64_t extentIn(Operation *op, StringAttr name) {
  for (ValueRange values :
       {ValueRange(op->getResults()), ValueRange(op->getOperands())})
    for (Value value : values)
      if (std::optional<unsigned> dim = getIdx(value).dimOf(name))
        return typeOf(value).getDimSize(*dim);
  return 1;
}

/// The sum of x over the positions along `index` before `end`, for every end
/// from 0 on, or from 1 on with `isClosed`. The ends have the name `index`.
static NamedTensor sumBefore(HloBuilder &h, const NamedTensor &x,
                             StringAttr index, bool isClosed) {
  StringAttr upTo = h.b.getStringAttr("<up to>");
  Space pairs;
  pairs.addAll(x);
  pairs.add(upTo, x.extent(index));
  RankedTensorType type = pairs.of(x.element());
  Value isBefore =
      h.compare(isClosed ? "LE" : "LT", h.iota(type, x.dimOf(index)),
                h.iota(type, pairs.dimOf(upTo)));
  Value parts = h.select(isBefore, h.spread(x, pairs), h.splat(type, 0));
  SmallVector<StringAttr> kept;
  llvm::copy_if(pairs.names, std::back_inserter(kept),
                [&](StringAttr name) { return name != index; });
  NamedTensor sums = h.reduce({parts, pairs.names}, kept, Reduction::Sum);
  sums.names[sums.dimOf(upTo)] = index;
  return sums;
}

/// `x` with the indices `of` merged into one, the innermost.
static NamedTensor merged(HloBuilder &h, NamedTensor x, Names of,
                          StringAttr name) {
  SmallVector<StringAttr> order;
  llvm::copy_if(x.names, std::back_inserter(order),
                [&](StringAttr each) { return !llvm::is_contained(of, each); });
  Space flat;
  int64_t extent = 1;
  for (StringAttr each : order)
    flat.add(each, x.extent(each));
  for (StringAttr each : of)
    extent *= x.extent(each);
  flat.add(name, extent);
  llvm::append_range(order, of);
  return {h.reshape(h.ordered(x, order).value, flat.extents), flat.names};
}

/// For every integer, whether it equals each position along the new index
/// `value`.
static NamedTensor isEach(HloBuilder &h, const NamedTensor &ids,
                          StringAttr value, int64_t extent) {
  Space space;
  space.addAll(ids);
  space.add(value, extent);
  Value at = h.iota(space.of(ids.element()), space.dimOf(value));
  return {h.compare("EQ", h.spread(ids, space), at), space.names};
}

FailureOr<NamedTensor> hlo::countValues(HloBuilder &h, Operation *op,
                                        ArrayRef<NamedTensor> operands) {
  auto self = cast<CountValuesOp>(op);
  SmallVector<StringAttr> of(self.getOf().getAsRange<StringAttr>());
  StringAttr value = h.b.getStringAttr("<value>");
  NamedTensor is = isEach(h, operands.front(), value, self.getIntegerBound(0));
  Space kept;
  for (StringAttr name : operands.front().names)
    if (!llvm::is_contained(self.getOver().getAsRange<StringAttr>(), name))
      kept.add(name, operands.front().extent(name));
  SmallVector<StringAttr> names(kept.names);
  names.push_back(value);
  NamedTensor counts =
      h.reduce(h.convert(is, h.b.getI32Type()), names, Reduction::Sum);
  for (StringAttr name : of)
    kept.add(name, extentIn(op, name));
  return NamedTensor{h.reshape(counts.value, kept.extents), kept.names};
}

/// The integer at a position is the number of runs that have ended before it.
FailureOr<NamedTensor> hlo::runs(HloBuilder &h, Operation *op,
                                 ArrayRef<NamedTensor> operands) {
  auto self = cast<RunsOp>(op);
  StringAttr of = self.getOfAttr(), along = self.getAlongAttr();
  NamedTensor ends = sumBefore(h, operands.front(), of, /*isClosed=*/true);
  Space space;
  space.addAll(ends);
  space.add(along, extentIn(op, along));
  RankedTensorType type = space.of(ends.element());
  Value hasEnded =
      h.compare("LE", h.spread(ends, space), h.iota(type, space.dimOf(along)));
  SmallVector<StringAttr> kept;
  llvm::copy_if(space.names, std::back_inserter(kept),
                [&](StringAttr name) { return name != of; });
  NamedTensor ended =
      h.reduce(h.convert(NamedTensor{hasEnded, space.names}, ends.element()),
               kept, Reduction::Sum);
  auto limit = [&](double value) { return h.splat(ended.type(), value); };
  Value isThere =
      h.compare("LT", ended.value, limit(double(operands.front().extent(of))));
  return NamedTensor{h.select(isThere, ended.value, limit(-1)), ended.names};
}

/// For every integer, the counts of smaller integers in its block.
static Value smallerInBlock(HloBuilder &h, CountEarlierOp op,
                            const NamedTensor &ids, const NamedTensor &load) {
  SmallVector<StringAttr> of(op.getOfAttr().getAsRange<StringAttr>());
  StringAttr value = h.b.getStringAttr("<value>");
  NamedTensor before =
      merged(h, sumBefore(h, load, of.back(), /*isClosed=*/false), of, value);
  NamedTensor is = isEach(h, ids, value, before.extent(value));
  Space space;
  space.addAll(is);
  RankedTensorType type = space.of(ids.element());
  Value own = h.select(is.value, h.spread(before, space), h.splat(type, 0));
  return h.reduce({own, space.names}, ids.names, Reduction::Sum).value;
}

//===----------------------------------------------------------------------===//
// count_earlier
//===----------------------------------------------------------------------===//

FailureOr<NamedTensor> hlo::countEarlier(HloBuilder &h, Operation *op,
                                         ArrayRef<NamedTensor> operands) {
  auto self = cast<CountEarlierOp>(op);
  const NamedTensor &ids = operands.front();
  // The indices `over` are merged, major to minor; every pair of its positions
  // is compared.
  SmallVector<StringAttr> over(self.getOver().getAsRange<StringAttr>()), order;
  llvm::copy_if(ids.names, std::back_inserter(order), [&](StringAttr name) {
    return !llvm::is_contained(over, name);
  });
  SmallVector<StringAttr> grid(order);
  llvm::append_range(order, over);
  NamedTensor sorted = h.ordered(ids, order);
  Space line;
  for (StringAttr name : grid)
    line.add(name, ids.extent(name));
  int64_t length = 1;
  for (StringAttr name : over)
    length *= ids.extent(name);
  StringAttr here = h.b.getStringAttr("<here>"),
             there = h.b.getStringAttr("<there>");
  line.add(here, length);
  Space pairs = line;
  pairs.add(there, length);
  Value flat = h.reshape(sorted.value, line.extents);
  NamedTensor own{flat, line.names}, other = own;
  other.names.back() = there;

  unsigned rank = line.names.size();
  RankedTensorType integers = pairs.of(ids.element());
  Value isEarlier =
      h.compare("LT", h.iota(integers, rank), h.iota(integers, rank - 1));
  Value isSame = h.compare("EQ", h.spread(own, pairs), h.spread(other, pairs));
  Value counts =
      h.convert(h.map("stablehlo.and", {isEarlier, isSame}), ids.element());
  Value earlier =
      h.reduce({counts, pairs.names}, line.names, Reduction::Sum).value;
  auto limit = [&](double value) { return h.splat(own.type(), value); };
  Value isCounted =
      h.map("stablehlo.and",
            {h.compare("GE", flat, limit(0)),
             h.compare("LT", flat, limit(double(self.getValues())))});
  if (operands.size() > 1) {
    Value smaller = smallerInBlock(h, self, sorted, operands[1]);
    earlier = h.map("stablehlo.add",
                    {earlier, h.reshape(smaller, own.type().getShape())});
  }
  Value result = h.select(isCounted, earlier, limit(-1));
  return NamedTensor{h.reshape(result, sorted.type().getShape()), order};
}
