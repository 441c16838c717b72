// Lookups and routing.
#include "Forms.h"
#include "HloDialects.h"

#include "tpsp/Dialect/Tpsp/IntegerOps.h"

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

/// x at the positions of `ids` along `index`, and 0 where there is none. It has
/// the names of `ids`, then the other ones of x.
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
  // Positions beyond the ends are moved to them.
  auto limit = [&](double value) { return h.splat(ids.type(), value); };
  Value isThere =
      h.map("stablehlo.and",
            {h.compare("GE", ids.value, limit(0)),
             h.compare("LT", ids.value, limit(double(x.extent(index))))});
  Value none = h.splat(space.of(x.element()), 0);
  return {h.select(h.spread({isThere, ids.names}, space), rows, none),
          space.names};
}

/// The sum of x at the positions along `index` that `ids` say, and 0 at all
/// others. It has `index`, then the names of x that `ids` lack.
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

/// A table of which all positions take rows is gathered from, and its gradient
/// scattered to. Else it is a product with the one-hot tensors.
FailureOr<NamedTensor> hlo::lookUp(HloBuilder &h, Operation *op,
                                   ArrayRef<NamedTensor> operands) {
  auto self = cast<OneHotEinsumOp>(op);
  ArrayRef<NamedTensor> ids = operands.drop_back();
  const NamedTensor &x = operands.back();
  Names result = getIdx(self.getResult()).getNames();
  auto index = cast<StringAttr>(self.getIndices()[0]);
  auto isOfX = [&](StringAttr name) { return x.has(name); };
  auto isOfResult = [&](StringAttr name) {
    return llvm::is_contained(result, name);
  };
  // No more points than x has.
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

/// Positions along `dim`, those of larger numbers first, of equal ones in
/// order.
static Value sortedPositions(HloBuilder &h, Value x, unsigned dim) {
  auto type = cast<RankedTensorType>(x.getType());
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
// count_earlier
//===----------------------------------------------------------------------===//

FailureOr<NamedTensor> hlo::countEarlier(HloBuilder &h, Operation *op,
                                         ArrayRef<NamedTensor> operands) {
  auto self = cast<CountEarlierOp>(op);
  const NamedTensor &ids = operands.front();
  // Major to minor, `over` is one index; every pair of its positions is
  // compared.
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
  Value result = h.select(isCounted, earlier, limit(-1));
  return NamedTensor{h.reshape(result, sorted.type().getShape()), order};
}
