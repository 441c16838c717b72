#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tpsp;

Scalar Scalar::constant(double c) const {
  auto type = cast<FloatType>(value.getType());
  return with(
      arith::ConstantOp::create(*builder, loc, builder->getFloatAttr(type, c)));
}
Scalar Scalar::restOfConstant(double c) const {
  llvm::APFloat rounded(c);
  bool losesDigits;
  rounded.convert(cast<FloatType>(value.getType()).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesDigits);
  return constant(c - rounded.convertToDouble());
}
Scalar Scalar::operator+(const Scalar &other) const {
  return apply<arith::AddFOp>(other);
}
Scalar Scalar::operator-(const Scalar &other) const {
  return apply<arith::SubFOp>(other);
}
Scalar Scalar::operator*(const Scalar &other) const {
  return apply<arith::MulFOp>(other);
}
Scalar Scalar::operator/(const Scalar &other) const {
  return apply<arith::DivFOp>(other);
}
Scalar Scalar::operator-() const { return apply<arith::NegFOp>(); }

namespace tpsp {
Scalar exp(const Scalar &x) { return x.apply<math::ExpOp>(); }
Scalar log(const Scalar &x) { return x.apply<math::LogOp>(); }
Scalar tanh(const Scalar &x) { return x.apply<math::TanhOp>(); }
Scalar sin(const Scalar &x) { return x.apply<math::SinOp>(); }
Scalar cos(const Scalar &x) { return x.apply<math::CosOp>(); }
Scalar erfc(const Scalar &x) { return x.apply<math::ErfcOp>(); }
Scalar sqrt(const Scalar &x) { return x.apply<math::SqrtOp>(); }
Scalar absolute(const Scalar &x) { return x.apply<math::AbsFOp>(); }
Scalar fma(const Scalar &x, const Scalar &y, const Scalar &z) {
  return x.apply<math::FmaOp>(y, z);
}
Scalar ifPositive(const Scalar &x, const Scalar &a, const Scalar &b) {
  Value positive =
      arith::CmpFOp::create(*x.builder, x.loc, arith::CmpFPredicate::OGT,
                            x.value, x.constant(0).value);
  return x.with(
      arith::SelectOp::create(*x.builder, x.loc, positive, a.value, b.value));
}

Scalar log1p(const Scalar &x) {
  Scalar sum = x.constant(1) + x, rounded = sum - x.constant(1);
  return ifPositive(rounded, x * log(sum) / rounded, x);
}

Scalar rsqrt(const Scalar &x) { return x.constant(1) / sqrt(x); }

/// exp(-|x|), which cannot overflow.
static Scalar decay(const Scalar &x) { return exp(-absolute(x)); }

/// sigmoid(x), given the decay of x or of -x.
static Scalar gateOf(const Scalar &x, const Scalar &decay) {
  Scalar one = x.constant(1);
  return ifPositive(x, one, decay) / (one + decay);
}

Scalar sigmoid(const Scalar &x) { return gateOf(x, decay(x)); }

Scalar siluSlope(const Scalar &x) {
  Scalar power = decay(x);
  return gateOf(x, power) * (x.constant(1) + x * gateOf(-x, power));
}

/// sigmoid(x) sigmoid(-x), without subtracting a number near 1 from 1.
Scalar sigmoidSlope(const Scalar &x) {
  Scalar power = decay(x), sum = x.constant(1) + power;
  return power / (sum * sum);
}

/// 1 - tanh(x)^2, without such a subtraction.
Scalar tanhSlope(const Scalar &x) {
  return x.constant(4) * sigmoidSlope(x.constant(2) * x);
}

/// The smaller of x and the bound. A NaN gives a NaN.
static Scalar atMost(const Scalar &x, double bound) {
  Scalar most = x.constant(bound);
  return ifPositive(x - most, most, x);
}

// GELU, tanh form (Hendrycks and Gimpel, arXiv 1606.08415): with
// u = c (x + a x^3), gelu = x/2 (1 + tanh u). Since 1 + tanh u = 2 sigmoid(2u)
// it is x sigmoid(2u): one exponential.
static constexpr double geluC = 0.79788456080286535588; // sqrt(2 / pi)
static constexpr double geluA = 0.044715;

/// 2u
static Scalar geluArgument(const Scalar &x) {
  return x * (x.constant(2 * geluC) + x.constant(2 * geluC * geluA) * x * x);
}
Scalar gelu(const Scalar &x) { return x * sigmoid(geluArgument(x)); }
Scalar geluSlope(const Scalar &value) {
  // Beyond +-25 the slope is 0 or 1, and products would overflow.
  Scalar x = -atMost(-atMost(value, 25), 25);
  Scalar u = geluArgument(x), power = decay(u), gate = gateOf(u, power);
  Scalar du = x.constant(2 * geluC) + x.constant(6 * geluC * geluA) * x * x;
  return gate + gate * gateOf(-u, power) * (x * du);
}

// GELU, exact form: x times the share of a normal distribution below x, which
// is erfc(-x / sqrt(2)) / 2. (1 + erf would lose digits below 0.)

static constexpr double sqrtHalf = 0.70710678118654752440;

/// The share of a normal distribution below x. Far below 0, erfc amplifies its
/// argument's rounding error e: erfc(v + e) = erfc(v) (1 - 2 v e), up to less
/// than a rounding.
static Scalar normalShare(const Scalar &x) {
  // Beyond this bound erfc is 0.
  constexpr double most = 30;
  Scalar root = x.constant(sqrtHalf), minus = -x, v = minus * root;
  Scalar rest = fma(minus, root, -v) + minus * x.restOfConstant(sqrtHalf);
  Scalar one = x.constant(1);
  Scalar factor = one - x.constant(2) * atMost(v, most) * rest;
  return x.constant(0.5) * erfc(v) * ifPositive(v, factor, one);
}

/// exp(-x^2 / 2) / sqrt(2 pi), corrected for the rounding of the square.
static Scalar normalDensity(const Scalar &x) {
  // Beyond 40 the exponential is 0.
  Scalar distance = atMost(absolute(x), 40), square = distance * distance;
  Scalar half = x.constant(-0.5), rest = fma(distance, distance, -square);
  return x.constant(0.39894228040143267794) * exp(half * square) *
         (x.constant(1) + half * rest);
}

Scalar geluErf(const Scalar &x) { return x * normalShare(x); }
Scalar geluErfSlope(const Scalar &x) {
  return normalShare(x) + x * normalDensity(x);
}

Value addTerm(OpBuilder &b, Location loc, Value sum, Value term) {
  return arith::AddFOp::create(b, loc, sum, term,
                               arith::FastMathFlags::reassoc |
                                   arith::FastMathFlags::contract);
}

Value multiplyTerm(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y, arith::FastMathFlags::contract);
}

} // namespace tpsp
