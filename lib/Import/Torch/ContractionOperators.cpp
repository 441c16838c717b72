// Products and sums.
#include "Operators.h"
#include "Products.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Tensor torch::linear(Builder &build, Tensor x, Tensor w,
                     const std::optional<Tensor> &bias, ScalarType type) {
  if (x.dims.empty() || w.dims.size() != 2)
    refuse("has a weight of {} dimensions", w.dims.size());
  size_t last = x.dims.size() - 1;
  build.align(x, last, w, 1);
  AtomList free = build.atomsOf(x.dims);
  build.makeDistinct(free, w, 0);
  Dims dims = x.dims;
  dims[last] = w.dims[0];
  Tensor y = build.contracted(w, x, dims, type);
  return bias ? build.pointwise("add", {y, *bias}, y.type) : y;
}

static Results linearOf(Call &call) {
  std::optional<Tensor> bias = call.maybe("bias");
  if (bias)
    bias = call.lifted(*bias);
  return {linear(call.build, call.value("input"), call.value("weight"), bias,
                 call.result().type)};
}

/// a[..., m, k] b[..., k, n]. A vector is a matrix of one row or column.
static Tensor product(Call &call, Tensor a, Tensor b) {
  Builder &build = call.build;
  bool isRow = a.dims.size() == 1, isColumn = b.dims.size() == 1;
  if (a.dims.empty() || b.dims.empty())
    refuse("multiplies a number as a matrix");
  if (isRow)
    a.dims.insert(a.dims.begin(), AtomList{});
  if (isColumn)
    b.dims.emplace_back();
  size_t m = a.dims.size() - 2, k = b.dims.size() - 2;
  Dims dims(std::max(m, k));
  for (size_t i = 1; i <= dims.size(); ++i) {
    bool ofA = i <= m && !a.dims[m - i].empty(),
         ofB = i <= k && !b.dims[k - i].empty();
    if (ofA && ofB)
      build.align(a, m - i, b, k - i);
    else if (ofB)
      build.makeDistinct(build.atomsOf(a.dims), b, k - i);
  }
  build.align(a, m + 1, b, k);
  build.makeDistinct(build.atomsOf(a.dims), b, k + 1);
  for (size_t i = 1; i <= dims.size(); ++i)
    dims[dims.size() - i] = i <= m && !a.dims[m - i].empty() ? a.dims[m - i]
                            : i <= k                         ? b.dims[k - i]
                                                             : AtomList{};
  dims.push_back(a.dims[m]);
  dims.push_back(b.dims[k + 1]);
  Tensor y = build.contracted(a, b, dims, call.result().type);
  if (isRow)
    y.dims.erase(y.dims.end() - 2);
  if (isColumn)
    y.dims.pop_back();
  return y;
}

static Results matmul(Call &call) {
  return {product(call, call.value("self"),
                  call.isTensor("mat2") ? call.value("mat2")
                                        : call.value("other"))};
}

static Tensor scaled(Call &call, const Tensor &x, double factor) {
  if (factor == 1)
    return x;
  return call.build.pointwise("scale", {x}, x.type, {{"factor", factor}});
}

/// beta self + alpha (a b).
static Results added(Call &call, const char *a, const char *b) {
  Tensor y = scaled(call, product(call, call.value(a), call.value(b)),
                    call.number("alpha"));
  if (call.number("beta") == 0)
    return {y};
  Tensor self = scaled(call, call.value("self"), call.number("beta"));
  return {call.build.pointwise("add", {y, self}, call.result().type)};
}

static Results addmm(Call &call) { return added(call, "mat1", "mat2"); }
static Results baddbmm(Call &call) { return added(call, "batch1", "batch2"); }

