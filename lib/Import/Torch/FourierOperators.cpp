// Discrete Fourier transforms. A transform along a dimension is a product with
// the matrix of its cosines, and one with that of its sines.
#include "Complex.h"
#include "Refusal.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

/// The matrices of longer transforms would be large.
static constexpr int64_t mostPositions = 1024;

namespace {

/// A transform along one dimension.
struct Transform {
  size_t dim;
  /// The positions of a period.
  int64_t period;
  /// -1, or 1 for an inverse.
  int sign;
  double scale;
};

/// Real and imaginary part; real numbers have no other.
struct Parts {
  Tensor real;
  std::optional<Tensor> imaginary;
};

} // namespace

/// The factor of `norm`, by which a transform and its inverse divide a period.
static double scaleOf(const Call &call, int64_t period, bool isInverse) {
  std::string norm = call.isNone("norm") ? "backward" : call.word("norm");
  if (norm == "ortho")
    return 1 / std::sqrt(static_cast<double>(period));
  if (norm != "backward" && norm != "forward")
    refuse("has the norm '{}'", norm);
  bool divides = isInverse == (norm == "backward");
  return divides ? 1 / static_cast<double>(period) : 1;
}

/// The product of a dimension with [to, from] factors, each a function of an
/// angle, times the weight of its column.
static Tensor transformed(Call &call, const Tensor &x,
                          const Transform &transform, int64_t to,
                          double (*of)(double),
                          const std::function<double(int64_t)> &weight) {
  Tensor matrix;
  matrix.type = ScalarType::F32;
  matrix.constant = Constant::evaluated(
      matrix.type, {to, call.build.sizes(x).at(transform.dim)},
      [&](const Sizes &at) {
        // Whole periods are left out, so that large angles stay accurate.
        auto place = static_cast<double>(at[0] * at[1] % transform.period);
        double angle = 2 * M_PI * place / static_cast<double>(transform.period);
        return transform.scale * weight(at[1]) * of(angle);
      });
  return call.build.multiplied(call.lifted(matrix), x, transform.dim);
}

static double everyColumn(int64_t) { return 1; }

static Tensor cosines(Call &call, const Tensor &x, const Transform &transform,
                      int64_t to) {
  return transformed(call, x, transform, to, std::cos, everyColumn);
}

static Tensor sines(Call &call, const Tensor &x, const Transform &transform,
                    int64_t to) {
  return transformed(call, x, transform, to, std::sin, everyColumn);
}

static Tensor combined(Call &call, const char *function, const Tensor &x,
                       const Tensor &y) {
  return call.build.pointwise(function, {x, y}, x.type);
}

/// (a + b i) (cos + sign sin i), summed. `to` are the positions of the result.
static Parts transformed(Call &call, const Parts &x, const Transform &transform,
                         int64_t to) {
  const char *plus = transform.sign > 0 ? "add" : "sub",
             *minus = transform.sign > 0 ? "sub" : "add";
  Parts out{cosines(call, x.real, transform, to),
            sines(call, x.real, transform, to)};
  if (!x.imaginary) {
    if (transform.sign < 0)
      out.imaginary =
          call.build.pointwise("neg", {*out.imaginary}, out.imaginary->type);
    return out;
  }
  out.real =
      combined(call, minus, out.real, sines(call, *x.imaginary, transform, to));
  out.imaginary = combined(
      call, plus, cosines(call, *x.imaginary, transform, to), *out.imaginary);
  return out;
}

/// The real result of an inverse, from the first half of its numbers: the
/// others are their conjugates.
static Tensor ofHalf(Call &call, const Parts &x, const Transform &transform) {
  auto weight = [&](int64_t column) {
    return column == 0 || 2 * column == transform.period ? 1.0 : 2.0;
  };
  Tensor real = transformed(call, x.real, transform, transform.period, std::cos,
                            weight),
         other = transformed(call, *x.imaginary, transform, transform.period,
                             std::sin, weight);
  return combined(call, "sub", real, other);
}

