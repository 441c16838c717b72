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
  };
  return rows;
}