/// "bij,bjk->bik", of one or two tensors.
static Results einsum(Call &call) {
  Builder &build = call.build;
  std::string equation = call.word("equation");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '),
                 equation.end());
  size_t arrow = equation.find("->");
  std::vector<std::optional<Tensor>> operands = call.tensors("tensors");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos ||
      operands.empty() || operands.size() > 2)
    refuse("has the equation '{}'; known are one or two tensors, with letters "
           "and '->'",
           equation);
  std::map<char, std::pair<Tensor, size_t>> letters;
  std::vector<Tensor> values;
  size_t at = 0;
  for (const auto &operand : operands) {
    Tensor x = call.lifted(*operand);
    for (size_t i = 0; i < x.dims.size(); ++i, ++at) {
      auto found = letters.find(equation.at(at));
      if (found != letters.end() && !x.dims[i].empty())
        build.align(found->second.first, found->second.second, x, i);
      else if (!values.empty())
        build.makeDistinct(build.atomsOf(values.front().dims), x, i);
    }
    at -= x.dims.size();
    for (size_t i = 0; i < x.dims.size(); ++i, ++at)
      letters.try_emplace(equation.at(at), x, i);
    ++at;
    values.push_back(x);
  }
  Dims dims;
  for (char letter : equation.substr(arrow + 2)) {
    auto found = letters.find(letter);
    if (found == letters.end())
      refuse("has the equation '{}'", equation);
    dims.push_back(found->second.first.dims[found->second.second]);
  }
  if (values.size() == 1)
    return {build.emit("einsum", values, dims, call.result().type)};
  return {build.contracted(values[0], values[1], dims, call.result().type)};
}

static Constants foldProduct(const Call &call, const char *right) {
  ConstantPtr a = call.tensor("self").constant, b = call.tensor(right).constant;
  if (a->sizes().size() < 2 || b->sizes().size() < 2)
    refuse("multiplies constant vectors");
  int64_t inner = a->sizes().back();
  auto element = [&](const Sizes &position) {
    auto placed = [&](const Constant &one, int64_t row, int64_t column) {
      Sizes place(position.end() - static_cast<int64_t>(one.sizes().size()),
                  position.end());
      for (size_t i = 0; i < place.size(); ++i)
        place[i] = one.sizes()[i] == 1 ? 0 : place[i];
      place[place.size() - 2] = row;
      place[place.size() - 1] = column;
      return one.at(place);
    };
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k)
      sum += placed(*a, position[position.size() - 2], k) *
             placed(*b, k, position.back());
    return sum;
  };
  return {
      Constant::evaluated(call.result().type, call.result().sizes, element)};
}

static Constants foldMatmul(const Call &call) {
  return foldProduct(call, "other");
}
static Constants foldBmm(const Call &call) { return foldProduct(call, "mat2"); }

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Without dimensions that have one position, unless it keeps them.
static Tensor withoutDims(Tensor x, std::vector<size_t> dims, bool keeps) {
  if (keeps)
    return x;
  std::sort(dims.rbegin(), dims.rend());
  for (size_t dim : dims)
    x.dims.erase(x.dims.begin() + static_cast<int64_t>(dim));
  return x;
}

static Tensor reduced(Call &call, Tensor x, const std::vector<size_t> &dims,
                      bool keeps, const std::string &operation,
                      Attributes attributes) {
  Builder &build = call.build;
  Dims rest = x.dims;
  for (size_t dim : dims) {
    x = build.materialized(x, dim);
    rest.at(dim).clear();
  }
  Tensor y = x;
  if (!build.atomsOf(rest).empty() || !build.atomsOf(x.dims).empty())
    y = build.emit(operation, {x}, rest, call.result().type,
                   std::move(attributes));
  return withoutDims(y, dims, keeps);
}

static Emit reduction(const std::string &operation, const std::string &kind) {
  return [=](Call &call) -> Results {
    Tensor x = call.value("self");
    Attributes attributes;
    if (!kind.empty())
      attributes["kind"] = kind;
    return {reduced(call, x, call.dims("dim", x.dims.size()),
                    call.flag("keepdim"), operation, std::move(attributes))};
  };
}

static Results amin(Call &call) {
  Tensor x =
      call.build.pointwise("neg", {call.value("self")}, call.result().type);
  Tensor y =
      reduced(call, x, call.dims("dim", x.dims.size()), call.flag("keepdim"),
              "reduce", {{"kind", std::string("max")}});
  return {call.build.pointwise("neg", {y}, y.type)};
}

