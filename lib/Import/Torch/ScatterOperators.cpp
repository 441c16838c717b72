// Sorts by ranks, and sums of rows at places that are computed.
#include "Choices.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// A row of n elements is compared with itself: n x n comparisons.
static constexpr int64_t mostSorted = 1024;

/// 0, 1, 2, ... along an atom, as a tensor of one dimension.
static Tensor positionsAlong(Call &call, Atom along) {
  Tensor out;
  out.dims = {{along}};
  out.type = ScalarType::I64;
  out.value = call.build.emitValue("iota", {}, {along}, call.build.exact,
                                   {{"index", IndexAttribute{{along}}}});
  return out;
}

/// How many elements come before each of `x` along the dimension: those that
/// are smaller, or larger if `isDescending`, and equal ones to its left.
static Tensor ranksOf(Call &call, const Tensor &x, size_t dim,
                      bool isDescending) {
  Builder &build = call.build;
  Atom here = build.program.atoms.leaves(x.dims[dim]).front();
  Tensor other = x, own = x;
  build.makeDistinct({here}, other, dim);
  Atom there = build.program.atoms.leaves(other.dims[dim]).front();
  AtomList apart = build.atomsOf(x.dims);
  apart.push_back(there);
  build.program.atoms.keepApart(apart);
  other.dims[dim] = {};
  other.dims.push_back({there});
  own.dims.emplace_back();
  auto compared = [&](const Tensor &a, const Tensor &b, const char *relation) {
    return build.pointwise("compare", {a, b}, ScalarType::F32,
                           {{"is", std::string(relation)}});
  };
  Tensor left = positionsAlong(call, there), right = positionsAlong(call, here);
  right.dims.emplace_back();
  Tensor isLeft = compared(left, right, "less");
  isLeft.dims = Dims(own.dims.size());
  isLeft.dims[dim] = {here};
  isLeft.dims.back() = {there};
  Tensor isEqual = compared(other, own, "equal");
  Tensor comesFirst = build.pointwise(
      "add",
      {compared(other, own, isDescending ? "greater" : "less"),
       build.pointwise("mul", {isEqual, isLeft}, ScalarType::F32)},
      ScalarType::F32);
  return build.emit("reduce", {comesFirst}, x.dims, ScalarType::F32,
                    {{"kind", std::string("sum")}});
}

Results torch::sortedByRanks(Call &call) {
  Builder &build = call.build;
  Tensor self = call.tensor("self");
  ScalarType type = self.type;
  Tensor x = call.value("self", isFloating(type) ? "" : build.exact);
  size_t dim = call.dim("dim", x.dims.size());
  bool isDescending = call.flag("descending");
  if (x.dims.at(dim).empty()) {
    Tensor first;
    first.constant = Constant::filled(ScalarType::I64, build.sizes(x), 0);
    return {x, first};
  }
  if (int64_t count = build.sizes(x)[dim]; count > mostSorted)
    refuse("sorts rows of {} numbers that depend on an input; at most {} are "
           "sorted",
           count, mostSorted);
  x = build.materialized(build.single(x, dim));
  Atom here = build.program.atoms.leaves(x.dims[dim]).front(),
       rank = build.program.atoms.create(build.program.atoms.extent(here));
  AtomList apart = build.atomsOf(x.dims);
  apart.push_back(rank);
  build.program.atoms.keepApart(apart);
  Tensor hits = hitsOf(
      call, ranksOf(call, build.converted(x, build.exact), dim, isDescending),
      {rank}, ScalarType::F32);
  hits.dims.pop_back();
  Dims dims = x.dims;
  dims[dim] = {rank};
  Tensor places = build.emit("einsum", {hits, positionsAlong(call, here)}, dims,
                             ScalarType::I64);
  Tensor sorted = build.emit(
      "einsum", {build.converted(hits, build.elementOf(x)), x}, dims, type);
  return {sorted, places};
}

//===----------------------------------------------------------------------===//
// Scattering
//===----------------------------------------------------------------------===//

namespace {

/// Places along one dimension of the result.
struct Places {
  Tensor ids;
  bool areLookedUp = false;
  Atom along = -1;
  /// Those of the result.
  Dims dims;
};

} // namespace

/// The argument `index`, whose places are not yet of a result.
static Places indexOf(Call &call) {
  Places out;
  out.ids = call.tensor("index");
  out.areLookedUp = areLookedUp(call, out.ids);
  out.ids = out.areLookedUp ? call.build.lifted(out.ids, "i32")
                            : call.lifted(out.ids, call.build.exact);
  return out;
}

