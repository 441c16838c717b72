// Look-ups by integers, and sums along positions.
#include "Choices.h"
#include "Folding.h"
#include "LookUps.h"
#include "Refusal.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

/// The first of consecutive positions, and the dimension along which the ids
/// have them. Nothing if they are otherwise.
struct Consecutive {
  size_t dim = 0;
  int64_t first = 0;
};

static std::optional<Consecutive> consecutive(const Constant &ids) {
  Consecutive run;
  size_t varying = 0;
  for (size_t i = 0; i < ids.sizes().size(); ++i)
    if (ids.varies(i)) {
      run.dim = i;
      ++varying;
    }
  Sizes position(ids.sizes().size(), 0);
  run.first = static_cast<int64_t>(ids.at(position));
  if (varying != 1)
    return {};
  for (int64_t i = 0; i < ids.sizes()[run.dim]; ++i) {
    position[run.dim] = i;
    if (ids.at(position) != static_cast<double>(run.first + i))
      return {};
  }
  return run;
}

/// How often each row is repeated, if the ids are 0, 0, 1, 1, ...; or 1.
static int64_t repeated(const Constant &ids, int64_t rows) {
  if (ids.sizes().size() != 1 || rows < 2 || ids.sizes()[0] % rows != 0)
    return 1;
  int64_t times = ids.sizes()[0] / rows;
  for (int64_t i = 0; i < ids.sizes()[0]; ++i)
    if (ids.at({i}) != static_cast<double>(i / times))
      return 1;
  return times;
}

/// Rows of a table by constant positions that are consecutive, or one, or all
/// of them several times each.
static std::optional<Tensor> rowsAt(Call &call, const Tensor &table,
                                    const Constant &ids) {
  Builder &build = call.build;
  bool isOne = true;
  for (size_t i = 0; i < ids.sizes().size(); ++i)
    isOne &= !ids.varies(i);
  std::optional<Consecutive> run = consecutive(ids);
  if (int64_t times = repeated(ids, build.sizes(table).at(0)); times > 1) {
    Tensor rows = table;
    rows.dims[0].push_back(build.program.atoms.create(times));
    build.program.atoms.keepApart(build.atomsOf(rows.dims));
    return rows;
  }
  if (!run && !isOne)
    return {};
  int64_t first = static_cast<int64_t>(ids.at(Sizes(ids.sizes().size(), 0)));
  int64_t count = isOne ? 1 : ids.sizes()[run->dim];
  if (first < 0 || first + count > build.sizes(table).at(0))
    refuse("looks up rows {} to {} of {}", first, first + count - 1,
           build.sizes(table)[0]);
  Tensor rows =
      isOne ? build.taken(table, 0, first) : build.cut(table, 0, first, count);
  Dims dims;
  for (size_t i = 0; i < ids.sizes().size(); ++i)
    dims.push_back(run && i == run->dim ? rows.dims[0]
                   : ids.sizes()[i] == 1
                       ? AtomList{}
                       : AtomList{build.program.atoms.create(ids.sizes()[i])});
  dims.insert(dims.end(), rows.dims.begin() + (isOne ? 0 : 1), rows.dims.end());
  rows.dims = std::move(dims);
  build.program.atoms.keepApart(build.atomsOf(rows.dims));
  return rows;
}

/// Rows of a table by positions that are numbers: a sum over all rows, of which
/// one counts.
static Tensor rowsAtNumbers(Call &call, const Tensor &table,
                            const Tensor &ids) {
  Builder &build = call.build;
  Tensor rows = build.single(table, 0);
  Tensor positions = call.lifted(ids, build.exact);
  AtomList words = build.program.atoms.leaves(rows.dims[0]);
  Tensor count;
  count.dims = {words};
  count.value = build.emitValue("iota", {}, words, build.exact,
                                {{"index", IndexAttribute{words}}});
  positions.dims.emplace_back();
  Tensor hits = build.pointwise("compare", {positions, count}, ids.type,
                                {{"is", std::string("equal")}});
  hits.dims.pop_back();
  hits = build.converted(hits, build.elementOf(rows));
  Dims dims = hits.dims;
  dims.insert(dims.end(), rows.dims.begin() + 1, rows.dims.end());
  return build.emit("einsum", {hits, rows}, dims, rows.type);
}

