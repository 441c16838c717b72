// Choices of the largest scores, as routers of experts make them, and what is
// gathered and scattered by them.
#include "Choices.h"
#include "Folding.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

Tensor torch::oneHot(Call &call, const Tensor &ids,
                     const std::vector<Tensor> &operands, Atom along,
                     const Dims &dims) {
  Builder &build = call.build;
  std::vector<ValueId> values = {ids.value};
  for (const Tensor &one : operands)
    values.push_back(one.value);
  Tensor out;
  out.dims = dims;
  out.type = call.result().type;
  out.value =
      build.emitValue("one_hot_einsum", values, build.atomsOf(dims),
                      build.elementOf(operands.front()),
                      {{"indices", IndexAttribute{{along}, /*isList=*/true}}});
  return out;
}

/// The `count` largest of a dimension, and their positions.
static Results largest(Call &call, Tensor x, size_t dim, int64_t count) {
  Builder &build = call.build;
  if (x.dims.at(dim).empty()) {
    Tensor first;
    first.constant = Constant::filled(ScalarType::I64, build.sizes(x), 0);
    return {x, first};
  }
  x = build.materialized(build.single(x, dim));
  Atom from = build.program.atoms.leaves(x.dims[dim]).front(),
       choice = build.program.atoms.create(count);
  build.program.atoms.keepApart({from, choice});
  Tensor ids = x;
  ids.dims[dim] = {choice};
  ids.type = ScalarType::I64;
  ids.value =
      build.emitValue("router", {x.value}, build.atomsOf(ids.dims), "i32",
                      {{"expert", IndexAttribute{{from}}},
                       {"choice", IndexAttribute{{choice}}}});
  if (count == 1) {
    ids = build.taken(ids, dim, 0);
    ids.dims.insert(ids.dims.begin() + static_cast<int64_t>(dim), AtomList{});
  }
  call.noteChoice(ids, from);
  return {oneHot(call, ids, {x}, from, ids.dims), ids};
}

/// Integers are chosen among as numbers.
static Tensor chosenAmong(Call &call) {
  return call.value(
      "self", isFloating(call.tensor("self").type) ? "" : call.build.exact);
}

static Results topk(Call &call) {
  Tensor x = chosenAmong(call);
  size_t dim = call.dim("dim", x.dims.size());
  int64_t count = call.integer("k");
  if (call.flag("largest"))
    return largest(call, x, dim, count);
  Builder &build = call.build;
  Results both = largest(call, build.pointwise("neg", {x}, x.type), dim, count);
  both[0] = build.pointwise("neg", {both[0]}, x.type);
  return both;
}

/// Without the dimension, unless it is kept.
static Results best(Call &call) {
  Tensor x = chosenAmong(call);
  size_t dim = call.dim("dim", x.dims.size());
  Results both = largest(call, x, dim, 1);
  for (Tensor &one : both)
    if (!call.flag("keepdim"))
      one.dims.erase(one.dims.begin() + static_cast<int64_t>(dim));
  return both;
}

static Results positionOfBest(Call &call) {
  if (call.isNone("dim"))
    refuse("is of all dimensions");
  return {best(call).back()};
}

//===----------------------------------------------------------------------===//
// Gathering and scattering
//===----------------------------------------------------------------------===//

void torch::alignOthers(Call &call, const Tensor &ids, Tensor &x, size_t dim) {
  Builder &build = call.build;
  Sizes a = build.sizes(ids), b = build.sizes(x);
  if (a.size() != b.size())
    refuse("has indices of {} dimensions for {}", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (i == dim)
      continue;
    if (a[i] != b[i])
      refuse("has indices of [{}] for [{}]", fmt::join(a, ", "),
             fmt::join(b, ", "));
    if (a[i] > 1)
      build.align(ids, i, x, i);
  }
}