/// Makes them places of `extent` along `dim`. The other dimensions are those of
/// `dims`.
static void placeAlong(Call &call, Places &places, const Dims &dims, size_t dim,
                       int64_t extent) {
  Builder &build = call.build;
  places.along = build.program.atoms.create(extent);
  places.dims = dims;
  places.dims[dim] = {places.along};
  AtomList apart = build.atomsOf(dims);
  apart.push_back(places.along);
  build.program.atoms.keepApart(apart);
}

/// The places that the argument `index` gives, for a result of other extent
/// along `dim`.
static Places placesOf(Call &call, size_t dim) {
  Builder &build = call.build;
  Places out = indexOf(call);
  Sizes wide = build.sizes(out.ids);
  wide.at(dim) = call.result().sizes.at(dim);
  if (wide != call.result().sizes)
    refuse("has indices of [{}] for a tensor of [{}]",
           fmt::join(build.sizes(out.ids), ", "),
           fmt::join(call.result().sizes, ", "));
  placeAlong(call, out, out.ids.dims, dim, call.result().sizes[dim]);
  return out;
}

/// The sum of the elements of `source` that have each place.
static Tensor sumsAt(Call &call, const Places &places, const Tensor &source) {
  Builder &build = call.build;
  Tensor whole = build.materialized(source);
  if (places.areLookedUp)
    return oneHot(call, build.materialized(places.ids), {whole}, places.along,
                  places.dims);
  Tensor hits = hitsOf(call, places.ids, {places.along}, call.result().type);
  hits.dims.pop_back();
  hits = build.converted(hits, build.elementOf(whole));
  return build.emit("einsum", {hits, whole}, places.dims, source.type);
}

/// The elements of `source`, in the dimensions of the places.
static Tensor sourceOf(Call &call, const Places &places, const char *name,
                       const std::string &element) {
  Tensor source = call.value(name, element);
  alignOthers(call, places.ids, source, places.ids.dims.size());
  source.dims = places.ids.dims;
  return source;
}

/// How many places are each position.
static Tensor countsAt(Call &call, const Places &places,
                       const std::string &element) {
  Builder &build = call.build;
  Tensor one =
      build.expanded(build.number(1, element), build.sizes(places.ids));
  one.dims = places.ids.dims;
  one.type = call.result().type;
  return sumsAt(call, places, one);
}

Tensor torch::filledAt(Call &call, const char *value,
                       const std::string &element) {
  Builder &build = call.build;
  size_t dim = call.dim("dim", call.result().sizes.size());
  Places places = placesOf(call, dim);
  // `select` takes its second operand where the first is not 0.
  return build.pointwise("select",
                         {countsAt(call, places, element),
                          build.number(call.number(value), element),
                          call.value("self", element)},
                         call.result().type);
}

static Results scatterAdd(Call &call) {
  Builder &build = call.build;
  std::string element = call.resultElement();
  size_t dim = call.dim("dim", call.result().sizes.size());
  Places places = placesOf(call, dim);
  Tensor sums = sumsAt(call, places, sourceOf(call, places, "src", element));
  return {build.pointwise("add", {call.value("self", element), sums},
                          call.result().type)};
}

/// The largest of the elements of each place, or the smallest; far below all
/// numbers, or above, if there is none.
static Tensor extremesAt(Call &call, const Places &places, const Tensor &source,
                         bool isLargest) {
  constexpr double farBelow = -3e38;
  Builder &build = call.build;
  Tensor hits = hitsOf(call, places.ids, {places.along}, source.type),
         x = source;
  if (!isLargest)
    x = build.pointwise("neg", {x}, x.type);
  x.dims.emplace_back();
  Tensor each = build.pointwise(
      "select", {hits, x, build.number(farBelow, build.elementOf(source))},
      source.type);
  Tensor largest = build.emit("reduce", {each}, places.dims, source.type,
                              {{"kind", std::string("max")}});
  return isLargest ? largest : build.pointwise("neg", {largest}, source.type);
}

static Results extremes(Call &call, bool isLargest) {
  Builder &build = call.build;
  ScalarType type = call.result().type;
  std::string element = call.resultElement();
  // PyTorch divides a gradient among equal elements.
  if (isFloating(type))
    refuse(
        "takes the largest or smallest of numbers that have gradients; known "
        "are integers");
  size_t dim = call.dim("dim", call.result().sizes.size());
  Places places = placesOf(call, dim);
  places.ids = call.lifted(places.ids, build.exact);
  places.areLookedUp = false;
  Tensor self = call.value("self", element),
         found = extremesAt(call, places,
                            sourceOf(call, places, "src", element), isLargest);
  if (!call.flag("include_self"))
    return {build.pointwise(
        "select", {countsAt(call, places, element), found, self}, type)};
  Tensor isBetter =
      build.pointwise("compare", {found, self}, type,
                      {{"is", std::string(isLargest ? "greater" : "less")}});
  return {build.pointwise("select", {isBetter, found, self}, type)};
}

