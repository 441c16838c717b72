// Operations along whole rows: softmax and norms.
#include "Losses.h"
#include "Operators.h"
#include "Refusal.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Tensor alongRow(Call &call, Tensor x, size_t dim,
                       const std::string &operation) {
  Builder &build = call.build;
  x = build.single(x, dim);
  return build.emit(operation, {x}, x.dims, call.result().type,
                    {{"over", IndexAttribute{x.dims[dim]}}});
}

static Results softmax(Call &call) {
  Tensor x = call.value("self");
  size_t dim = call.dim("dim", x.dims.size());
  if (!x.dims.at(dim).empty())
    return {alongRow(call, x, dim, "softmax")};
  // A single position has all the weight.
  Tensor zeros = call.build.pointwise("sub", {x, x}, x.type);
  return {call.build.pointwise("shift", {zeros}, x.type, {{"by", 1.0}})};
}

/// Without the dimensions, whose place stays.
static Tensor summary(Builder &build, Tensor x, const std::vector<size_t> &dims,
                      const std::string &operation, Attributes attributes) {
  Dims rest = x.dims;
  for (size_t dim : dims) {
    x = build.materialized(x, dim);
    rest.at(dim).clear();
  }
  return build.emit(operation, {x}, rest, x.type, std::move(attributes));
}

/// x - max - log(sum(exp(x - max))).
Tensor torch::logSoftmax(Builder &build, const Tensor &x, size_t dim) {
  Tensor largest =
      summary(build, x, {dim}, "reduce", {{"kind", std::string("max")}});
  largest = build.pointwise("stop_gradient", {largest}, x.type);
  Tensor low = build.pointwise("sub", {x, largest}, x.type);
  Tensor exponential = build.pointwise("exp", {low}, x.type);
  Tensor sum = summary(build, exponential, {dim}, "reduce",
                       {{"kind", std::string("sum")}});
  Tensor log = build.pointwise("log", {sum}, x.type);
  return build.pointwise("sub", {low, log}, x.type);
}

static Results logSoftmaxOf(Call &call) {
  Tensor x = call.value("self");
  return {logSoftmax(call.build, x, call.dim("dim", x.dims.size()))};
}

