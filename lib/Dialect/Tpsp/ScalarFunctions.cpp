#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tpsp;

Scalar Scalar::constant(double c) const {
  auto type = cast<FloatType>(value.getType());
  return with(
      arith::ConstantOp::create(*builder, loc, builder->getFloatAttr(type, c)));
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
Scalar erf(const Scalar &x) { return x.apply<math::ErfOp>(); }
Scalar sqrt(const Scalar &x) { return x.apply<math::SqrtOp>(); }
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
Scalar sigmoid(const Scalar &x) {
  return x.constant(1) / (x.constant(1) + exp(-x));
}
Scalar siluSlope(const Scalar &x) {
  Scalar gate = sigmoid(x);
  return gate * (x.constant(1) + x * (x.constant(1) - gate));
}

/// sigmoid(x) sigmoid(-x), without the difference of 1 and what is nearly 1.
Scalar sigmoidSlope(const Scalar &x) {
  Scalar power = exp(ifPositive(x, -x, x));
  Scalar sum = x.constant(1) + power;
  return power / (sum * sum);
}

/// 1 - tanh(x)^2, likewise.
Scalar tanhSlope(const Scalar &x) {
  return x.constant(4) * sigmoidSlope(x.constant(2) * x);
}

// GELU, tanh form (Hendrycks and Gimpel, arXiv 1606.08415): with
// u = c (x + a x^3), gelu = x/2 (1 + tanh u). Since 1 + tanh u = 2 sigmoid(2u)
// it is x sigmoid(2u): one exponential.
static constexpr double geluC = 0.79788456080286535588; // sqrt(2 / pi)
static constexpr double geluA = 0.044715;

static Scalar geluGate(const Scalar &x) {
  Scalar u =
      x * (x.constant(2 * geluC) + x.constant(2 * geluC * geluA) * x * x);
  return sigmoid(u);
}
Scalar gelu(const Scalar &x) { return x * geluGate(x); }
Scalar geluSlope(const Scalar &x) {
  Scalar gate = geluGate(x);
  Scalar du = x.constant(2 * geluC) + x.constant(6 * geluC * geluA) * x * x;
  return gate + x * gate * (x.constant(1) - gate) * du;
}

Scalar geluErf(const Scalar &x) {
  return x * x.constant(0.5) *
         (x.constant(1) + erf(x * x.constant(0.70710678118654752440)));
}
Scalar geluErfSlope(const Scalar &x) {
  Scalar normal = exp(x * x * x.constant(-0.5)) *
                  x.constant(0.39894228040143267794); // 1 / sqrt(2 pi)
  return x.constant(0.5) *
             (x.constant(1) + erf(x * x.constant(0.70710678118654752440))) +
         x * normal;
}

} // namespace tpsp