Tensor torch::lookedUp(Call &call, Tensor table, const Tensor &ids) {
  Builder &build = call.build;
  if (ids.constant)
    if (auto rows = rowsAt(call, table, *ids.constant))
      return *rows;
  Tensor places = build.lifted(ids, "i32");
  if (build.elementOf(places) != "i32")
    return rowsAtNumbers(call, table, ids);
  table = build.single(table, 0);
  places = build.materialized(places);
  for (size_t i = 0; i < table.dims.size(); ++i)
    build.makeDistinct(build.atomsOf(places.dims), table, i);
  AtomList words = build.program.atoms.leaves(table.dims[0]);
  AtomList apart = build.atomsOf(places.dims);
  apart.push_back(words.front());
  build.program.atoms.keepApart(apart);
  Dims dims = places.dims;
  dims.insert(dims.end(), table.dims.begin() + 1, table.dims.end());
  AtomList result =
      build.program.atoms.leaves(build.program.values[places.value].atoms);
  for (Atom leaf :
       build.program.atoms.leaves(build.program.values[table.value].atoms))
    if (leaf != words.front())
      result.push_back(leaf);
  Tensor out;
  out.dims = dims;
  out.type = table.type;
  out.value = build.emitValue("embedding", {places.value, table.value}, result,
                              build.elementOf(table),
                              {{"vocabulary", IndexAttribute{words}}});
  return out;
}

/// PyTorch computes no gradient for the row of padding.
static Tensor withoutGradient(Call &call, const Tensor &rows, const Tensor &ids,
                              int64_t row) {
  Builder &build = call.build;
  if (ids.constant) {
    bool occurs = false;
    forEachPosition(ids.constant->sizes(), [&](const Sizes &position) {
      occurs |= ids.constant->at(position) == static_cast<double>(row);
    });
    if (!occurs)
      return rows;
  }
  Tensor numbers = call.lifted(ids, build.exact);
  Tensor padding = build.number(static_cast<double>(row), build.exact);
  Tensor isPadding = build.pointwise("compare", {numbers, padding}, ids.type,
                                     {{"is", std::string("equal")}});
  isPadding.dims.resize(rows.dims.size());
  isPadding = build.converted(isPadding, build.elementOf(rows));
  Tensor stopped = build.pointwise("stop_gradient", {rows}, rows.type);
  return build.pointwise("select", {isPadding, stopped, rows}, rows.type);
}

static Results embedding(Call &call) {
  Tensor ids = call.tensor("indices");
  Tensor table = call.value("weight");
  if (call.flag("scale_grad_by_freq") || call.flag("sparse"))
    refuse("scales gradients by frequency, or has sparse ones");
  if (table.dims.size() != 2)
    refuse("has a table of {} dimensions", table.dims.size());
  call.noteTable(ids, "weight");
  Tensor rows = lookedUp(call, table, ids);
  int64_t padding = call.integer("padding_idx");
  if (padding >= 0 && !call.tensor("weight").constant)
    rows = withoutGradient(call, rows, ids, padding);
  return {rows};
}

/// One tensor of indices, along one dimension.
static Results selectedBy(Call &call, Tensor x, size_t dim, const Tensor &ids) {
  // The dimension first, and then back.
  AtomList along = x.dims.at(dim);
  x.dims.erase(x.dims.begin() + static_cast<int64_t>(dim));
  x.dims.insert(x.dims.begin(), along);
  Tensor rows = lookedUp(call, x, ids);
  auto rank = static_cast<int64_t>(call.build.sizes(ids).size());
  Dims placed(rows.dims.begin() + rank,
              rows.dims.begin() + rank + static_cast<int64_t>(dim));
  placed.insert(placed.end(), rows.dims.begin(), rows.dims.begin() + rank);
  placed.insert(placed.end(),
                rows.dims.begin() + rank + static_cast<int64_t>(dim),
                rows.dims.end());
  rows.dims = std::move(placed);
  return {rows};
}

