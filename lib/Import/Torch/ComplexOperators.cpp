// Complex numbers, as rotations of features have them. A tensor of them has a
// last dimension of two positions: the real and the imaginary part.
#include "Complex.h"
#include "Joins.h"
#include "Refusal.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

bool torch::touchesComplex(const Graph &graph, const Node &node) {
  auto isComplex = [&](const std::string &name) {
    auto found = graph.tensors.find(name);
    return found != graph.tensors.end() && found->second.isComplex;
  };
  bool touches =
      std::any_of(node.outputs.begin(), node.outputs.end(), isComplex);
  for (const auto &entry : node.arguments)
    if (const auto *tensor = std::get_if<TensorName>(&entry.second))
      touches |= isComplex(tensor->name);
  return touches;
}

Tensor torch::partOf(Call &call, const Tensor &x, int64_t which) {
  if (!x.constant)
    return call.build.taken(x, x.dims.size() - 1, which);
  Tensor out = x;
  out.stored.clear();
  out.constant = x.constant->selected(x.constant->sizes().size() - 1, which);
  return call.lifted(out);
}

Tensor torch::complexOf(Call &call, Tensor real, Tensor imaginary) {
  real.dims.emplace_back();
  imaginary.dims.emplace_back();
  return concatenated(call.build, {real, imaginary}, real.dims.size() - 1, 2,
                      call.result().type);
}

static Tensor combined(Call &call, const char *function, const Tensor &x,
                       const Tensor &y) {
  return call.build.pointwise(function, {x, y}, call.result().type);
}

/// The product of complex numbers and real ones.
static Tensor realMultiple(Call &call, const Tensor &z,
                           const std::string &factor) {
  if (!call.isTensor(factor))
    return call.build.pointwise("scale", {z}, call.result().type,
                                {{"factor", call.number(factor)}});
  Tensor by = call.value(factor);
  // Both parts have the same factor.
  by.dims.emplace_back();
  return combined(call, "mul", z, by);
}

/// (a + b i) (c + d i) = (a c - b d) + (a d + b c) i.
static Results product(Call &call) {
  if (!call.isComplex("other"))
    return {realMultiple(call, call.value("self"), "other")};
  if (!call.isComplex("self"))
    return {realMultiple(call, call.value("other"), "self")};
  Tensor x = call.tensor("self"), y = call.tensor("other");
  Tensor a = partOf(call, x, 0), b = partOf(call, x, 1), c = partOf(call, y, 0),
         d = partOf(call, y, 1);
  Tensor real = combined(call, "sub", combined(call, "mul", a, c),
                         combined(call, "mul", b, d));
  Tensor imaginary = combined(call, "add", combined(call, "mul", a, d),
                              combined(call, "mul", b, c));
  return {complexOf(call, real, imaginary)};
}

static Results conjugate(Call &call) {
  Tensor x = call.tensor("self");
  Tensor imaginary = partOf(call, x, 1);
  return {complexOf(call, partOf(call, x, 0),
                    call.build.pointwise("neg", {imaginary}, imaginary.type))};
}

static Emit onePart(int64_t which) {
  return [which](Call &call) -> Results {
    return {partOf(call, call.tensor("self"), which)};
  };
}

/// The elements are the same.
static Results same(Call &call) { return {call.tensor("self")}; }
static Constants foldSame(const Call &call) {
  return {call.tensor("self").constant};
}

/// Real and imaginary part at a position of complex numbers of these sizes.
static Constants
folded(const Call &call,
       const std::function<std::complex<double>(const Sizes &)> &number) {
  return {Constant::evaluated(
      call.result().type, call.result().sizes, [&](const Sizes &position) {
        std::complex<double> z = number(position);
        return position.back() == 0 ? z.real() : z.imag();
      })};
}

/// The operand's number at a position, whichever part that names.
static std::complex<double> numberAt(const ConstantPtr &x, Sizes position) {
  position.back() = 0;
  double real = x->at(position);
  position.back() = 1;
  return {real, x->at(position)};
}

/// The factors of a product at each position of its result.
static std::function<std::complex<double>(const Sizes &)>
factorOf(const Call &call, const std::string &name) {
  if (!call.isTensor(name))
    return [number = call.number(name)](const Sizes &) { return number; };
  Sizes sizes = call.result().sizes;
  ConstantPtr x = call.tensor(name).constant;
  if (call.isComplex(name))
    return [x = x->expanded(sizes)](const Sizes &position) {
      return numberAt(x, position);
    };
  sizes.pop_back();
  return [x = x->expanded(sizes)](Sizes position) {
    position.pop_back();
    return x->at(position);
  };
}

static Constants foldProduct(const Call &call) {
  auto x = factorOf(call, "self"), y = factorOf(call, "other");
  return folded(
      call, [=](const Sizes &position) { return x(position) * y(position); });
}

static Constants foldConjugate(const Call &call) {
  ConstantPtr x = call.tensor("self").constant;
  return folded(call, [=](const Sizes &position) {
    return std::conj(numberAt(x, position));
  });
}

/// abs (cos(angle) + sin(angle) i).
static Constants foldPolar(const Call &call) {
  ConstantPtr length = call.tensor("abs").constant,
              angle = call.tensor("angle").constant;
  const Sizes &sizes = call.result().sizes;
  Sizes logical(sizes.begin(), sizes.end() - 1);
  length = length->expanded(logical);
  angle = angle->expanded(logical);
  return folded(call, [=](const Sizes &position) {
    Sizes at(position.begin(), position.end() - 1);
    double turn = angle->at(at);
    return length->at(at) *
           std::complex<double>(std::cos(turn), std::sin(turn));
  });
}

/// A sum, or a difference, of numbers which all are complex.
static Emit sumOf(const char *function) {
  return [function](Call &call) -> Results {
    if (!call.isComplex("self") || !call.isComplex("other"))
      refuse("adds real numbers to complex ones");
    if (call.number("alpha") != 1)
      refuse("has alpha = {}; known is 1", call.number("alpha"));
    return {combined(call, function, call.value("self"), call.value("other"))};
  };
}

const Operators &torch::complexOperators() {
  static const Operators own = {
      {"view_as_complex", "self", foldSame, same},
      {"view_as_real", "self", foldSame, same},
      {"mul.Tensor", "self, other", foldProduct, product},
      {"mul.Scalar", "self, other", foldProduct, product},
      {"_conj", "self", foldConjugate, conjugate},
      {"conj_physical", "self", foldConjugate, conjugate},
      {"real", "self", {}, onePart(0)},
      {"imag", "self", {}, onePart(1)},
      {"polar", "abs, angle", foldPolar, {}},
      {"add.Tensor", "self, other, alpha=1", {}, sumOf("add")},
      {"sub.Tensor", "self, other, alpha=1", {}, sumOf("sub")},
  };
  static const Operators all = [] {
    Operators found = own;
    found.insert(found.end(), fourierOperators().begin(),
                 fourierOperators().end());
    return found;
  }();
  return all;
}
