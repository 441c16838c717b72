/// The scalar functions of the unary pointwise operations: one row each.
#ifndef TPSP_DIALECT_TPSP_SCALARFUNCTIONS_H
#define TPSP_DIALECT_TPSP_SCALARFUNCTIONS_H

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

  Scalar operator+(const Scalar &other) const;
  Scalar operator-(const Scalar &other) const;
  Scalar operator*(const Scalar &other) const;
  Scalar operator/(const Scalar &other) const;
  Scalar operator-() const;

  friend Scalar exp(const Scalar &x);
  friend Scalar log(const Scalar &x);
  friend Scalar tanh(const Scalar &x);
  friend Scalar erf(const Scalar &x);
  friend Scalar sqrt(const Scalar &x);
  /// x > 0 ? a : b
  friend Scalar ifPositive(const Scalar &x, const Scalar &a, const Scalar &b);

private:
  Scalar with(mlir::Value result) const { return {*builder, loc, result}; }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

struct ScalarFunction {
  /// The mnemonic of the operation.
  llvm::StringLiteral name;
  Scalar (*value)(const Scalar &x);
  /// Its derivative.
  Scalar (*slope)(const Scalar &x);
};

/// The row called `name`; null if there is none.
const ScalarFunction *findScalarFunction(llvm::StringRef name);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SCALARFUNCTIONS_H