/// The sum or the mean of the elements of each place. Places without an element
/// keep that of self.
static Results scatterReduce(Call &call) {
  Builder &build = call.build;
  std::string how = call.word("reduce"), element = call.resultElement();
  ScalarType type = call.result().type;
  if (how == "amax" || how == "amin")
    return extremes(call, how == "amax");
  bool includesSelf = call.flag("include_self");
  if (how != "sum" && how != "mean")
    refuse("reduces by '{}'; known are sum and mean", how);
  size_t dim = call.dim("dim", call.result().sizes.size());
  Places places = placesOf(call, dim);
  Tensor self = call.value("self", element),
         sums = sumsAt(call, places, sourceOf(call, places, "src", element)),
         counts = countsAt(call, places, element);
  if (includesSelf) {
    sums = build.pointwise("add", {self, sums}, type);
    if (how == "sum")
      return {sums};
    Tensor more = build.pointwise("shift", {counts}, type, {{"by", 1.0}});
    return {build.pointwise("div", {sums, more}, type)};
  }
  if (how == "mean") {
    Tensor divisor = build.pointwise("clamp", {counts}, type, {{"low", 1.0}});
    sums = build.pointwise("div", {sums, divisor}, type);
  }
  return {build.pointwise("select", {counts, sums, self}, type)};
}

/// The number of a position, row-major.
static size_t numberOf(const Sizes &sizes, const Sizes &position) {
  int64_t number = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    number = number * sizes[i] + position[i];
  return static_cast<size_t>(number);
}

/// The sum, the mean, the largest or the smallest of two elements. A mean is
/// divided afterwards.
static double reducedBy(const std::string &how, double a, double b) {
  if (how == "amax" || how == "amin")
    return (how == "amax") == (a < b) ? b : a;
  if (how != "sum" && how != "mean")
    refuse("reduces by '{}'; known are sum, mean, amax and amin", how);
  return a + b;
}

/// Refuses indices that name no elements of the tensor or of the source.
static void checkScattered(const Sizes &sizes, const Sizes &index,
                           const Sizes &source, size_t dim) {
  bool fits = index.size() == sizes.size() && source.size() == index.size();
  for (size_t i = 0; i < sizes.size() && fits; ++i)
    fits = index[i] <= source[i] && (i == dim || index[i] <= sizes[i]);
  if (!fits)
    refuse("has indices of [{}] and a source of [{}] for a tensor of [{}]",
           fmt::join(index, ", "), fmt::join(source, ", "),
           fmt::join(sizes, ", "));
}

static Constants foldScatterReduce(const Call &call) {
  ConstantPtr self = call.tensor("self").constant,
              index = call.tensor("index").constant,
              source = call.tensor("src").constant;
  const Sizes &sizes = self->sizes();
  size_t dim = call.dim("dim", sizes.size());
  checkScattered(sizes, index->sizes(), source->sizes(), dim);
  std::string how = call.word("reduce");
  double first = call.flag("include_self") ? 1 : 0;
  std::vector<double> found = self->elements(), counts(found.size(), first);
  forEachPosition(index->sizes(), [&](const Sizes &position) {
    Sizes place = position;
    place[dim] = static_cast<int64_t>(index->at(position));
    if (place[dim] < 0 || place[dim] >= sizes[dim])
      refuse("has the place {} of {}", place[dim], sizes[dim]);
    size_t at = numberOf(sizes, place);
    double each = source->at(position);
    found[at] = counts[at] == 0 ? each : reducedBy(how, found[at], each);
    ++counts[at];
  });
  for (size_t at = 0; at < found.size() && how == "mean"; ++at)
    found[at] /= std::max(counts[at], 1.0);
  ScalarType type = call.result().type;
  for (double &one : found)
    one = rounded(one, type);
  return {Constant::dense(type, sizes, std::move(found))};
}

//===----------------------------------------------------------------------===//
// Elements of rows
//===----------------------------------------------------------------------===//

/// Whether the indices are the positions of `rows` rows, in order.
static bool areRows(const Tensor &indices, int64_t rows) {
  if (!indices.constant || indices.type == ScalarType::Bool)
    return false;
  const Sizes &sizes = indices.constant->sizes();
  if (sizes.empty() || sizes[0] != rows)
    return false;
  for (size_t dim = 1; dim < sizes.size(); ++dim)
    if (sizes[dim] != 1)
      return false;
  Sizes at(sizes.size(), 0);
  for (at[0] = 0; at[0] < rows; ++at[0])
    if (indices.constant->at(at) != static_cast<double>(at[0]))
      return false;
  return true;
}