Tensor torch::hitsOf(Call &call, Tensor ids, const AtomList &along,
                     ScalarType type) {
  Builder &build = call.build;
  Tensor numbers;
  numbers.dims = {along};
  numbers.value = build.emitValue("iota", {}, along, build.exact,
                                  {{"index", IndexAttribute{along}}});
  ids.dims.emplace_back();
  return build.pointwise("compare", {ids, numbers}, type,
                         {{"is", std::string("equal")}});
}

static Results oneHotOf(Call &call) {
  (void)call.integer("num_classes");
  Atom classes = call.build.program.atoms.create(call.result().sizes.back());
  return {hitsOf(call, call.value("self", call.build.exact), {classes},
                 call.result().type)};
}

static bool areEverywhereOne(const Tensor &x) {
  for (size_t i = 0; i < x.constant->sizes().size(); ++i)
    if (x.constant->varies(i))
      return false;
  return true;
}

bool torch::areLookedUp(Call &call, const Tensor &ids) {
  if (!ids.constant)
    return call.build.elementOf(ids) == "i32";
  const Sizes &sizes = ids.constant->sizes();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && !ids.constant->varies(i))
      return false;
  return true;
}

static Results gather(Call &call) {
  Builder &build = call.build;
  Tensor x = call.tensor("self");
  // Elements of a tensor in which all are equal.
  if (x.constant && areEverywhereOne(x)) {
    Tensor out;
    out.constant =
        Constant::filled(x.type, call.result().sizes,
                         x.constant->at(Sizes(x.constant->sizes().size(), 0)));
    return {out};
  }
  x = call.value("self");
  Tensor ids = call.tensor("index");
  bool looksUp = areLookedUp(call, ids);
  ids = looksUp ? build.lifted(ids, "i32") : call.lifted(ids, build.exact);
  size_t dim = call.dim("dim", x.dims.size());
  if (x.dims.at(dim).empty())
    refuse("gathers from a dimension of one position");
  // Integers that are expanded have the indices of x then.
  x = build.materialized(x);
  alignOthers(call, ids, x, dim);
  x = build.single(x, dim);
  build.makeDistinct(build.atomsOf(ids.dims), x, dim);
  Atom along = build.program.atoms.leaves(x.dims[dim]).front();
  AtomList apart = build.atomsOf(ids.dims);
  apart.push_back(along);
  build.program.atoms.keepApart(apart);
  if (looksUp)
    return {oneHot(call, ids, {x}, along, ids.dims)};
  Tensor hits = hitsOf(call, ids, {along}, ids.type);
  hits.dims.pop_back();
  hits = build.converted(hits, build.elementOf(x));
  return {build.emit("einsum", {hits, x}, ids.dims, x.type)};
}

static Constants foldGather(const Call &call) {
  ConstantPtr x = call.tensor("self").constant,
              ids = call.tensor("index").constant;
  size_t dim = call.dim("dim", x->sizes().size());
  auto element = [&](const Sizes &position) {
    Sizes place = position;
    place.at(dim) = static_cast<int64_t>(ids->at(position));
    if (place[dim] < 0 || place[dim] >= x->sizes()[dim])
      refuse("takes position {} of {}", place[dim], x->sizes()[dim]);
    return x->at(place);
  };
  return {Constant::evaluated(call.result().type, ids->sizes(), element)};
}

