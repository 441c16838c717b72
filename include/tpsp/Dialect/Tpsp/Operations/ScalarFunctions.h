/// The scalar functions of the unary pointwise operations, and the vocabulary
/// of their formulas in FunctionOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_SCALARFUNCTIONS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_SCALARFUNCTIONS_H

#include "mlir/IR/Builders.h"

namespace tpsp {

/// A scalar under construction, so that formulas read as formulas.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}

  mlir::Value get() const { return value; }
  /// A constant of the same type.
  Scalar constant(double c) const;
  /// The constant `c` minus `c` rounded to this type.
  Scalar restOfConstant(double c) const;

  Scalar operator+(const Scalar &other) const;
  Scalar operator-(const Scalar &other) const;
  Scalar operator*(const Scalar &other) const;
  Scalar operator/(const Scalar &other) const;
  Scalar operator-() const;

  /// The operation `Op` on this number and others of its type.
  template <typename Op, typename... Others>
  Scalar apply(const Others &...others) const {
    return with(Op::create(*builder, loc, value, others.value...));
  }

  /// x > 0 ? a : b
  friend Scalar ifPositive(const Scalar &x, const Scalar &a, const Scalar &b);

private:
  Scalar with(mlir::Value result) const { return {*builder, loc, result}; }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

Scalar exp(const Scalar &x);
Scalar log(const Scalar &x);
Scalar tanh(const Scalar &x);
Scalar sin(const Scalar &x);
Scalar cos(const Scalar &x);
/// 1 - erf(x), accurate where erf(x) is near 1.
Scalar erfc(const Scalar &x);
Scalar sqrt(const Scalar &x);
Scalar absolute(const Scalar &x);
/// x y + z with a single rounding.
Scalar fma(const Scalar &x, const Scalar &y, const Scalar &z);

/// log(1 + x) for an x that is not negative, accurate for a small x. (Goldberg,
/// What every computer scientist should know about floating-point arithmetic,
/// 1991, theorem 4.)
Scalar log1p(const Scalar &x);
Scalar rsqrt(const Scalar &x);
Scalar sigmoid(const Scalar &x);
Scalar sigmoidSlope(const Scalar &x);
Scalar tanhSlope(const Scalar &x);
Scalar siluSlope(const Scalar &x);
/// The tanh form; below, the exact form.
Scalar gelu(const Scalar &x);
Scalar geluSlope(const Scalar &x);
Scalar geluErf(const Scalar &x);
Scalar geluErfSlope(const Scalar &x);

struct ScalarFunction {
  /// The mnemonic of the operation.
  llvm::StringLiteral name;
  Scalar (*value)(const Scalar &x);
  /// Its derivative.
  Scalar (*slope)(const Scalar &x);
  /// Whether f(x + y) = f(x) + f(y).
  bool isLinear;
  /// Whether the function and its derivative are defined for positive numbers
  /// only.
  bool takesPositive;
};

/// All rows.
llvm::ArrayRef<ScalarFunction> scalarFunctions();

/// The row called `name`; null if there is none.
const ScalarFunction *findScalarFunction(llvm::StringRef name);

/// `sum` plus one more term. Only this addition may be reordered, or fused with
/// the product of multiplyTerm: the order of a sum's terms is tpsp's choice.
/// Every other operation is computed as written.
mlir::Value addTerm(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sum,
                    mlir::Value term);

/// The product of `x` and `y`, factors of a sum's term.
mlir::Value multiplyTerm(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                         mlir::Value y);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_SCALARFUNCTIONS_H