/// Numbers below 0 count from the end.
static Tensor countedFromEnd(Call &call, const Tensor &ids, int64_t size) {
  Builder &build = call.build;
  Tensor isBelow =
      build.pointwise("compare", {ids, build.number(0, build.exact)}, ids.type,
                      {{"is", std::string("less")}});
  Tensor more = build.pointwise("shift", {ids}, ids.type,
                                {{"by", static_cast<double>(size)}});
  return build.pointwise("select", {isBelow, more, ids}, ids.type);
}

std::optional<Tensor>
torch::pickedFromRows(Call &call, Tensor x,
                      const std::vector<std::optional<Tensor>> &indices) {
  Builder &build = call.build;
  if (indices.size() != 2 || !indices[0] || !indices[1])
    return {};
  Tensor ids = *indices[1];
  Sizes sizes = build.sizes(ids), ofX = build.sizes(x);
  if (!areRows(*indices[0], ofX[0]) || sizes.empty() || sizes[0] != ofX[0] ||
      indices[0]->constant->sizes().size() != sizes.size() ||
      x.dims[1].empty() || ids.type == ScalarType::Bool)
    return {};
  bool looksUp = areLookedUp(call, ids);
  ids = looksUp ? build.lifted(ids, "i32")
                : countedFromEnd(call, call.lifted(ids, build.exact), ofX[1]);
  x = build.materialized(build.single(x, 1));
  if (ofX[0] > 1)
    build.align(x, 0, ids, 0);
  for (size_t dim = 1; dim < x.dims.size(); ++dim)
    build.makeDistinct(build.atomsOf(ids.dims), x, dim);
  Atom along = build.program.atoms.leaves(x.dims[1]).front();
  Dims dims = ids.dims;
  dims.insert(dims.end(), x.dims.begin() + 2, x.dims.end());
  AtomList apart = build.atomsOf(dims);
  apart.push_back(along);
  build.program.atoms.keepApart(apart);
  if (looksUp)
    return oneHot(call, ids, {x}, along, dims);
  Tensor hits = hitsOf(call, ids, {along}, ids.type);
  hits.dims.pop_back();
  hits = build.converted(hits, build.elementOf(x));
  return build.emit("einsum", {hits, x}, dims, x.type);
}

//===----------------------------------------------------------------------===//
// Rows that are added
//===----------------------------------------------------------------------===//

/// The rows of `source` at places that depend on an input, each place of `rows`
/// the sum of its own.
static Tensor rowsAtPlaces(Call &call, const Tensor &source, size_t dim,
                           int64_t rows) {
  Places places = indexOf(call);
  call.build.align(source, dim, places.ids, 0);
  placeAlong(call, places, source.dims, dim, rows);
  return sumsAt(call, places, source);
}

/// The same at constant places: a product with a matrix of zeros and ones,
/// unless the rows are in order.
static Tensor rowsAtConstants(Call &call, const Tensor &source, size_t dim,
                              int64_t rows, const Tensor &places) {
  int64_t added = call.build.sizes(source).at(dim);
  auto place = [&](int64_t row) {
    double at = places.constant->at({row});
    if (at < 0 || at >= static_cast<double>(rows))
      refuse("adds a row at place {} of {}", at, rows);
    return static_cast<int64_t>(at);
  };
  bool isInOrder = rows == added;
  std::vector<double> matrix(static_cast<size_t>(rows * added), 0);
  for (int64_t row = 0; row < added; ++row) {
    isInOrder &= place(row) == row;
    matrix[static_cast<size_t>(place(row) * added + row)] = 1;
  }
  if (isInOrder)
    return source;
  Tensor selection;
  selection.constant = Constant::dense(source.type, {rows, added}, matrix);
  selection.type = source.type;
  return call.build.multiplied(call.lifted(selection), source, dim);
}

/// self, plus alpha times the rows of `source`, each at its place.
static Results indexAdd(Call &call) {
  Builder &build = call.build;
  Tensor self = call.value("self"), source = call.value("source"),
         places = call.tensor("index");
  size_t dim = call.dim("dim", self.dims.size());
  int64_t rows = build.sizes(self).at(dim);
  source = places.constant ? rowsAtConstants(call, source, dim, rows, places)
                           : rowsAtPlaces(call, source, dim, rows);
  if (double alpha = call.number("alpha"); alpha != 1)
    source =
        build.pointwise("scale", {source}, source.type, {{"factor", alpha}});
  return {build.pointwise("add", {self, source}, self.type)};
}

const Operators &torch::scatterOperators() {
  static const Operators rows = {
      {"index_add", "self, dim, index, source, alpha=1", {}, indexAdd},
      {"scatter_add", "self, dim, index, src", {}, scatterAdd},
      {"scatter_reduce.two", "self, dim, index, src, reduce, include_self=True",
       foldScatterReduce, scatterReduce},
  };
  return rows;
}
