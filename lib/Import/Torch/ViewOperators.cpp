// Operations that move no number, or copy numbers to other positions.
#include "Joins.h"
#include "Positions.h"
#include "Refusal.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

/// Writes both ways of an operation of one tensor: `View` is called with a
/// constant or with a tensor.
template <typename View>
static Operator row(std::string name, std::string schema, View view) {
  std::string first = schema.substr(0, schema.find(','));
  return {std::move(name), std::move(schema),
          [=](const Call &call) -> Constants {
            ConstantPtr x = call.tensor(first).constant;
            return view(call, x);
          },
          [=](Call &call) -> Results {
            Tensor x = call.tensor(first);
            return view(call, x);
          }};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static ConstantPtr viewed(const Call &, const ConstantPtr &x,
                          const Sizes &sizes) {
  return x->reshaped(sizes);
}
static Tensor viewed(const Call &call, const Tensor &x, const Sizes &sizes) {
  return call.build.viewed(x, sizes);
}

static ConstantPtr permuted(const ConstantPtr &x,
                            const std::vector<size_t> &dims) {
  return x->permuted(dims);
}
static Tensor permuted(const Tensor &x, const std::vector<size_t> &dims) {
  Tensor out = x;
  for (size_t i = 0; i < dims.size(); ++i)
    out.dims[i] = x.dims.at(dims[i]);
  return out;
}

static ConstantPtr expanded(const Call &, const ConstantPtr &x,
                            const Sizes &sizes) {
  return x->expanded(sizes);
}
static Tensor expanded(const Call &call, const Tensor &x, const Sizes &sizes) {
  return call.build.expanded(x, sizes);
}

static ConstantPtr unsqueezed(const ConstantPtr &x, size_t dim) {
  return x->unsqueezed(dim);
}
static Tensor unsqueezed(const Tensor &x, size_t dim) {
  Tensor out = x;
  out.dims.insert(out.dims.begin() + static_cast<int64_t>(dim), AtomList{});
  return out;
}

static Sizes sizesOf(const Call &, const ConstantPtr &x) { return x->sizes(); }
static Sizes sizesOf(const Call &call, const Tensor &x) {
  return call.build.sizes(x);
}

template <typename T>
static std::vector<T> transpose(const Call &call, const T &x) {
  std::vector<size_t> dims(sizesOf(call, x).size());
  std::iota(dims.begin(), dims.end(), 0);
  if (!dims.empty())
    std::swap(dims[call.dim("dim0", dims.size())],
              dims[call.dim("dim1", dims.size())]);
  return {permuted(x, dims)};
}

template <typename T>
static std::vector<T> permute(const Call &call, const T &x) {
  std::vector<size_t> dims = call.dims("dims", sizesOf(call, x).size());
  std::vector<size_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != i || sorted.size() != sizesOf(call, x).size())
      refuse("permutes dimensions [{}]", fmt::join(dims, ", "));
  return {permuted(x, dims)};
}

template <typename T>
static std::vector<T> unsqueeze(const Call &call, const T &x) {
  return {unsqueezed(x, call.dim("dim", sizesOf(call, x).size() + 1))};
}

/// The sizes are the archive's, which has them for every result.
template <typename T> static std::vector<T> view(const Call &call, const T &x) {
  return {viewed(call, x, call.result().sizes)};
}

