// Convolutions and pooling: sums over the positions of a window. A window that
// moves by its own size is a view. Another is a sum of one product for each of
// its positions.
#include "Operators.h"
#include "Refusal.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

/// Positions of a window along a dimension, each of which is an operation.
static constexpr int64_t mostTaps = 256;

namespace {

/// How a window moves along the last dimensions of a tensor.
struct Window {
  Sizes kernel, stride, padding, dilation, out;

  bool isPatches(const Sizes &sizes) const {
    size_t first = sizes.size() - kernel.size();
    for (size_t i = 0; i < kernel.size(); ++i)
      if (stride[i] != kernel[i] || padding[i] != 0 || dilation[i] != 1 ||
          sizes[first + i] != kernel[i] * out[i])
        return false;
    return true;
  }
};

} // namespace

/// One number stands for all dimensions.
static Sizes spread(Sizes list, size_t rank, const Sizes &otherwise) {
  if (list.empty())
    return otherwise;
  if (list.size() == 1)
    list.resize(rank, list.front());
  if (list.size() != rank)
    refuse("has [{}] for {} dimensions", fmt::join(list, ", "), rank);
  return list;
}

/// Positions that a window has at `tap`, one for each of its places.
static Tensor positions(Call &call, Tensor x, const Window &window,
                        const Sizes &tap) {
  Builder &build = call.build;
  size_t first = x.dims.size() - tap.size();
  for (size_t i = 0; i < tap.size(); ++i) {
    int64_t stride = window.stride[i], count = window.out[i] * stride;
    x = build.cut(x, first + i, tap[i] * window.dilation[i], count);
    if (stride == 1)
      continue;
    Sizes sizes = build.sizes(x);
    sizes[first + i] = window.out[i];
    sizes.insert(sizes.begin() + static_cast<int64_t>(first + i) + 1, stride);
    // A new atom, so that no other tensor's positions are split.
    x = build.viewed(build.blocked(x, first + i), sizes);
    x = build.taken(x, first + i + 1, 0);
  }
  return x;
}

/// With as many positions of `value` as the window needs before and after.
static Tensor padded(Call &call, Tensor x, const Window &window, double value) {
  Builder &build = call.build;
  size_t first = x.dims.size() - window.kernel.size();
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    int64_t reach = (window.kernel[i] - 1) * window.dilation[i] +
                    window.out[i] * window.stride[i];
    int64_t after = std::max<int64_t>(
        reach - build.sizes(x)[first + i] - window.padding[i], 0);
    x = build.padded(x, first + i, window.padding[i], after, value);
  }
  return x;
}

static Window windowOf(Call &call, const Sizes &kernel) {
  Window window;
  window.kernel = kernel;
  size_t rank = kernel.size();
  window.stride = spread(call.list("stride"), rank, kernel);
  window.padding = spread(call.list("padding"), rank, Sizes(rank, 0));
  window.dilation = spread(call.list("dilation"), rank, Sizes(rank, 1));
  const Sizes &result = call.result().sizes;
  window.out.assign(result.end() - static_cast<int64_t>(rank), result.end());
  for (size_t i = 0; i < rank; ++i)
    if (window.stride[i] < 1 || window.padding[i] < 0 ||
        window.dilation[i] < 1 || kernel[i] < 1 || kernel[i] > mostTaps)
      refuse("has a window of [{}] positions", fmt::join(kernel, ", "));
  return window;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// x[n, g, c, ...] and one tap of w, [g, o, c], to [n, g, o, ...].
static Tensor multiplied(Call &call, const Tensor &x, Tensor w) {
  Builder &build = call.build;
  for (auto [a, b] : {std::pair<size_t, size_t>(1, 0), {2, 2}})
    if (!x.dims[a].empty())
      build.align(x, a, w, b);
  build.makeDistinct(build.atomsOf(x.dims), w, 1);
  Dims dims = x.dims;
  dims[2] = w.dims[1];
  return build.contracted(w, x, dims, call.result().type);
}

/// A window that is a block of positions: [n, g, c, y, k] and [g, o, c, k].
static Tensor ofPatches(Call &call, const Tensor &x, Tensor w,
                        const Window &window) {
  Builder &build = call.build;
  Sizes sizes = build.sizes(x), blocks(sizes.begin(), sizes.begin() + 3);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    blocks.push_back(window.out[i]);
    blocks.push_back(window.kernel[i]);
  }
  Tensor y = build.viewed(x, blocks);
  for (auto [a, b] : {std::pair<size_t, size_t>(1, 0), {2, 2}})
    if (!y.dims[a].empty())
      build.align(y, a, w, b);
  Dims dims(y.dims.begin(), y.dims.begin() + 3);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    if (window.kernel[i] > 1)
      build.align(y, 4 + 2 * i, w, 3 + i);
    dims.push_back(y.dims[3 + 2 * i]);
  }
  build.makeDistinct(build.atomsOf(y.dims), w, 1);
  dims[2] = w.dims[1];
  return build.contracted(w, y, dims, call.result().type);
}