/// Positions from the end are those from the start.
static Tensor fromStart(const Tensor &ids, int64_t size) {
  Tensor out = ids;
  if (ids.constant)
    out.constant = Constant::apply(
        "other",
        [=](const std::vector<double> &x) {
          return x[0] < 0 ? x[0] + static_cast<double>(size) : x[0];
        },
        ids.type, {ids.constant});
  return out;
}

static Results indexSelect(Call &call) {
  Tensor x = call.value("self");
  return selectedBy(call, x, call.dim("dim", x.dims.size()),
                    call.tensor("index"));
}

/// Constant integers along neighbouring dimensions are positions along their
/// product. Nothing if the indices are others.
static std::optional<Results>
indexedByPairs(Call &call, const Tensor &x,
               const std::vector<std::optional<Tensor>> &indices) {
  Sizes sizes = call.build.sizes(x), flat;
  std::optional<size_t> first;
  int64_t size = 1;
  Tensor places;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i >= indices.size() || !indices[i]) {
      flat.push_back(sizes[i]);
      continue;
    }
    bool isNext = !first || flat.size() == *first + 1;
    if (!isNext || !indices[i]->constant ||
        indices[i]->type == ScalarType::Bool)
      return {};
    Tensor ids = fromStart(*indices[i], sizes[i]);
    if (first)
      ids.constant = Constant::apply(
          "pairs",
          [step = static_cast<double>(sizes[i])](
              const std::vector<double> &at) { return at[0] * step + at[1]; },
          ids.type, {places.constant, ids.constant});
    else
      flat.push_back(1);
    first = first.value_or(i);
    places = ids;
    size *= sizes[i];
  }
  flat[*first] = size;
  return selectedBy(call, call.build.viewed(x, flat), *first, places);
}

static Results indexed(Call &call) {
  Tensor x = call.value("self");
  std::optional<size_t> dim;
  auto indices = call.tensors("indices");
  if (auto rows = indexedByPairs(call, x, indices))
    return *rows;
  if (auto picked = pickedFromRows(call, x, indices))
    return {*picked};
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i]) {
      if (dim)
        refuse("has indices along several dimensions, and depends on an "
               "input");
      dim = i;
    }
  if (!dim || indices[*dim]->type == ScalarType::Bool)
    refuse("selects by booleans");
  if (*dim == 0)
    call.noteTable(*indices[0], "self");
  return selectedBy(call, x, *dim,
                    fromStart(*indices[*dim], call.build.sizes(x)[*dim]));
}

static Constants foldEmbedding(const Call &call) {
  ConstantPtr table = call.tensor("weight").constant,
              ids = call.tensor("indices").constant;
  auto element = [&](const Sizes &position) {
    Sizes place(position.begin(), position.end() - 1);
    auto row = static_cast<int64_t>(ids->at(place));
    if (row < 0 || row >= table->sizes().at(0))
      refuse("looks up row {} of {}", row, table->sizes()[0]);
    return table->at({row, position.back()});
  };
  return {
      Constant::evaluated(call.result().type, call.result().sizes, element)};
}