/// The norm of order 1, 2 or infinity.
static Results vectorNorm(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  double order = call.number("ord");
  std::vector<size_t> dims = call.dims("dim", x.dims.size());
  bool keeps = call.flag("keepdim");
  if (order == 2) {
    Tensor square = build.pointwise("square", {x}, x.type);
    Tensor sum = reduced(call, square, dims, keeps, "reduce",
                         {{"kind", std::string("sum")}});
    return {build.pointwise("sqrt", {sum}, sum.type)};
  }
  if (order != 1 && order != INFINITY)
    refuse("is the norm of order {}; known are 1, 2 and infinity", order);
  Tensor negative = build.pointwise("neg", {x}, x.type);
  Tensor absolute = build.pointwise("max", {x, negative}, x.type);
  return {reduced(call, absolute, dims, keeps, "reduce",
                  {{"kind", std::string(order == 1 ? "sum" : "max")}})};
}

/// The most factors of a product that is written out.
static constexpr int64_t mostFactors = 64;

/// The product of each position along a dimension and all before it: a
/// recurrence that begins with the first position.
static Tensor productsAlong(Call &call, const Tensor &x, size_t dim) {
  Builder &build = call.build;
  Tensor each = build.materialized(x, dim);
  Sizes looked(each.dims.size(), 1);
  looked[dim] = build.sizes(each).at(dim);
  if (looked[dim] == 0)
    refuse("multiplies no positions");
  if (looked[dim] == 1)
    return x;
  each = build.single(each, dim);
  Tensor first;
  first.type = x.type;
  first.constant = Constant::evaluated(x.type, looked, [&](const Sizes &at) {
    return at[dim] == 0 ? 1.0 : 0.0;
  });
  Tensor begin = build.pointwise("mul", {each, call.lifted(first)}, x.type);
  return build.emit("scan", {begin, each}, each.dims, x.type,
                    {{"index", IndexAttribute{each.dims[dim]}}});
}

static Tensor withDim(Tensor x, size_t dim) {
  x.dims.insert(x.dims.begin() + static_cast<int64_t>(dim), AtomList{});
  return x;
}

static Tensor productOf(Call &call, const Tensor &x, size_t dim) {
  Builder &build = call.build;
  int64_t size = build.sizes(x).at(dim);
  if (size > mostFactors)
    return build.taken(productsAlong(call, x, dim), dim, size - 1);
  if (size == 0)
    refuse("multiplies no positions");
  Tensor product = build.taken(x, dim, 0);
  for (int64_t at = 1; at < size; ++at)
    product =
        build.pointwise("mul", {product, build.taken(x, dim, at)}, x.type);
  return product;
}

static Results productAlong(Call &call) {
  Tensor x = call.value("self");
  size_t dim = call.dim("dim", x.dims.size());
  Tensor y = productOf(call, x, dim);
  return {call.flag("keepdim") ? withDim(y, dim) : y};
}

static Results productsUpTo(Call &call) {
  Tensor x = call.value("self");
  return {productsAlong(call, x, call.dim("dim", x.dims.size()))};
}

namespace {

struct Moments {
  Tensor mean, variance;
};

} // namespace

/// The mean, and the mean squared difference from it times
/// n / (n - correction).
static Moments moments(Call &call, double correction) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  std::vector<size_t> dims = call.dims("dim", x.dims.size());
  Moments out;
  Tensor mean = reduced(call, x, dims, true, "mean", {});
  Tensor difference = build.pointwise("sub", {x, mean}, x.type);
  Tensor square = build.pointwise("square", {difference}, x.type);
  double count = 1;
  for (size_t dim : dims)
    count *= static_cast<double>(build.sizes(x).at(dim));
  if (count <= correction)
    refuse("is a variance of {} numbers with correction {}", count, correction);
  bool keeps = call.flag("keepdim");
  out.mean = withoutDims(mean, dims, keeps);
  out.variance = scaled(call, reduced(call, square, dims, keeps, "mean", {}),
                        count / (count - correction));
  return out;
}