template <typename T>
static std::vector<T> expand(const Call &call, const T &x) {
  return {expanded(call, x, call.result().sizes)};
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static ConstantPtr sliced(const Call &, const ConstantPtr &x, size_t dim,
                          int64_t begin, int64_t count, int64_t step) {
  return x->sliced(dim, begin, count, step);
}

static Tensor sliced(const Call &call, const Tensor &x, size_t dim,
                     int64_t begin, int64_t count, int64_t step) {
  Builder &build = call.build;
  if (step == 1)
    return build.cut(x, dim, begin, count);
  // Every step-th position is one of a block of `step`.
  int64_t size = build.sizes(x)[dim];
  if (size % step != 0 || count != size / step || begin >= step)
    refuse("takes every {}th of {} positions from {} on, which are no whole "
           "blocks",
           step, size, begin);
  Sizes sizes = build.sizes(x);
  sizes[dim] = count;
  sizes.insert(sizes.begin() + static_cast<int64_t>(dim) + 1, step);
  return build.taken(build.viewed(x, sizes), dim + 1, begin);
}

static ConstantPtr selected(const Call &, const ConstantPtr &x, size_t dim,
                            int64_t at) {
  return x->selected(dim, at);
}
static Tensor selected(const Call &call, const Tensor &x, size_t dim,
                       int64_t at) {
  return call.build.taken(x, dim, at);
}

/// A tensor without elements.
static ConstantPtr nothing(const ConstantPtr &x, const Sizes &sizes) {
  return Constant::filled(x->type(), sizes, 0);
}
static Tensor nothing(const Tensor &x, const Sizes &sizes) {
  Tensor out;
  out.constant = Constant::filled(x.type, sizes, 0);
  return out;
}

template <typename T>
static std::vector<T> slice(const Call &call, const T &x) {
  Positions part = slicedPositions(call, sizesOf(call, x));
  if (part.count == 0)
    return {nothing(x, call.result().sizes)};
  return {sliced(call, x, part.dim, part.begin, part.count, part.step)};
}

template <typename T>
static std::vector<T> select(const Call &call, const T &x) {
  Sizes sizes = sizesOf(call, x);
  size_t dim = call.dim("dim", sizes.size());
  return {selected(call, x, dim, positionOf(call, sizes.at(dim)))};
}

template <typename T>
static std::vector<T> unbind(const Call &call, const T &x) {
  Sizes sizes = sizesOf(call, x);
  size_t dim = call.dim("dim", sizes.size());
  std::vector<T> all;
  for (int64_t i = 0; i < sizes.at(dim); ++i)
    all.push_back(selected(call, x, dim, i));
  return all;
}

/// A part that nothing uses is a view of nothing: it is not written.
template <typename T>
static std::vector<T> parts(const Call &call, const T &x) {
  Sizes sizes = sizesOf(call, x);
  size_t dim = call.dim("dim", sizes.size());
  std::vector<T> all;
  int64_t begin = 0;
  for (size_t i = 0; i < call.results(); ++i) {
    int64_t count = call.result(i).sizes.at(dim);
    if (begin + count > sizes.at(dim))
      refuse("has parts that are longer than its operand");
    all.push_back(count == 0 ? nothing(x, call.result(i).sizes)
                             : sliced(call, x, dim, begin, count, 1));
    begin += count;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Further positions
//===----------------------------------------------------------------------===//

/// [before, after] of the last dimension, then of the one before it.
static Results pad(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  Sizes amounts = call.list("pad");
  if (call.has("mode") && call.word("mode") != "constant")
    refuse("pads in mode '{}'; known is 'constant'", call.word("mode"));
  double value = call.isNone("value") ? 0 : call.number("value");
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > x.dims.size())
    refuse("pads by [{}]", fmt::join(amounts, ", "));
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    size_t dim = x.dims.size() - 1 - i;
    int64_t before = amounts[2 * i], after = amounts[2 * i + 1];
    int64_t size = build.sizes(x)[dim];
    int64_t from = std::max<int64_t>(-before, 0),
            to = size + std::min<int64_t>(after, 0);
    if (to <= from)
      refuse("pads by [{}]", fmt::join(amounts, ", "));
    x = build.cut(x, dim, from, to - from);
    x = build.padded(x, dim, std::max<int64_t>(before, 0),
                     std::max<int64_t>(after, 0), value);
  }
  return {x};
}

/// [a, b] becomes [n, a, m, b], and then [n a, m b].
template <typename T> static std::vector<T> repeat(const Call &call, T x) {
  Sizes repeats = call.list("repeats"), sizes;
  while (sizesOf(call, x).size() < repeats.size())
    x = unsqueezed(x, 0);
  for (size_t i = 0; i < repeats.size(); ++i) {
    sizes.push_back(repeats[i]);
    sizes.push_back(sizesOf(call, x)[2 * i]);
    x = unsqueezed(x, 2 * i);
  }
  return {viewed(call, expanded(call, x, sizes), call.result().sizes)};
}

/// The last dimensions of x as these sizes, in another order.
template <typename T>
static std::vector<T> lastPermuted(const Call &call, const T &x,
                                   const Sizes &last,
                                   const std::vector<size_t> &order) {
  Sizes sizes = sizesOf(call, x);
  if (sizes.size() < 3)
    refuse("is of a tensor of {} dimensions", sizes.size());
  sizes.resize(sizes.size() - 3);
  std::vector<size_t> dims(sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  for (size_t dim : order)
    dims.push_back(sizes.size() + dim);
  sizes.insert(sizes.end(), last.begin(), last.end());
  return {viewed(call, permuted(viewed(call, x, sizes), dims),
                 call.result().sizes)};
}

/// [c r r, h, w] to [c, h r, w r].
template <typename T>
static std::vector<T> pixelShuffle(const Call &call, const T &x) {
  int64_t r = call.integer("upscale_factor");
  Sizes sizes = call.result().sizes;
  std::reverse(sizes.begin(), sizes.end());
  return lastPermuted(call, x, {sizes.at(2), r, r, sizes[1] / r, sizes[0] / r},
                      {0, 3, 1, 4, 2});
}

/// [c, h r, w r] to [c r r, h, w].
template <typename T>
static std::vector<T> pixelUnshuffle(const Call &call, const T &x) {
  int64_t r = call.integer("downscale_factor");
  Sizes sizes = call.result().sizes;
  std::reverse(sizes.begin(), sizes.end());
  return lastPermuted(call, x,
                      {sizes.at(2) / (r * r), sizes[1], r, sizes[0], r},
                      {0, 2, 4, 1, 3});
}

/// [c, h r, w q] to [c r q, h w]: patches, which do not overlap.
template <typename T>
static std::vector<T> patches(const Call &call, const T &x,
                              const Sizes &kernel) {
  Sizes sizes = sizesOf(call, x);
  std::reverse(sizes.begin(), sizes.end());
  return lastPermuted(call, x,
                      {sizes.at(2), sizes[1] / kernel[0], kernel[0],
                       sizes[0] / kernel[1], kernel[1]},
                      {0, 2, 4, 1, 3});
}

/// Patches of an image, at every place or side by side.
static std::vector<Tensor> patchesOf(Call &call) {
  Tensor x = call.value("self");
  Sizes kernel = call.list("kernel_size"), stride = call.list("stride"),
        padding = call.list("padding"), sizes = call.build.sizes(x);
  bool isDense = call.list("dilation") == Sizes{1, 1},
       isSideBySide = isDense && stride == kernel && padding == Sizes{0, 0};
  if (kernel.size() != 2 || padding.size() != 2 || sizes.size() < 3)
    refuse("takes patches of {} dimensions", kernel.size());
  for (size_t i = 0; i < 2; ++i)
    isSideBySide &= sizes[sizes.size() - 2 + i] % kernel[i] == 0;
  if (isSideBySide)
    return patches(call, x, kernel);
  if (!isDense || stride != Sizes{1, 1})
    refuse("takes patches with a dilation, or that neither are at every place "
           "nor side by side");
  return {call.build.viewed(windows(call.build, x, kernel, padding),
                            call.result().sizes)};
}

template <typename T>
static std::vector<T> repeatInterleave(const Call &call, T x) {
  size_t dim = call.dim("dim", sizesOf(call, x).size());
  x = unsqueezed(x, dim + 1);
  Sizes sizes = sizesOf(call, x);
  sizes[dim + 1] = call.integer("repeats");
  return {viewed(call, expanded(call, x, sizes), call.result().sizes)};
}

/// An operation that computes nothing: a condition on sizes. Only the ranges of
/// extents are checked.
static Operator assertion(std::string name, std::string schema) {
  return {std::move(name), std::move(schema),
          [](const Call &) { return Constants(); },
          [](Call &) { return Results(); }};
}

const Operators &torch::viewOperators() {
  auto generic = [](auto function) { return function; };
  static const Operators rows = {
#define BOTH(function)                                                         \
  generic([](const Call &call, const auto &x) { return function(call, x); })
      row("view", "self, ~size", BOTH(view)),
      row("_unsafe_view", "self, ~size", BOTH(view)),
      row("reshape", "self, ~shape", BOTH(view)),
      row("flatten.using_ints", "self, ~start_dim=0, ~end_dim=-1", BOTH(view)),
      row("unflatten.int", "self, ~dim, ~sizes", BOTH(view)),
      row("squeeze", "self", BOTH(view)),
      row("squeeze.dim", "self, ~dim", BOTH(view)),
      row("squeeze.dims", "self, ~dim", BOTH(view)),
      row("expand", "self, ~size, ~implicit=False", BOTH(expand)),
      row("unsqueeze", "self, dim", BOTH(unsqueeze)),
      row("transpose.int", "self, dim0, dim1", BOTH(transpose)),
      row("t", "self, dim0=0, dim1=-1", BOTH(transpose)),
      row("permute", "self, dims", BOTH(permute)),
      row("slice.Tensor", "self, dim=0, start=None, end=None, step=1",
          BOTH(slice)),
      row("select.int", "self, dim, index", BOTH(select)),
      row("unbind.int", "self, dim=0", BOTH(unbind)),
      row("split.Tensor", "self, ~split_size, dim=0", BOTH(parts)),
      row("split_with_sizes", "self, ~split_sizes, dim=0", BOTH(parts)),
      row("chunk", "self, ~chunks, dim=0", BOTH(parts)),
      row("repeat", "self, repeats", BOTH(repeat)),
      row("pixel_shuffle", "self, upscale_factor", BOTH(pixelShuffle)),
      row("pixel_unshuffle", "self, downscale_factor", BOTH(pixelUnshuffle)),
      row("repeat_interleave.self_int",
          "self, repeats, dim=None, ~output_size=None", BOTH(repeatInterleave)),
#undef BOTH
      {"im2col", "self, kernel_size, dilation, padding, stride", {}, patchesOf},
      {"constant_pad_nd", "self, pad, value=0", {}, pad},
      {"pad", "self, pad, mode=constant, value=None", {}, pad},
      assertion("_assert_tensor_metadata",
                "~a, ~size=None, ~stride=None, ~dtype=None"),
      assertion("_assert_scalar", "~self, ~assert_msg"),
      assertion("sym_constrain_range", "~size, ~min=None, ~max=None"),
      assertion("sym_constrain_range_for_size", "~size, ~min=None, ~max=None"),
  };
  return rows;
}