/// Advanced indexing by tensors that are broadcast against each other.
static Constants foldIndex(const Call &call) {
  ConstantPtr x = call.tensor("self").constant;
  auto indices = call.tensors("indices");
  std::vector<Sizes> all;
  std::vector<size_t> indexed, others;
  for (size_t i = 0; i < x->sizes().size(); ++i)
    if (i < indices.size() && indices[i]) {
      if (indices[i]->type == ScalarType::Bool)
        refuse("selects by booleans");
      all.push_back(indices[i]->constant->sizes());
      indexed.push_back(i);
    } else {
      others.push_back(i);
    }
  if (indexed.empty())
    refuse("has no indices");
  Sizes block = broadcastSizes(all);
  bool isTogether = indexed.back() - indexed.front() + 1 == indexed.size();
  size_t begin = isTogether ? indexed.front() : 0;
  // Dimensions along which no operand varies are left out.
  Sizes looked = call.result().sizes;
  for (size_t i = 0; i < looked.size(); ++i) {
    bool varies = false;
    if (i >= begin && i < begin + block.size()) {
      for (size_t d : indexed) {
        ConstantPtr one = indices[d]->constant->expanded(block);
        varies |= one->varies(i - begin) && x->varies(d);
      }
    } else {
      varies = x->varies(others[i < begin ? i : i - block.size()]);
    }
    if (!varies)
      looked[i] = 1;
  }
  auto element = [&](const Sizes &position) {
    Sizes inner(position.begin() + static_cast<int64_t>(begin),
                position.begin() + static_cast<int64_t>(begin + block.size()));
    Sizes place(x->sizes().size(), 0);
    for (size_t d : indexed) {
      auto at = static_cast<int64_t>(
          indices[d]->constant->expanded(block)->at(inner));
      place[d] = at < 0 ? at + x->sizes()[d] : at;
      if (place[d] < 0 || place[d] >= x->sizes()[d])
        refuse("takes position {} of {}", at, x->sizes()[d]);
    }
    for (size_t i = 0; i < others.size(); ++i)
      place[others[i]] = position[i < begin ? i : i + block.size()];
    return x->at(place);
  };
  return {Constant::evaluated(call.result().type, looked, element)
              ->expanded(call.result().sizes)};
}

//===----------------------------------------------------------------------===//
// Along positions
//===----------------------------------------------------------------------===//

/// Elements after `update`, which sees the elements before them in the row.
static ConstantPtr
scanned(const Call &call, const Constant &x, size_t dim,
        const std::function<double(const std::vector<double> &)> &update) {
  Sizes rest = x.sizes();
  // Rows that are equal are scanned once.
  for (size_t i = 0; i < rest.size(); ++i)
    if (i != dim && !x.varies(i))
      rest[i] = 1;
  Sizes looked = rest;
  looked[dim] = 1;
  auto strides = Sizes(rest.size(), 1);
  for (size_t i = rest.size(); i-- > 1;)
    strides[i - 1] = strides[i] * rest[i];
  std::vector<double> all(elementsOf(rest));
  forEachPosition(looked, [&](const Sizes &position) {
    Sizes place = position;
    std::vector<double> row;
    for (place[dim] = 0; place[dim] < rest[dim]; ++place[dim]) {
      row.push_back(x.at(place));
      int64_t to = 0;
      for (size_t i = 0; i < rest.size(); ++i)
        to += place[i] * strides[i];
      all[to] = update(row);
    }
  });
  Sizes sizes = x.sizes();
  return Constant::dense(call.result().type, rest, std::move(all))
      ->expanded(sizes);
}

static Constants foldCumsum(const Call &call) {
  ConstantPtr x = call.tensor("self").constant;
  double sum = 0;
  auto update = [&](const std::vector<double> &row) {
    sum = row.size() == 1 ? row.back() : sum + row.back();
    return rounded(sum, call.result().type);
  };
  return {scanned(call, *x, call.dim("dim", x->sizes().size()), update)};
}