/// `correction` or `unbiased`, whichever the operation has. By default it is 1.
static double correctionOf(const Call &call) {
  if (call.has("unbiased"))
    return call.flag("unbiased") ? 1 : 0;
  return call.isNone("correction") ? 1 : call.number("correction");
}

static Results variance(Call &call) {
  return {moments(call, correctionOf(call)).variance};
}

static Results deviation(Call &call) {
  Tensor y = moments(call, correctionOf(call)).variance;
  return {call.build.pointwise("sqrt", {y}, y.type)};
}

static Results varianceAndMean(Call &call) {
  Moments found = moments(call, correctionOf(call));
  return {found.variance, found.mean};
}

static Results deviationAndMean(Call &call) {
  Moments found = moments(call, correctionOf(call));
  return {call.build.pointwise("sqrt", {found.variance}, found.mean.type),
          found.mean};
}

static Constants foldReduction(const Call &call, bool isMean) {
  ConstantPtr x = call.tensor("self").constant;
  std::vector<size_t> dims = call.dims("dim", x->sizes().size());
  Sizes sizes = x->sizes();
  double count = 1;
  for (size_t dim : dims) {
    count *= static_cast<double>(sizes.at(dim));
    sizes[dim] = 1;
  }
  std::vector<double> sums(elementsOf(sizes), 0);
  forEachPosition(x->sizes(), [&](const Sizes &position) {
    int64_t place = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      place = place * sizes[i] + (sizes[i] == 1 ? 0 : position[i]);
    sums[place] += x->at(position) / (isMean ? count : 1);
  });
  for (double &sum : sums)
    sum = rounded(sum, call.result().type);
  return {Constant::dense(call.result().type, call.result().sizes,
                          std::move(sums))};
}

static Constants foldSum(const Call &call) {
  return foldReduction(call, false);
}
static Constants foldMean(const Call &call) {
  return foldReduction(call, true);
}

const Operators &torch::contractionOperators() {
  static const std::string operands =
      "self, dim=None, ~keepdim=False, ~dtype=None";
  static const Operators rows = {
      {"linear", "input, weight, bias=None", {}, linearOf},
      {"matmul", "self, other, mat2=None", foldMatmul, matmul},
      {"mm", "self, mat2", foldBmm, matmul},
      {"bmm", "self, mat2", foldBmm, matmul},
      {"addmm", "~self, mat1, mat2, beta=1, alpha=1", {}, addmm},
      {"baddbmm", "~self, batch1, batch2, beta=1, alpha=1", {}, baddbmm},
      {"einsum", "equation, tensors, ~path=None", {}, einsum},
      {"sum.dim_IntList", operands, foldSum, reduction("reduce", "sum")},
      {"sum", operands, foldSum, reduction("reduce", "sum")},
      {"mean.dim", operands, foldMean, reduction("mean", "")},
      {"mean", operands, foldMean, reduction("mean", "")},
      {"amax", operands, {}, reduction("reduce", "max")},
      {"amin", operands, {}, amin},
      {"max", operands, {}, reduction("reduce", "max")},
      {"min", operands, {}, amin},
      {"linalg_vector_norm",
       "self, ord=2, dim=None, keepdim=False, ~dtype=None",
       {},
       vectorNorm},
      {"prod.dim_int",
       "self, dim, keepdim=False, ~dtype=None",
       {},
       productAlong},
      {"cumprod", "self, dim, ~dtype=None", {}, productsUpTo},
  };
  static const Operators all = [] {
    Operators found = rows;
    const std::vector<std::pair<std::string, Emit>> statistics = {
        {"var", variance},
        {"std", deviation},
        {"var_mean", varianceAndMean},
        {"std_mean", deviationAndMean}};
    for (const auto &[of, emit] : statistics) {
      found.push_back({of + ".correction",
                       "self, dim=None, correction=None, keepdim=False",
                       {},
                       emit});
      found.push_back(
          {of + ".dim", "self, dim, unbiased=True, keepdim=False", {}, emit});
      found.push_back(
          {of, "self, unbiased=True, dim=None, keepdim=False", {}, emit});
    }
    return found;
  }();
  return all;
}
