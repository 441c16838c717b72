// Angles of cosines and sines, as polynomials.
#include "Folding.h"

#include <cmath>
#include <iterator>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

namespace {

/// Operations on tensors of one type.
struct Numbers {
  Builder &build;
  ScalarType type;

  Tensor of(const char *name, const Tensor &x, Attributes more = {}) const {
    return build.pointwise(name, {x}, type, std::move(more));
  }
  Tensor of(const char *name, const Tensor &x, const Tensor &y) const {
    return build.pointwise(name, {x, y}, type);
  }
  Tensor fixed(const Tensor &x) const { return of("stop_gradient", x); }
  /// by - x.
  Tensor from(double by, const Tensor &x) const {
    return of("shift", of("neg", x), {{"by", by}});
  }
};

} // namespace

/// The angle between 0 and pi / 2 whose cosine is x: sqrt(1 - x) times a
/// polynomial (Abramowitz and Stegun, 4.4.46). The error is at most 2e-8.
static Tensor acuteAngle(const Numbers &all, const Tensor &x) {
  static constexpr double coefficients[] = {
      0.0066700901, -0.0170881256, 0.0308918810, -0.0501743046,
      0.0889789874, -0.2145988016, 1.5707963050};
  Tensor sum = all.of("scale", x, {{"factor", -0.0012624911}});
  for (const double &one : coefficients) {
    sum = all.of("shift", sum, {{"by", one}});
    if (&one != std::end(coefficients) - 1)
      sum = all.of("mul", sum, x);
  }
  return all.of("mul", all.of("sqrt", all.from(1, x)), sum);
}

/// The polynomial has the value, and -1 / sqrt(1 - x^2) is the gradient.
static Tensor angle(Call &call) {
  Tensor x = call.value("self");
  Numbers all{call.build, x.type};
  Tensor own = all.fixed(x), opposite = all.of("neg", own);
  Tensor acute = acuteAngle(all, all.of("max", own, opposite));
  Tensor zero = call.build.number(0, call.build.elementOf(x));
  Tensor isObtuse = call.build.pointwise("compare", {own, zero}, x.type,
                                         {{"is", std::string("less")}});
  Tensor value = call.build.pointwise(
      "select", {isObtuse, all.from(M_PI, acute), acute}, x.type);
  constexpr double smallest = 1e-30;
  Tensor slope =
      all.of("rsqrt", all.of("clamp", all.from(1, all.of("square", own)),
                             {{"low", smallest}}));
  return all.of("sub", value, all.of("mul", slope, all.of("sub", x, own)));
}

static Results arcCosine(Call &call) { return {angle(call)}; }

static Results arcSine(Call &call) {
  Tensor x = angle(call);
  return {Numbers{call.build, x.type}.from(M_PI / 2, x)};
}

const Operators &torch::angleOperators() {
  auto fold = [](double (*of)(double)) {
    return foldOf({"self"},
                  [of](const std::vector<double> &x) { return of(x[0]); });
  };
  static const Operators rows = {
      {"acos", "self", fold(std::acos), arcCosine},
      {"asin", "self", fold(std::asin), arcSine},
  };
  return rows;
}
