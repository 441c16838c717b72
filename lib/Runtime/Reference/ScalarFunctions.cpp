//===- ScalarFunctions.cpp - scalar functions and their derivatives -------===//
//
// The forms below equal the textbook ones but avoid cancellation. 1 - sigmoid
// is sigmoid of the negative, 1 + erf(x) is erfc(-x), and 1 + tanh(u) is 2
// sigmoid(2u). An oracle must not lose digits that float32 kernels keep.
//
//===----------------------------------------------------------------------===//

#include "tpsp/Runtime/Reference.h"

#include <algorithm>
#include <numeric>

namespace tpsp::reference {

namespace {

using Unary = double (*)(double);

double sigmoid(double x) {
  // For negative x, exp(-x) could overflow; this form cannot.
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double slopeSigmoid(double x) { return sigmoid(x) * sigmoid(-x); }

double slopeTanh(double x) { return 4 * slopeSigmoid(2 * x); }

double relu(double x) { return x < 0 ? 0 : x; } // Keeps a NaN.

/// The subgradient 0 at 0.
double slopeRelu(double x) { return x > 0 ? 1 : 0; }

double silu(double x) { return x * sigmoid(x); }

double slopeSilu(double x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }

/// log(1 + exp(x)) without overflow.
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInvSqrtTwoPi = 0.39894228040143267794;
constexpr double kGeluCubic = 0.044715;

/// Twice the argument of the tanh in gelu, and its derivative.
double geluArgument(double x) {
  return 2 * kSqrtTwoOverPi * (x + kGeluCubic * x * x * x);
}
double slopeGeluArgument(double x) {
  return 2 * kSqrtTwoOverPi * (1 + 3 * kGeluCubic * x * x);
}

double gelu(double x) { return x * sigmoid(geluArgument(x)); }

double slopeGelu(double x) {
  // Beyond this bound the slope is 0 or 1, but a product below might be NaN.
  if (std::abs(x) > 40)
    return x > 0 ? 1 : 0;
  const double u = geluArgument(x);
  return sigmoid(u) + x * slopeSigmoid(u) * slopeGeluArgument(x);
}

double geluErf(double x) { return 0.5 * x * std::erfc(-x * kSqrtHalf); }

double slopeGeluErf(double x) {
  return 0.5 * std::erfc(-x * kSqrtHalf) +
         x * kInvSqrtTwoPi * std::exp(-0.5 * x * x);
}

double neg(double x) { return -x; }
double slopeNeg(double) { return -1; }
double exponential(double x) { return std::exp(x); }
double logarithm(double x) { return std::log(x); }
double slopeLog(double x) { return 1 / x; }
double hyperbolicTangent(double x) { return std::tanh(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double slopeCosine(double x) { return -std::sin(x); }
double squareRoot(double x) { return std::sqrt(x); }
double slopeSqrt(double x) { return 0.5 / std::sqrt(x); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double slopeRsqrt(double x) { return -0.5 / (x * std::sqrt(x)); }
double square(double x) { return x * x; }
double slopeSquare(double x) { return 2 * x; }

double add(const double *x, int count) {
  return std::accumulate(x, x + count, 0.0);
}
double sub(const double *x, int) { return x[0] - x[1]; }
double mul(const double *x, int) { return x[0] * x[1]; }
double div(const double *x, int) { return x[0] / x[1]; }
double maximum(const double *x, int) {
  return x[0] > x[1] || std::isnan(x[0]) ? x[0] : x[1]; // Keeps a NaN.
}

template <Unary f> double unary(const double *x, int) { return f(*x); }

constexpr ScalarFunction kFunctions[] = {
    {"neg", 1, unary<neg>},
    {"exp", 1, unary<exponential>},
    {"log", 1, unary<logarithm>},
    {"tanh", 1, unary<hyperbolicTangent>},
    {"sin", 1, unary<sine>},
    {"cos", 1, unary<cosine>},
    {"sqrt", 1, unary<squareRoot>},
    {"rsqrt", 1, unary<rsqrt>},
    {"square", 1, unary<square>},
    {"sigmoid", 1, unary<sigmoid>},
    {"relu", 1, unary<relu>},
    {"silu", 1, unary<silu>},
    {"softplus", 1, unary<softplus>},
    {"gelu", 1, unary<gelu>},
    {"gelu_erf", 1, unary<geluErf>},
    {"slope.neg", 1, unary<slopeNeg>},
    {"slope.exp", 1, unary<exponential>},
    {"slope.log", 1, unary<slopeLog>},
    {"slope.tanh", 1, unary<slopeTanh>},
    {"slope.sin", 1, unary<cosine>},
    {"slope.cos", 1, unary<slopeCosine>},
    {"slope.sqrt", 1, unary<slopeSqrt>},
    {"slope.rsqrt", 1, unary<slopeRsqrt>},
    {"slope.square", 1, unary<slopeSquare>},
    {"slope.sigmoid", 1, unary<slopeSigmoid>},
    {"slope.relu", 1, unary<slopeRelu>},
    {"slope.silu", 1, unary<slopeSilu>},
    {"slope.softplus", 1, unary<sigmoid>},
    {"slope.gelu", 1, unary<slopeGelu>},
    {"slope.gelu_erf", 1, unary<slopeGeluErf>},
    {"add", ScalarFunction::kVariadic, add},
    {"sub", 2, sub},
    {"mul", 2, mul},
    {"div", 2, div},
    {"maximum", 2, maximum},
};

} // namespace

const ScalarFunction *findScalarFunction(std::string_view name) {
  for (const ScalarFunction &function : kFunctions)
    if (function.name == name)
      return &function;
  return nullptr;
}

} // namespace tpsp::reference
