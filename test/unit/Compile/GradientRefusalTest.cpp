// A program without a gradient is refused with a reason, not differentiated
// wrongly.
#include "TestProgram.h"

#include "tpsp/Passes/Passes.h"

using namespace mlir;
using namespace tpsp;

/// Expects that @f is refused with a message that contains `fragment`, and that
/// no partial gradient is left in the module.
static void expectRefusal(const std::string &text, StringRef fragment) {
  SCOPED_TRACE(text);
  TestProgram program(text);
  EXPECT_FALSE(program.run({[] { return createDifferentiate(); }}));
  EXPECT_NE(program.diagnostics().find(fragment.str()), std::string::npos)
      << program.diagnostics();
}

TEST(GradientRefusalTest, MaximumOffThePath) {
  TestProgram program(R"mlir(
!m = tensor<3x5xf64, #tpsp.idx<i, j>>
!v = tensor<3xf64, #tpsp.idx<i>>
func.func @f(%x: !m) -> !m {
  %highest = tpsp.reduce %x {kind = "max"} : !m -> !v
  %y = tpsp.exp %x : !m
  return %y : !m
})mlir");
  EXPECT_TRUE(program.run({[] { return createDifferentiate(); }}))
      << program.diagnostics();
}

TEST(GradientRefusalTest, SecondDerivative) {
  expectRefusal(oneOperation("slope", "i -> i", R"({of = "gelu"})"),
                "tpsp differentiates once");
}

TEST(GradientRefusalTest, CompositeInOnePiece) {
  expectRefusal(oneOperation("mean", "s,k -> s"), "is a composite");
}

static const char *const twoBlocks = R"mlir(
!v = tensor<5xf64, #tpsp.idx<i>>
func.func @f(%x: !v) -> !v {
  cf.br ^next
^next:
  %y = tpsp.exp %x : !v
  return %y : !v
})mlir";

TEST(GradientRefusalTest, ControlFlow) {
  expectRefusal(twoBlocks, "has control flow");
  TestProgram program(twoBlocks);
  EXPECT_FALSE(program.run({createPropagate}));
}

TEST(GradientRefusalTest, OperationOfAnotherDialect) {
  expectRefusal(R"mlir(
!v = tensor<5xf64, #tpsp.idx<i>>
func.func private @g(!v) -> !v
func.func @f(%x: !v) -> !v {
  %y = func.call @g(%x) : (!v) -> !v
  return %y : !v
})mlir",
                "has no gradient");
}
