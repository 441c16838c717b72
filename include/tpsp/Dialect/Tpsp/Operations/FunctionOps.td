#ifndef TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_TD

// Scalar functions of every element. Each has one row: the function and its
// slope (both of `x`, in the terms of ScalarFunctions.h), and its properties.
// Kernels, gradients and tests are made of these rows.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

class Tpsp_FunctionOp<string mnemonic, string value, string slope,
                      string summaryText = "pointwise " # mnemonic,
                      list<Trait> facts = []>
    : Tpsp_PointwiseOp<mnemonic, 1, [], ["getScalarFormula"], facts> {
  let summary = summaryText;
  /// Whether the function and its slope are defined for positive numbers only.
  bit takesPositive = 0;
  let extraClassDeclaration = [{
    static constexpr int arity = 1;
    static constexpr ::llvm::StringLiteral function = "}] # mnemonic # [{";
    static constexpr bool takesPositive = }] # !cast<string>(takesPositive) # [{;
    static ::tpsp::Scalar value(const ::tpsp::Scalar &x);
    static ::tpsp::Scalar slope(const ::tpsp::Scalar &x);
  }];
  let extraClassDefinition = Tpsp_Syntax # [{
    ::tpsp::Scalar $cppClass::value(const ::tpsp::Scalar &x) {
      return }] # value # [{;
    }
    ::tpsp::Scalar $cppClass::slope(const ::tpsp::Scalar &x) {
      return }] # slope # [{;
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tpsp::verifyPointwise(getOperation(), arity);
    }
    ::mlir::Value $cppClass::emitScalar(
        ::mlir::OpBuilder &b, ::mlir::ValueRange operands,
        ::llvm::function_ref<::mlir::Value(::llvm::StringRef)>) {
      return value(::tpsp::Scalar(b, getLoc(), operands.front())).get();
    }
    ::tpsp::ScalarFormula $cppClass::getScalarFormula() {
      return {::tpsp::ScalarFormula::Function, function};
    }
    ::llvm::LogicalResult $cppClass::buildAdjoint(
        ::mlir::OpBuilder &b, ::mlir::Value g, ::llvm::ArrayRef<bool>,
        ::llvm::MutableArrayRef<::mlir::Value> gradients) {
      return buildFunctionAdjoint(*this, b, g, gradients);
    }
  }];
}

def Tpsp_NegOp : Tpsp_FunctionOp<"neg", "-x", "x.constant(-1)",
                                 facts=[Tpsp_LinearJointly]>;
def Tpsp_ExpOp : Tpsp_FunctionOp<"exp", "exp(x)", "exp(x)">;
def Tpsp_LogOp : Tpsp_FunctionOp<"log", "log(x)", "x.constant(1) / x"> {
  let takesPositive = 1;
}
def Tpsp_TanhOp : Tpsp_FunctionOp<"tanh", "tanh(x)", "tanhSlope(x)">;
def Tpsp_SinOp : Tpsp_FunctionOp<"sin", "sin(x)", "cos(x)">;
def Tpsp_CosOp : Tpsp_FunctionOp<"cos", "cos(x)", "-sin(x)">;
def Tpsp_SqrtOp
    : Tpsp_FunctionOp<"sqrt", "sqrt(x)", "x.constant(0.5) / sqrt(x)"> {
  let takesPositive = 1;
}
def Tpsp_RsqrtOp
    : Tpsp_FunctionOp<"rsqrt", "rsqrt(x)", "x.constant(-0.5) * rsqrt(x) / x"> {
  let takesPositive = 1;
}
def Tpsp_SquareOp : Tpsp_FunctionOp<"square", "x * x", "x.constant(2) * x">;
def Tpsp_SigmoidOp
    : Tpsp_FunctionOp<"sigmoid", "sigmoid(x)", "sigmoidSlope(x)">;
// A NaN gives a NaN.
def Tpsp_ReluOp
    : Tpsp_FunctionOp<"relu", "ifPositive(-x, x.constant(0), x)",
                      "ifPositive(x, x.constant(1), x.constant(0))">;
def Tpsp_SiluOp
    : Tpsp_FunctionOp<"silu", "x * sigmoid(x)", "siluSlope(x)",
                      "SiLU: x sigmoid(x)">;
def Tpsp_SoftplusOp
    : Tpsp_FunctionOp<"softplus",
        // The exp of a number that is not positive does not overflow.
        [{ifPositive(x, x, x.constant(0)) +
             log1p(exp(ifPositive(x, -x, x)))}],
        "sigmoid(x)", "softplus: log(1 + exp(x)), a smooth relu">;
def Tpsp_GeluOp
    : Tpsp_FunctionOp<"gelu", "gelu(x)", "geluSlope(x)",
        "GELU, the tanh form: 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3)))">;
def Tpsp_GeluErfOp
    : Tpsp_FunctionOp<"gelu_erf", "geluErf(x)", "geluErfSlope(x)",
        "GELU, the exact form: 0.5x(1 + erf(x / sqrt(2)))">;

#endif // TPSP_DIALECT_TPSP_OPERATIONS_FUNCTIONOPS_TD
