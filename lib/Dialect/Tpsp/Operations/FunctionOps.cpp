// Scalar functions of every element. Each is defined by its row in
// FunctionOps.td alone.
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"

#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

using namespace mlir;
using namespace tpsp;

template <typename... Ops> static ArrayRef<ScalarFunction> rowsOf() {
  static constexpr ScalarFunction rows[] = {
      {Ops::function, Ops::value, Ops::slope, holds<Ops, Fact::LinearJointly>(),
       Ops::takesPositive}...};
  return rows;
}

ArrayRef<ScalarFunction> tpsp::scalarFunctions() {
  return rowsOf<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.cpp.inc"
      >();
}

const ScalarFunction *tpsp::findScalarFunction(StringRef name) {
  for (const ScalarFunction &function : scalarFunctions())
    if (function.name == name)
      return &function;
  return nullptr;
}

/// dx = f'(x) g; for a linear function, f(g).
template <typename Op>
static LogicalResult buildFunctionAdjoint(Op op, OpBuilder &b, Value g,
                                          MutableArrayRef<Value> gradients) {
  AdjointBuilder adjoint(b, op.getLoc());
  Value x = op.getOperand(0);
  if (holds<Op, Fact::LinearJointly>()) {
    gradients[0] = adjoint.sumTo(adjoint.map<Op>(g, g), x);
    return success();
  }
  Value slope = adjoint.map<SlopeOp>(x, x, b.getStringAttr(Op::function));
  gradients[0] = adjoint.sumTo(adjoint.mul(g, g, slope), x);
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.cpp.inc"