/// At most `most` positions of a dimension. Missing ones count as 0.
static Parts limited(Call &call, Parts x, size_t dim, int64_t most) {
  if (call.build.sizes(x.real).at(dim) <= most)
    return x;
  x.real = call.build.cut(x.real, dim, 0, most);
  if (x.imaginary)
    x.imaginary = call.build.cut(*x.imaginary, dim, 0, most);
  return x;
}

static Parts operandOf(Call &call) {
  if (!call.isComplex("self"))
    return {call.value("self"), {}};
  Tensor x = call.tensor("self");
  return {partOf(call, x, 0), partOf(call, x, 1)};
}

/// The dimensions, in their order; the last is transformed first.
static std::vector<size_t> dimsOf(const Call &call, size_t rank, size_t last) {
  // Call::dim counts the parts of a complex result.
  if (call.has("n"))
    return {call.dim("dim", rank + (call.result().isComplex ? 1 : 0))};
  if (!call.isNone("dim"))
    return call.list("dim").empty() ? std::vector<size_t>()
                                    : call.dims("dim", rank);
  if (!call.isNone("s"))
    last = call.list("s").size();
  std::vector<size_t> dims;
  for (size_t dim = rank - std::min(last, rank); dim < rank; ++dim)
    dims.push_back(dim);
  return dims;
}

/// The period that is asked for along the dimension `number`, or `own`.
static int64_t periodOf(const Call &call, size_t number, int64_t own) {
  const char *name = call.has("n") ? "n" : "s";
  if (call.isNone(name))
    return own;
  int64_t given = call.list(name).at(number);
  return given < 0 ? own : given;
}

enum class Kind { Complex, OfReal, ToReal };

static void checkPeriod(int64_t period) {
  if (period < 1 || period > mostPositions)
    refuse("transforms {} positions; known are up to {}", period,
           mostPositions);
}

/// `last`: how many dimensions are transformed if none is given.
static Emit transform(Kind kind, bool isInverse, size_t last) {
  return [=](Call &call) -> Results {
    Parts x = operandOf(call);
    Sizes sizes = call.build.sizes(x.real);
    std::vector<size_t> dims = dimsOf(call, sizes.size(), last);
    if (dims.empty())
      refuse("transforms no dimension");
    if (kind == Kind::ToReal && !x.imaginary)
      refuse("makes real numbers of real ones");
    // A transform to real numbers has the dimension of halves last.
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t number = kind == Kind::ToReal ? i : dims.size() - 1 - i,
             dim = dims[number];
      bool isHalf = number == dims.size() - 1 && kind != Kind::Complex;
      int64_t own = sizes[dim];
      if (isHalf && kind == Kind::ToReal)
        own = 2 * (own - 1);
      int64_t period = periodOf(call, number, own);
      checkPeriod(period);
      Transform one{dim, period, isInverse ? 1 : -1,
                    scaleOf(call, period, isInverse)};
      if (isHalf && kind == Kind::ToReal)
        return {ofHalf(call, limited(call, x, dim, period / 2 + 1), one)};
      x = transformed(call, limited(call, x, dim, period), one,
                      isHalf ? period / 2 + 1 : period);
    }
    return {complexOf(call, x.real, *x.imaginary)};
  };
}

const Operators &torch::fourierOperators() {
  static const Operators all = [] {
    const std::vector<std::pair<std::string, std::pair<Kind, bool>>> kinds = {
        {"fft", {Kind::Complex, false}},
        {"ifft", {Kind::Complex, true}},
        {"rfft", {Kind::OfReal, false}},
        {"irfft", {Kind::ToReal, true}}};
    Operators found;
    for (const auto &[name, how] : kinds) {
      auto [kind, isInverse] = how;
      found.push_back({"fft_" + name,
                       "self, n=None, dim=-1, norm=None",
                       {},
                       transform(kind, isInverse, 1)});
      found.push_back({"fft_" + name + "2",
                       "self, s=None, dim=None, norm=None",
                       {},
                       transform(kind, isInverse, 2)});
      found.push_back({"fft_" + name + "n",
                       "self, s=None, dim=None, norm=None",
                       {},
                       transform(kind, isInverse, SIZE_MAX)});
    }
    return found;
  }();
  return all;
}