static Tensor ofTaps(Call &call, const Tensor &x, const Tensor &w,
                     const Window &window) {
  Tensor whole = padded(call, x, window, 0);
  std::optional<Tensor> sum;
  forEachPosition(window.kernel, [&](const Sizes &tap) {
    Tensor part = w;
    for (int64_t at : tap)
      part = call.build.taken(part, 3, at);
    Tensor y = multiplied(call, positions(call, whole, window, tap), part);
    sum = sum ? call.build.pointwise("add", {*sum, y}, y.type) : y;
  });
  return *sum;
}

/// y[n, c, ...] and the bias of each channel, if there is one.
static Tensor withBias(Call &call, const Tensor &y) {
  auto bias = call.maybe("bias");
  if (!bias)
    return y;
  Tensor each = call.lifted(*bias);
  each.dims.resize(y.dims.size() - 1);
  return call.build.pointwise("add", {y, each}, y.type);
}

static Results convolution(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input"), w = call.value("weight");
  Sizes ofX = build.sizes(x), ofW = build.sizes(w);
  size_t rank = ofW.size() < 3 ? 0 : ofW.size() - 2;
  int64_t groups = call.integer("groups");
  if (rank == 0 || ofX.size() != ofW.size() || groups < 1 ||
      ofX[1] % groups != 0 || ofW[0] % groups != 0 || ofX[1] / groups != ofW[1])
    refuse("has an input of [{}], a weight of [{}] and {} groups",
           fmt::join(ofX, ", "), fmt::join(ofW, ", "), groups);
  Window window = windowOf(call, Sizes(ofW.begin() + 2, ofW.end()));
  Sizes groupedX = ofX, groupedW = ofW;
  groupedX[1] /= groups;
  groupedX.insert(groupedX.begin() + 1, groups);
  groupedW[0] /= groups;
  groupedW.insert(groupedW.begin(), groups);
  Tensor grouped = build.viewed(x, groupedX);
  Tensor weights = build.viewed(w, groupedW);
  Tensor y = window.isPatches(ofX) ? ofPatches(call, grouped, weights, window)
                                   : ofTaps(call, grouped, weights, window);
  y = build.viewed(y, call.result().sizes);
  return {withBias(call, y)};
}

//===----------------------------------------------------------------------===//
// Transposed convolutions, and larger images
//===----------------------------------------------------------------------===//

/// The positions of the last dimensions, each with stride - 1 positions of 0
/// after it.
static Tensor apart(Call &call, Tensor x, const Window &window) {
  Builder &build = call.build;
  size_t rank = window.kernel.size(), first = x.dims.size() - rank;
  for (size_t i = 0; i < rank; ++i) {
    if (window.stride[i] == 1)
      continue;
    Sizes wide = build.sizes(x);
    wide[first + i] *= window.stride[i];
    x.dims.insert(x.dims.begin() + static_cast<int64_t>(first + i) + 1,
                  AtomList{});
    x = build.padded(x, first + i + 1, 0, window.stride[i] - 1, 0);
    x = build.viewed(x, wide);
  }
  return x;
}

/// The sum over the window's positions of what each adds to the result: x[n, g,
/// c, ...] and w[g, o, c, ...] to [n, g, o, ...].
static Tensor transposed(Call &call, const Tensor &x, const Tensor &w,
                         const Window &window) {
  Builder &build = call.build;
  size_t rank = window.kernel.size();
  std::optional<Tensor> sum;
  forEachPosition(window.kernel, [&](const Sizes &tap) {
    Tensor part = w;
    for (int64_t at : tap)
      part = build.taken(part, 3, at);
    Tensor y = apart(call, multiplied(call, x, part), window);
    for (size_t i = 0; i < rank; ++i) {
      int64_t before = tap[i] * window.dilation[i],
              all = (window.kernel[i] - 1) * window.dilation[i];
      y = build.padded(y, 3 + i, before, all - before, 0);
    }
    sum = sum ? build.pointwise("add", {*sum, y}, y.type) : y;
  });
  for (size_t i = 0; i < rank; ++i)
    sum = build.cut(*sum, 3 + i, window.padding[i], window.out[i]);
  return *sum;
}

