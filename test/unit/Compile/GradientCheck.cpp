#include "GradientCheck.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

using namespace mlir;
using namespace tpsp;

using reference::Tensor;

/// Returns the sum of products of corresponding elements of a and (b - c).
static double dotDifference(const Tensors &a, const Tensors &b,
                            const Tensors &c) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].data.size(); ++j)
      sum += a[i].data[j] * (b[i].data[j] - c[i].data[j]);
  return sum;
}

/// Returns the derivative of <cotangents, f> by every element of one argument.
static Tensor finiteDifference(func::FuncOp f, Tensors arguments, size_t which,
                               const Tensors &cotangents) {
  // The error of a central difference is about step^2 by truncation and 1e-16 /
  // step by rounding. Both are well below the tolerance.
  constexpr double step = 1e-5;
  Tensor gradient = arguments[which];
  for (size_t i = 0; i < gradient.data.size(); ++i) {
    double &element = arguments[which].data[i], center = element;
    element = center + step;
    Tensors above = evaluateOrFail(f, arguments);
    element = center - step;
    Tensors below = evaluateOrFail(f, arguments);
    element = center;
    if (above.size() != cotangents.size() || below.size() != cotangents.size())
      return {}; // has been reported
    gradient.data[i] = dotDifference(cotangents, above, below) / (2 * step);
  }
  return gradient;
}

/// Expects agreement to a relative 1e-6. A gradient may be 0 by an identity,
/// such as that of the bias of attention's keys, which softmax cancels. It may
/// differ by the rounding error of the difference.
static void expectClose(const Tensor &got, const Tensor &want) {
  constexpr double relative = 1e-6, rounding = 1e-9;
  ASSERT_EQ(got.indices, want.indices);
  ASSERT_EQ(got.shape, want.shape);
  double error = 0, size = 0;
  for (auto [a, b] : llvm::zip_equal(got.data, want.data)) {
    error += (a - b) * (a - b);
    size += b * b;
  }
  EXPECT_LE(std::sqrt(error), relative * std::sqrt(size) + rounding)
      << "got " << testing::PrintToString(got.data) << "\nwant "
      << testing::PrintToString(want.data);
}

/// Compares result `number` of @f_grad, `got`, with finite differences.
static void compareGradient(func::FuncOp f, func::FuncOp grad, size_t number,
                            const Tensor &got, const Tensors &arguments,
                            const Tensors &cotangents) {
  size_t which = number - f.getNumResults();
  SCOPED_TRACE("gradient of argument " + std::to_string(which));
  auto relation =
      grad.getResultAttrOfType<IntegerAttr>(number, gradientAttrName);
  ASSERT_TRUE(relation);
  ASSERT_EQ(relation.getInt(), int64_t(which));
  expectClose(got, finiteDifference(f, arguments, which, cotangents));
}

static void compareAll(TestProgram &program, StringRef name, Sign sign,
                       std::mt19937 &engine) {
  func::FuncOp f = program.function(name);
  func::FuncOp grad = program.function((name + "_grad").str());
  ASSERT_TRUE(f && grad);
  Tensors arguments = program.random(f.getArgumentTypes(), sign, engine);
  Tensors cotangents = program.random(f.getResultTypes(), Sign::Any, engine);
  Tensors all = arguments;
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  Tensors primal = evaluateOrFail(f, arguments);
  Tensors results = evaluateOrFail(grad, all);
  ASSERT_EQ(primal.size(), f.getNumResults());
  ASSERT_EQ(results.size(), primal.size() + arguments.size());
  for (size_t i = 0; i < primal.size(); ++i)
    reference::expectNear(results[i], primal[i], 1e-12);
  for (size_t i = primal.size(); i < results.size(); ++i)
    compareGradient(f, grad, i, results[i], arguments, cotangents);
}

static void checkDifferentiated(const std::string &text, Sign sign,
                                StringRef name,
                                std::unique_ptr<Pass> (*decompose)()) {
  TestProgram program(text);
  ASSERT_TRUE(program.run(
      {decompose, createPropagate, [] { return createDifferentiate(); }}))
      << program.diagnostics();
  for (unsigned seed : {1u, 20u, 300u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 engine(seed);
    compareAll(program, name, sign, engine);
  }
}

void tpsp::checkGradients(const std::string &text, Sign sign, StringRef name) {
  SCOPED_TRACE(text);
  checkDifferentiated(text, sign, name, createDecomposeEarly);
  // Attention in blocks or in one call is differentiated as one operation, so
  // this is checked, too.
  if (StringRef(text).contains("tpsp.attention"))
    checkDifferentiated(text, sign, name, createPropagate);
}
