// Sums of rows: bags of looked-up rows, and rows added at constant places.
#include "LookUps.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Bags
//===----------------------------------------------------------------------===//

/// The length of the bags that begin at these positions, if all are equal.
static int64_t bagLength(const Tensor &offsets, int64_t ids, bool hasEnd) {
  if (!offsets.constant)
    refuse("has bags whose lengths depend on an input");
  int64_t bags = offsets.constant->sizes().at(0) - (hasEnd ? 1 : 0);
  int64_t length = bags > 0 ? ids / bags : 0;
  for (int64_t i = 0; i < bags; ++i)
    if (offsets.constant->at({i}) != static_cast<double>(i * length))
      length = 0;
  if (length == 0 || length * bags != ids)
    refuse("has bags of different lengths");
  return length;
}

static Results embeddingBag(Call &call) {
  Builder &build = call.build;
  Tensor table = call.value("weight"), ids = call.tensor("indices");
  if (call.flag("scale_grad_by_freq") || call.flag("sparse"))
    refuse("scales gradients by frequency, or has sparse ones");
  if (call.has("padding_idx") && !call.isNone("padding_idx") &&
      call.integer("padding_idx") >= 0)
    refuse("leaves out a row of padding");
  for (size_t i = 1; i < call.results(); ++i)
    if (call.isUsed(i))
      refuse("has a result {} that is used; known is the first one alone", i);
  call.noteTable(ids, "weight");
  int64_t all = build.sizes(ids).at(0);
  int64_t length =
      bagLength(call.tensor("offsets"), all, call.flag("include_last_offset"));
  Tensor rows = lookedUp(call, table, ids);
  if (auto weights = call.maybe("per_sample_weights")) {
    Tensor weight = call.lifted(*weights);
    weight.dims.emplace_back();
    rows = build.pointwise("mul", {rows, weight}, rows.type);
  }
  Tensor bags =
      build.viewed(rows, {all / length, length, build.sizes(table).at(1)});
  Dims dims = bags.dims;
  dims.erase(dims.begin() + 1);
  bags = build.materialized(bags);
  int64_t mode = call.integer("mode");
  Tensor out =
      mode == 1
          ? build.emit("mean", {bags}, dims, rows.type)
          : build.emit("reduce", {bags}, dims, rows.type,
                       {{"kind", std::string(mode == 0 ? "sum" : "max")}});
  Results results = {out};
  for (size_t i = 1; i < call.results(); ++i) {
    const TensorMeta &unused = call.result(i);
    results.emplace_back().constant =
        Constant::filled(unused.type, unused.sizes, 0);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Rows that are added
//===----------------------------------------------------------------------===//

/// self, plus alpha times the rows of `source`, each at its place.
static Results indexAdd(Call &call) {
  Builder &build = call.build;
  Tensor self = call.value("self"), source = call.value("source"),
         places = call.tensor("index");
  if (!places.constant)
    refuse("adds rows at places that depend on an input");
  size_t dim = call.dim("dim", self.dims.size());
  int64_t rows = build.sizes(self).at(dim), added = build.sizes(source).at(dim);
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
  if (!isInOrder) {
    Tensor selection;
    selection.constant = Constant::dense(self.type, {rows, added}, matrix);
    selection.type = self.type;
    selection = call.lifted(selection);
    build.align(source, dim, selection, 1);
    build.makeDistinct(build.atomsOf(source.dims), selection, 0);
    Dims dims = source.dims;
    dims[dim] = selection.dims[0];
    source = build.contracted(selection, source, dims, self.type);
  }
  if (double alpha = call.number("alpha"); alpha != 1)
    source =
        build.pointwise("scale", {source}, source.type, {{"factor", alpha}});
  return {build.pointwise("add", {self, source}, self.type)};
}

const Operators &torch::bagOperators() {
  static const Operators rows = {
      {"embedding_bag.padding_idx",
       "weight, indices, offsets, scale_grad_by_freq=False, mode=0, "
       "sparse=False, per_sample_weights=None, include_last_offset=False, "
       "padding_idx=None",
       {},
       embeddingBag},
      {"embedding_bag",
       "weight, indices, offsets, scale_grad_by_freq=False, mode=0, "
       "sparse=False, per_sample_weights=None, include_last_offset=False",
       {},
       embeddingBag},
      {"index_add", "self, dim, index, source, alpha=1", {}, indexAdd},
  };
  return rows;
}