/// max + log(sum(exp(x - max))).
static Results logSumExp(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  std::vector<size_t> dims = call.dims("dim", x.dims.size());
  Tensor largest =
      summary(call.build, x, dims, "reduce", {{"kind", std::string("max")}});
  largest = build.pointwise("stop_gradient", {largest}, x.type);
  Tensor low = build.pointwise("sub", {x, largest}, x.type);
  Tensor sum = summary(call.build, build.pointwise("exp", {low}, x.type), dims,
                       "reduce", {{"kind", std::string("sum")}});
  Tensor y = build.pointwise(
      "add", {largest, build.pointwise("log", {sum}, x.type)}, x.type);
  std::sort(dims.rbegin(), dims.rend());
  for (size_t dim : dims)
    if (!call.flag("keepdim"))
      y.dims.erase(y.dims.begin() + static_cast<int64_t>(dim));
  return {y};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {

/// A tensor in which mean and variance over some dimensions are 0 and 1, and
/// those of the tensor before.
struct Normalized {
  Tensor result, mean, variance;
};

} // namespace

/// (x - mean) / sqrt(variance + eps), over these dimensions. Not centered: the
/// mean counts as 0.
static Normalized withMoments(Call &call, const Tensor &x,
                              const std::vector<size_t> &dims, double eps,
                              bool isCentered) {
  Builder &build = call.build;
  Normalized out;
  Tensor centered = x;
  if (isCentered) {
    out.mean = summary(call.build, x, dims, "mean", {});
    centered = build.pointwise("sub", {x, out.mean}, x.type);
  }
  Tensor square = build.pointwise("square", {centered}, x.type);
  out.variance = summary(call.build, square, dims, "mean", {});
  Tensor shifted =
      build.pointwise("shift", {out.variance}, x.type, {{"by", eps}});
  Tensor factor = build.pointwise("rsqrt", {shifted}, x.type);
  out.result = build.pointwise("mul", {centered, factor}, x.type);
  return out;
}

static Tensor normalized(Call &call, const Tensor &x,
                         const std::vector<size_t> &dims, double eps,
                         bool isCentered) {
  return withMoments(call, x, dims, eps, isCentered).result;
}

static Tensor scaledAndShifted(Call &call, Tensor y,
                               const std::optional<Tensor> &gain,
                               const std::optional<Tensor> &bias) {
  if (gain)
    y = call.build.pointwise("mul", {y, *gain}, y.type);
  if (bias)
    y = call.build.pointwise("add", {y, *bias}, y.type);
  return y;
}

static std::optional<Tensor> valueOrNone(Call &call, const char *name) {
  auto found = call.maybe(name);
  if (found)
    found = call.lifted(*found);
  return found;
}

static std::vector<size_t> lastDims(size_t rank, size_t count) {
  std::vector<size_t> dims;
  for (size_t i = rank - std::min(rank, count); i < rank; ++i)
    dims.push_back(i);
  return dims;
}

/// Whether the value has the dimensions, and is not broadcast along them.
static bool isThere(Call &call, const Tensor &x,
                    const std::vector<size_t> &dims) {
  return std::all_of(dims.begin(), dims.end(), [&](size_t dim) {
    return !x.dims[dim].empty() &&
           call.build.materialized(x, dim).value == x.value;
  });
}

/// Whether the value of a gain or a bias has all of its dimensions.
static bool isThere(Call &call, const Tensor &x) {
  return isThere(call, x, lastDims(x.dims.size(), x.dims.size()));
}

static Results layerNorm(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  auto gain = valueOrNone(call, "weight"), bias = valueOrNone(call, "bias");
  double eps = call.number("eps");
  std::vector<size_t> dims =
      lastDims(x.dims.size(), call.list("normalized_shape").size());
  if (!gain || !bias || !isThere(call, x, dims) || !isThere(call, *gain) ||
      !isThere(call, *bias))
    return {scaledAndShifted(call, normalized(call, x, dims, eps, true), gain,
                             bias)};
  return {
      build.pointwise("layer_norm", {x, *gain, *bias}, x.type, {{"eps", eps}})};
}

static Results rmsNorm(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  auto gain = valueOrNone(call, "weight");
  double eps = call.isNone("eps")
                   ? (x.type == ScalarType::F64 ? 0x1p-52 : 0x1p-23)
                   : call.number("eps");
  std::vector<size_t> dims =
      lastDims(x.dims.size(), call.list("normalized_shape").size());
  if (!gain || !isThere(call, x, dims) || !isThere(call, *gain))
    return {scaledAndShifted(call, normalized(call, x, dims, eps, false), gain,
                             {})};
  return {build.pointwise("rms_norm", {x, *gain}, x.type, {{"eps", eps}})};
}

/// A parameter of channels, [c], for a tensor [n, c, ...].
static std::optional<Tensor> ofChannels(Call &call, const char *name,
                                        size_t rank) {
  auto found = valueOrNone(call, name);
  if (found)
    found->dims.resize(rank - 1);
  return found;
}

static Results groupNorm(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  Sizes sizes = build.sizes(x), groups = sizes;
  int64_t count = call.integer("num_groups");
  if (sizes.size() < 2 || count < 1 || sizes[1] % count != 0)
    refuse("has {} groups of {} channels", count, sizes.at(1));
  groups[1] = sizes[1] / count;
  groups.insert(groups.begin() + 1, count);
  Tensor y = build.viewed(x, groups);
  y = normalized(call, y, lastDims(groups.size(), groups.size() - 2),
                 call.number("eps"), true);
  y = build.viewed(y, sizes);
  return {scaledAndShifted(call, y, ofChannels(call, "weight", sizes.size()),
                           ofChannels(call, "bias", sizes.size()))};
}

/// With the input's own statistics, mean and variance over all dimensions but
/// that of channels; `ofEach`: and but the first, each sample on its own.
static Tensor normedByInput(Call &call, bool ofEach) {
  Tensor x = call.value("input");
  size_t rank = x.dims.size();
  std::vector<size_t> dims = lastDims(rank, rank - 2);
  if (!ofEach)
    dims.push_back(0);
  return scaledAndShifted(
      call, normalized(call, x, dims, call.number("eps"), true),
      ofChannels(call, "weight", rank), ofChannels(call, "bias", rank));
}

/// The result, and the statistics that torch saves for the backward pass, which
/// are left out.
static Results withoutSaved(Call &call, const Tensor &result) {
  Results results = {result};
  while (results.size() < call.results()) {
    if (results.size() < 3 && call.isUsed(results.size()))
      refuse("has saved statistics that are used");
    results.emplace_back();
    results.back().constant = Constant::filled(
        ScalarType::F32, call.result(results.size() - 1).sizes, 0);
  }
  return results;
}

/// (1 - momentum) running + momentum factor statistic, without gradient.
static Tensor updated(Call &call, const char *running, const Tensor &statistic,
                      double factor) {
  Builder &build = call.build;
  double momentum = call.number("momentum");
  Tensor old = call.value(running), now = statistic;
  now.dims = {statistic.dims.at(1)};
  now = build.pointwise("stop_gradient", {now}, now.type);
  now = build.pointwise("scale", {now}, now.type,
                        {{"factor", momentum * factor}});
  old = build.pointwise("scale", {old}, old.type, {{"factor", 1 - momentum}});
  return build.pointwise("add", {old, now}, old.type);
}

/// With the batch's statistics, and new running ones. A running variance is the
/// unbiased one.
static Results batchNormInTraining(Call &call) {
  Builder &build = call.build;
  if (!call.flag("training"))
    refuse("computes new statistics in evaluation mode");
  Tensor x = call.value("input");
  size_t rank = x.dims.size();
  std::vector<size_t> dims = lastDims(rank, rank - 2);
  dims.push_back(0);
  Normalized y = withMoments(call, x, dims, call.number("eps"), true);
  double count = 1;
  for (size_t dim : dims)
    count *= static_cast<double>(build.sizes(x).at(dim));
  if (count < 2)
    refuse("has one number for each channel, which has no variance");
  Results results = withoutSaved(
      call, scaledAndShifted(call, y.result, ofChannels(call, "weight", rank),
                             ofChannels(call, "bias", rank)));
  results.at(3) = updated(call, "running_mean", y.mean, 1);
  results.at(4) = updated(call, "running_var", y.variance, count / (count - 1));
  return results;
}

static Tensor batchNormed(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  size_t rank = x.dims.size();
  auto mean = ofChannels(call, "running_mean", rank),
       variance = ofChannels(call, "running_var", rank);
  if (!mean || !variance)
    refuse("has no running statistics");
  Tensor shifted = build.pointwise("shift", {*variance}, x.type,
                                   {{"by", call.number("eps")}});
  Tensor factor = build.pointwise("rsqrt", {shifted}, x.type);
  Tensor y = build.pointwise("sub", {x, *mean}, x.type);
  y = build.pointwise("mul", {y, factor}, x.type);
  return scaledAndShifted(call, y, ofChannels(call, "weight", rank),
                          ofChannels(call, "bias", rank));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static Results batchNorm(Call &call) {
  return withoutSaved(call, batchNormed(call));
}

static Results batchNormOfBatch(Call &call) {
  if (!call.flag("training"))
    refuse("has no statistics");
  return withoutSaved(call, normedByInput(call, /*ofEach=*/false));
}

static Results instanceNorm(Call &call) {
  if (!call.flag("use_input_stats"))
    refuse("uses running statistics");
  return {normedByInput(call, /*ofEach=*/true)};
}

const Operators &torch::rowOperators() {
  static const Operators rows = {
      {"softmax.int", "self, dim, ~dtype=None", {}, softmax},
      {"_softmax", "self, dim, ~half_to_float=False", {}, softmax},
      {"log_softmax.int", "self, dim, ~dtype=None", {}, logSoftmaxOf},
      {"_log_softmax", "self, dim, ~half_to_float=False", {}, logSoftmaxOf},
      {"logsumexp", "self, dim, keepdim=False", {}, logSumExp},
      {"layer_norm",
       "input, normalized_shape, weight=None, bias=None, eps=1e-5, "
       "~cudnn_enable=True",
       {},
       layerNorm},
      {"rms_norm",
       "input, normalized_shape, weight=None, eps=None",
       {},
       rmsNorm},
      {"group_norm",
       "input, num_groups, weight=None, bias=None, eps=1e-5, "
       "~cudnn_enabled=True",
       {},
       groupNorm},
      {"_native_batch_norm_legit_no_training",
       "input, weight=None, bias=None, running_mean, running_var, ~momentum, "
       "eps",
       {},
       batchNorm},
      {"_native_batch_norm_legit_functional",
       "input, weight=None, bias=None, running_mean, running_var, training, "
       "momentum, eps",
       {},
       batchNormInTraining},
      {"_native_batch_norm_legit.no_stats",
       "input, weight=None, bias=None, training, ~momentum, eps",
       {},
       batchNormOfBatch},
      {"instance_norm",
       "input, weight=None, bias=None, ~running_mean=None, ~running_var=None, "
       "use_input_stats, ~momentum, eps, ~cudnn_enabled=True",
       {},
       instanceNorm},
  };
  return rows;
}