static Results transposedConvolution(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input"), w = call.value("weight");
  Sizes ofX = build.sizes(x), ofW = build.sizes(w);
  size_t rank = ofW.size() < 3 ? 0 : ofW.size() - 2;
  int64_t groups = call.integer("groups");
  if (rank == 0 || ofX.size() != ofW.size() || groups < 1 ||
      ofX[1] % groups != 0 || ofW[0] != ofX[1])
    refuse("has an input of [{}], a weight of [{}] and {} groups",
           fmt::join(ofX, ", "), fmt::join(ofW, ", "), groups);
  Window window = windowOf(call, Sizes(ofW.begin() + 2, ofW.end()));
  Sizes more = spread(call.list("output_padding"), rank, Sizes(rank, 0));
  for (size_t i = 0; i < rank; ++i)
    if (more[i] >= window.stride[i])
      refuse("adds {} positions to a result of stride {}", more[i],
             window.stride[i]);
  Sizes groupedX = ofX, groupedW = ofW;
  groupedX[1] /= groups;
  groupedX.insert(groupedX.begin() + 1, groups);
  groupedW[0] /= groups;
  groupedW.insert(groupedW.begin(), groups);
  Tensor weights = build.viewed(w, groupedW);
  std::swap(weights.dims[1], weights.dims[2]);
  Tensor y = transposed(call, build.viewed(x, groupedX), weights, window);
  y = build.viewed(y, call.result().sizes);
  return {withBias(call, y)};
}

/// Places are computed from the sizes. A factor that is not their ratio would
/// give others.
static void checkFactors(const Call &call, const Sizes &from, const Sizes &to) {
  if (call.isNone("scale_factors"))
    return;
  std::vector<double> factors = call.numbers("scale_factors");
  for (size_t i = 0; i < factors.size(); ++i) {
    size_t dim = from.size() - factors.size() + i;
    if (factors[i] * static_cast<double>(from[dim]) !=
        static_cast<double>(to[dim]))
      refuse("enlarges {} positions {} times to {}; known are whole results",
             from[dim], factors[i], to[dim]);
  }
}

/// The weight of a column at a place between the columns 0 and `last`.
using Weight = double (*)(double place, int64_t column, int64_t last);

static double linearWeight(double place, int64_t column, int64_t last) {
  place = std::min(std::max(place, 0.0), static_cast<double>(last));
  return std::max(1 - std::abs(place - static_cast<double>(column)), 0.0);
}

/// The cubic convolution of four columns around the place, with PyTorch's
/// parameter. Columns outside are those at the ends.
static double cubicWeight(double place, int64_t column, int64_t last) {
  constexpr double a = -0.75;
  auto at = [](double x) {
    x = std::abs(x);
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
  };
  double sum = 0;
  auto first = static_cast<int64_t>(std::floor(place)) - 1;
  for (int64_t each = first; each < first + 4; ++each)
    if (std::min(std::max<int64_t>(each, 0), last) == column)
      sum += at(place - static_cast<double>(each));
  return sum;
}

/// Interpolates along the last dimensions: products with constant matrices
/// [to, from].
static Results interpolated(Call &call, Weight weight) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  Sizes sizes = build.sizes(x), out = call.result().sizes;
  checkFactors(call, sizes, out);
  bool alignsCorners = call.flag("align_corners");
  for (size_t dim = 2; dim < sizes.size(); ++dim) {
    int64_t from = sizes[dim], to = out[dim];
    if (from == to)
      continue;
    if (from == 1) {
      Sizes wide = build.sizes(x);
      wide[dim] = to;
      x = build.expanded(x, wide);
      continue;
    }
    double step = alignsCorners && to > 1
                      ? static_cast<double>(from - 1) / (to - 1)
                      : static_cast<double>(from) / static_cast<double>(to);
    Tensor weights;
    weights.type = ScalarType::F32;
    weights.constant =
        Constant::evaluated(weights.type, {to, from}, [&](const Sizes &at) {
          auto place = static_cast<double>(at[0]);
          place = alignsCorners ? place * step : (place + 0.5) * step - 0.5;
          return weight(place, at[1], from - 1);
        });
    x = build.multiplied(call.lifted(weights), x, dim);
  }
  return {x};
}

static Results interpolatedLinearly(Call &call) {
  return interpolated(call, linearWeight);
}

static Results interpolatedCubically(Call &call) {
  return interpolated(call, cubicWeight);
}