/// The difference from the element before, where `prepend` has the first's.
static Constants foldDiff(const Call &call) {
  ConstantPtr x = call.tensor("self").constant;
  size_t dim = call.dim("dim", x->sizes().size());
  if (call.integer("n") != 1 || !call.isNone("append"))
    refuse("is a difference of a higher order");
  int64_t size = x->sizes()[dim];
  ConstantPtr before;
  if (call.isNone("prepend")) {
    before = x->sliced(dim, 0, size - 1, 1);
    x = x->sliced(dim, 1, size - 1, 1);
  } else {
    ConstantPtr first = call.tensor("prepend").constant;
    Sizes sizes = x->sizes();
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i != dim && !x->varies(i) && !first->varies(i))
        sizes[i] = 1;
    auto element = [&](const Sizes &position) {
      Sizes place = position;
      place[dim] = std::max<int64_t>(position[dim] - 1, 0);
      return position[dim] == 0 ? first->at(place) : x->at(place);
    };
    before =
        Constant::evaluated(x->type(), sizes, element)->expanded(x->sizes());
  }
  return {Constant::apply(
      "other", [](const std::vector<double> &v) { return v[0] - v[1]; },
      call.result().type, {x, before})};
}

static Results cumsum(Call &call) {
  Tensor x = call.value("self");
  size_t dim = call.dim("dim", x.dims.size());
  if (x.dims.at(dim).empty())
    return {x};
  x = call.build.single(x, dim);
  return {call.build.emit("cumsum", {x}, x.dims, call.result().type,
                          {{"index", IndexAttribute{x.dims[dim]}}})};
}

/// The positions of the dimension before the last (1) or of the last (0), each
/// with `more`, for tensors of x's last two.
static ConstantPtr positionsOf(const Constant &x, size_t fromEnd, double more) {
  Sizes sizes(2, 1);
  sizes[1 - fromEnd] = x.sizes()[x.sizes().size() - 1 - fromEnd];
  return Constant::evaluated(
      ScalarType::I64, sizes, [=](const Sizes &position) {
        return static_cast<double>(position[1 - fromEnd]) + more;
      });
}

/// 1 on and below a diagonal of the last two dimensions, or on and above it.
static ConstantPtr triangle(const Call &call, const Constant &x, bool isLower) {
  auto diagonal = static_cast<double>(call.integer("diagonal"));
  if (x.sizes().size() < 2)
    refuse("is of a tensor of {} dimensions", x.sizes().size());
  const char *relation = isLower ? "greater_equal" : "less_equal";
  auto isKept = [=](const std::vector<double> &p) {
    return compares(relation, p[0], p[1]) ? 1.0 : 0.0;
  };
  return Constant::apply(relation, isKept, ScalarType::Bool,
                         {positionsOf(x, 1, diagonal), positionsOf(x, 0, 0)});
}

/// The elements of the triangle, and 0 elsewhere.
static Fold foldTriangle(bool isLower) {
  return [=](const Call &call) -> Constants {
    ConstantPtr x = call.tensor("self").constant;
    return {Constant::apply(
        "where", chosen, x->type(),
        {triangle(call, *x, isLower), x, Constant::filled(x->type(), {}, 0)})};
  };
}

static Emit ofTriangle(bool isLower) {
  return [=](Call &call) -> Results {
    Tensor x = call.value("self"), mask;
    ConstantPtr sizes =
        Constant::filled(ScalarType::I64, call.result().sizes, 0);
    mask.constant = triangle(call, *sizes, isLower);
    mask.type = ScalarType::Bool;
    std::string element = call.build.elementOf(x);
    return {call.build.pointwise(
        "select",
        {call.lifted(mask, element), x, call.build.number(0, element)},
        x.type)};
  };
}

const Operators &torch::indexOperators() {
  static const Operators rows = {
      {"embedding",
       "weight, indices, ~padding_idx=-1, ~scale_grad_by_freq=False, "
       "~sparse=False",
       foldEmbedding, embedding},
      {"index.Tensor", "self, indices", foldIndex, indexed},
      {"index_select", "self, dim, index", {}, indexSelect},
      {"cumsum", "self, dim, ~dtype=None", foldCumsum, cumsum},
      {"diff", "self, n=1, dim=-1, prepend=None, append=None", foldDiff, {}},
      {"tril", "self, diagonal=0", foldTriangle(true), ofTriangle(true)},
      {"triu", "self, diagonal=0", foldTriangle(false), ofTriangle(false)},
  };
  return rows;
}
