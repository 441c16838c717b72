//===- ScalarFunctionsTest.cpp - the table of scalar functions ------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

double apply(const std::string &name, std::vector<double> arguments) {
  const ScalarFunction *function = findScalarFunction(name);
  if (!function || !function->accepts(int(arguments.size())))
    return std::numeric_limits<double>::quiet_NaN();
  return function->evaluate(arguments.data(), int(arguments.size()));
}

/// Arguments around 0, and some large enough to saturate. Logarithms and roots
/// get their squares instead.
const std::vector<double> kArguments = {-6,   -2.5, -1.25, -0.7, -0.01,
                                        0.02, 0.5,  1.75,  3,    7};

/// A function of the language, by its textbook formula.
struct Formula {
  const char *name;
  double (*of)(double x);
  bool takesPositive = false;

  /// Returns an argument in the function's domain.
  double at(double x) const { return takesPositive ? x * x : x; }
};

double textbookSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const Formula kUnary[] = {
    {"neg", [](double x) { return -x; }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }, true},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sin", [](double x) { return std::cos(x - std::acos(0.0)); }},
    {"cos", [](double x) { return std::sin(x + std::acos(0.0)); }},
    {"sqrt", [](double x) { return std::pow(x, 0.5); }, true},
    {"rsqrt", [](double x) { return std::pow(x, -0.5); }, true},
    {"square", [](double x) { return x * x; }},
    {"sigmoid", textbookSigmoid},
    {"relu", [](double x) { return std::max(x, 0.0); }},
    {"silu", [](double x) { return x * textbookSigmoid(x); }},
    {"softplus", [](double x) { return std::log(1 + std::exp(x)); }},
    {"gelu",
     [](double x) {
       const double c = std::sqrt(2 / std::acos(-1.0));
       return 0.5 * x * (1 + std::tanh(c * (x + 0.044715 * x * x * x)));
     }},
    {"gelu_erf",
     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
};

TEST(ScalarFunctionsTest, TextbookFormulas) {
  for (const Formula &f : kUnary)
    for (const double argument : kArguments) {
      const double x = f.at(argument), want = f.of(x);
      EXPECT_NEAR(apply(f.name, {x}), want,
                  1e-13 * std::max(1.0, std::abs(want)))
          << f.name << " of " << x;
    }
}

TEST(ScalarFunctionsTest, SlopesMatchFiniteDifferences) {
  for (const Formula &formula : kUnary)
    for (const double argument : kArguments) {
      const std::string name = formula.name;
      const double x =
          formula.takesPositive ? argument * argument + 0.1 : argument;
      // With five points the error is of order h^4, well below 1e-7.
      const double h = 1e-3;
      const auto f = [&](double steps) { return apply(name, {x + steps * h}); };
      const double want = (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / (12 * h);
      EXPECT_NEAR(apply("slope." + name, {x}), want,
                  1e-7 * std::max(1.0, std::abs(want)))
          << name << " at " << x;
    }
}

TEST(ScalarFunctionsTest, BinaryAndVariadic) {
  EXPECT_EQ(apply("sub", {5, 7}), -2);
  EXPECT_EQ(apply("mul", {5, 7}), 35);
  EXPECT_EQ(apply("div", {5, 4}), 1.25);
  EXPECT_EQ(apply("maximum", {5, 7}), 7);
  EXPECT_EQ(apply("maximum", {-5, -7}), -5);
  EXPECT_EQ(apply("add", {1}), 1);
  EXPECT_EQ(apply("add", {1, 2, 3, 4}), 10);
}

TEST(ScalarFunctionsTest, FarAwayArgumentsStayFinite) {
  for (const std::string name :
       {"tanh", "sigmoid", "relu", "silu", "softplus", "gelu", "gelu_erf"})
    for (const double x : {-1000.0, 1000.0, 0.0}) {
      EXPECT_TRUE(std::isfinite(apply(name, {x}))) << name << " of " << x;
      EXPECT_TRUE(std::isfinite(apply("slope." + name, {x})))
          << "slope of " << name << " at " << x;
    }
}

TEST(ScalarFunctionsTest, NaNsAreKept) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Formula &f : kUnary)
    EXPECT_TRUE(std::isnan(apply(f.name, {nan}))) << f.name;
  EXPECT_TRUE(std::isnan(apply("maximum", {nan, 1})));
  EXPECT_TRUE(std::isnan(apply("maximum", {1, nan})));
}

TEST(ScalarFunctionsTest, UnknownNames) {
  EXPECT_EQ(findScalarFunction("slope.mul"), nullptr);
  EXPECT_EQ(findScalarFunction(""), nullptr);
  EXPECT_FALSE(findScalarFunction("mul")->accepts(3));
  EXPECT_FALSE(findScalarFunction("add")->accepts(0));
}

} // namespace