/// The tensor with other elements at chosen positions. A choice has no position
/// twice in a row, so that a sum over its positions is the one that counts.
static Results scattered(Call &call, const char *name) {
  Builder &build = call.build;
  Tensor ids = call.tensor("index");
  std::string element = call.resultElement();
  // A dimension of one position has nothing but the source's.
  size_t at = call.dim("dim", call.result().sizes.size());
  if (call.result().sizes.at(at) == 1 &&
      build.sizes(ids) == call.result().sizes) {
    call.tensor("self");
    Tensor source = call.isTensor(name)
                        ? call.value(name, element)
                        : build.number(call.number(name), element);
    return {build.expanded(source, call.result().sizes)};
  }
  if (!call.chosenFrom(ids) && call.isTensor(name))
    refuse("scatters by indices that are no choice by topk, so that two may be "
           "equal");
  if (!call.chosenFrom(ids))
    return {filledAt(call, name, element)};
  size_t dim = call.dim("dim", ids.dims.size());
  // Indices of fewer rows than the tensor would leave its other rows.
  Sizes wide = build.sizes(ids);
  wide.at(dim) = call.result().sizes.at(dim);
  if (wide != call.result().sizes)
    refuse("has indices of [{}] for a tensor of [{}]",
           fmt::join(build.sizes(ids), ", "),
           fmt::join(call.result().sizes, ", "));
  Atom along = build.program.atoms.create(call.result().sizes.at(dim));
  Dims dims = ids.dims;
  dims[dim] = {along};
  AtomList apart = build.atomsOf(ids.dims);
  apart.push_back(along);
  build.program.atoms.keepApart(apart);
  Tensor one = build.expanded(build.number(1, element), build.sizes(ids));
  one.dims = ids.dims;
  one = build.materialized(one);
  Tensor hits = oneHot(call, ids, {one}, along, dims), values;
  if (call.isTensor(name)) {
    values = call.value(name, element);
    alignOthers(call, ids, values, ids.dims.size());
    values.dims = ids.dims;
    values = oneHot(call, ids, {build.materialized(values)}, along, dims);
  } else {
    values = build.number(call.number(name), element);
  }
  Tensor self = call.value("self", element);
  return {build.pointwise("select", {hits, values, self}, call.result().type)};
}

static Results scatter(Call &call) { return scattered(call, "src"); }
static Results scatterNumber(Call &call) { return scattered(call, "value"); }

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Rows in the order of integers that a choice made: see SortedRows.h. Other
/// numbers are sorted by their ranks.
static Results sort(Call &call) {
  Tensor keys = call.tensor("self");
  if (!call.positionsAlong(keys) || keys.dims.size() != 1 ||
      call.flag("descending"))
    return sortedByRanks(call);
  auto sort = std::make_shared<const RowSort>(RowSort{keys});
  Tensor places;
  places.constant = Constant::evaluated(
      ScalarType::I64, call.result().sizes,
      [](const Sizes &position) { return static_cast<double>(position[0]); });
  places.role = SortRole{SortRole::Kind::Rows, sort};
  keys.role = SortRole{SortRole::Kind::Keys, sort};
  return {keys, places};
}

static Results order(Call &call) { return {sort(call).back()}; }

static Emit outsideOfSort(const char *what) {
  return [=](Call &) -> Results { refuse("{}", what); };
}

const Operators &torch::choiceOperators() {
  static const char *unsorted =
      "is known for rows that are sorted by their experts only";
  static const Operators rows = {
      {"topk", "self, k, dim=-1, largest=True, ~sorted=True", {}, topk},
      {"max.dim", "self, dim, keepdim=False", {}, best},
      {"argmax", "self, dim=None, keepdim=False", {}, positionOfBest},
      {"one_hot", "self, num_classes=-1", {}, oneHotOf},
      {"gather", "self, ~dim, ~index, ~sparse_grad=False", foldGather, gather},
      {"scatter.src", "self, dim, index, src", {}, scatter},
      {"scatter.value", "self, dim, index, value", {}, scatterNumber},
      {"sort", "self, ~dim=-1, descending=False", {}, sort},
      {"sort.stable", "self, ~stable, ~dim=-1, descending=False", {}, sort},
      {"argsort", "self, ~dim=-1, descending=False", {}, order},
      {"argsort.stable", "self, ~stable, ~dim=-1, descending=False", {}, order},
      {"histc", "self, bins=100, min=0, max=0", {}, outsideOfSort(unsorted)},
      {"index_put",
       "self, indices, values, accumulate=False",
       {},
       outsideOfSort(unsorted)},
      {"transformers.grouped_mm_fallback",
       "input, weight, offs",
       {},
       outsideOfSort(unsorted)},
      {"_grouped_mm",
       "self, mat2, offs=None, bias=None, ~out_dtype=None",
       {},
       outsideOfSort(unsorted)},
  };
  return rows;
}