/// Every position several times.
static Results upsampled(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("input");
  Sizes sizes = build.sizes(x), out = call.result().sizes, wide;
  checkFactors(call, sizes, out);
  for (size_t i = sizes.size(); i-- > 0;) {
    if (out[i] % sizes[i] != 0)
      refuse("makes {} positions of {}", out[i], sizes[i]);
    if (out[i] > sizes[i])
      x.dims.insert(x.dims.begin() + static_cast<int64_t>(i) + 1, AtomList{});
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    wide.push_back(sizes[i]);
    if (out[i] > sizes[i])
      wide.push_back(out[i] / sizes[i]);
  }
  return {build.viewed(build.expanded(x, wide), out)};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// For each place of the window, 1 / the number of its positions that are not
/// padding.
static Tensor sharesInside(const Call &call, const Window &window) {
  Sizes sizes = call.build.sizes(call.tensor("self"));
  size_t first = sizes.size() - window.kernel.size();
  Tensor out;
  out.type = call.result().type;
  out.constant =
      Constant::evaluated(out.type, window.out, [&](const Sizes &place) {
        double count = 1;
        for (size_t i = 0; i < place.size(); ++i) {
          int64_t inside = 0;
          for (int64_t tap = 0; tap < window.kernel[i]; ++tap) {
            int64_t at = place[i] * window.stride[i] - window.padding[i] +
                         tap * window.dilation[i];
            inside += at >= 0 && at < sizes[first + i];
          }
          count *= static_cast<double>(inside);
        }
        return 1 / count;
      });
  return out;
}

static Results pool(Call &call, bool isMean) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  Sizes kernel = call.list("kernel_size");
  size_t rank = build.sizes(x).size() - 2;
  Window window = windowOf(call, spread(kernel, rank, {}));
  if (call.flag("ceil_mode"))
    refuse("pools partial windows");
  double lowest = -std::numeric_limits<float>::max();
  Tensor whole = padded(call, x, window, isMean ? 0 : lowest);
  std::optional<Tensor> all;
  forEachPosition(window.kernel, [&](const Sizes &tap) {
    Tensor part = positions(call, whole, window, tap);
    all = all ? build.pointwise(isMean ? "add" : "max", {*all, part}, x.type)
              : part;
  });
  if (!isMean)
    return {*all};
  bool isPadded = std::any_of(window.padding.begin(), window.padding.end(),
                              [](int64_t size) { return size != 0; });
  if (isPadded && !call.flag("count_include_pad"))
    return {build.pointwise(
        "mul", {*all, call.lifted(sharesInside(call, window))}, x.type)};
  double factor = 1 / static_cast<double>(elementsOf(window.kernel));
  return {build.pointwise("scale", {*all}, x.type, {{"factor", factor}})};
}

static Results maxPool(Call &call) { return pool(call, false); }
static Results averagePool(Call &call) { return pool(call, true); }

/// The mean of blocks of equal size.
static Results adaptivePool(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  Sizes sizes = build.sizes(x), out = call.result().sizes, blocks;
  std::vector<size_t> inner;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] % out[i] != 0)
      refuse("pools {} positions to {}", sizes[i], out[i]);
    blocks.push_back(out[i]);
    blocks.push_back(sizes[i] / out[i]);
  }
  Tensor y = build.materialized(build.viewed(x, blocks));
  Dims dims;
  for (size_t i = 0; i < out.size(); ++i)
    dims.push_back(y.dims[2 * i]);
  return {build.emit("mean", {y}, dims, x.type)};
}

const Operators &torch::windowOperators() {
  static const std::string conv =
      "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1";
  static const std::string transposedConv =
      "input, weight, bias=None, stride=1, padding=0, output_padding=0, "
      "groups=1, dilation=1";
  static const std::string linear =
      "input, ~output_size, align_corners, scale_factors=None";
  static const std::string larger = "input, ~output_size, scale_factors=None";
  static const Operators rows = {
      {"conv1d", conv, {}, convolution},
      {"conv2d", conv, {}, convolution},
      {"conv3d", conv, {}, convolution},
      {"conv_transpose1d", transposedConv, {}, transposedConvolution},
      {"conv_transpose2d.input", transposedConv, {}, transposedConvolution},
      {"conv_transpose3d.input", transposedConv, {}, transposedConvolution},
      {"upsample_linear1d.vec", linear, {}, interpolatedLinearly},
      {"upsample_bilinear2d.vec", linear, {}, interpolatedLinearly},
      {"upsample_trilinear3d.vec", linear, {}, interpolatedLinearly},
      {"upsample_bicubic2d.vec", linear, {}, interpolatedCubically},
      {"upsample_nearest1d.vec", larger, {}, upsampled},
      {"upsample_nearest2d.vec", larger, {}, upsampled},
      {"upsample_nearest3d.vec", larger, {}, upsampled},
      {"max_pool2d",
       "self, kernel_size, stride=[], padding=0, dilation=1, ceil_mode=False",
       {},
       maxPool},
      {"avg_pool2d",
       "self, kernel_size, stride=[], padding=0, ceil_mode=False, "
       "~count_include_pad=True, divisor_override=None, dilation=1",
       {},
       averagePool},
      {"adaptive_avg_pool2d", "self, ~output_size", {}, adaptivePool},
      {"adaptive_avg_pool1d", "self, ~output_size", {}, adaptivePool},
  };
  return rows;
}
