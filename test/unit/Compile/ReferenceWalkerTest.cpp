// Tests the walker between operations, and its refusals.
#include "TestProgram.h"

#include "Compile/ReferenceWalker.h"

using namespace mlir;
using namespace tpsp;

using reference::Tensor;

//===----------------------------------------------------------------------===//
// Between operations
//===----------------------------------------------------------------------===//

// A view takes the data of its operand if nothing else needs it. Here every
// operand is needed again, by the caller, by the program or by the result list.
static const char *const viewsOfSharedValues = R"mlir(
!a = tensor<3x2xf64, #tpsp.idx<i, j>>
!b = tensor<6xf64, #tpsp.idx<e>>
func.func @f(%x: !a) -> (!b, !a, !a, !b, !a) {
  %merged = tpsp.merge %x : !a -> !b
  %y = tpsp.neg %x : !a
  %first = tpsp.merge %y : !a -> !b
  %second = tpsp.split %first : !b -> !a
  %third = tpsp.add %second, %y, %second : !a
  return %merged, %third, %x, %first, %third : !b, !a, !a, !b, !a
})mlir";

TEST(ReferenceWalkerTest, TakesOnlyWhatNothingElseNeeds) {
  TestProgram program(viewsOfSharedValues);
  const Tensor x{{"i", "j"}, {3, 2}, {1, 2, 3, 4, 5, 6}};
  const Tensors arguments = {x};
  Tensors results = program.evaluate(arguments);
  ASSERT_EQ(results.size(), 5u);
  const std::vector<double> negative = {-1, -2, -3, -4, -5, -6};
  const std::vector<double> triple = {-3, -6, -9, -12, -15, -18};
  EXPECT_EQ(arguments[0].data, x.data);
  EXPECT_EQ(results[0].data, x.data);
  EXPECT_EQ(results[0].indices, reference::IndexNames{"e"});
  EXPECT_EQ(results[1].data, triple);
  EXPECT_EQ(results[2].data, x.data);
  EXPECT_EQ(results[3].data, negative);
  EXPECT_EQ(results[4].data, triple);
}

TEST(ReferenceWalkerTest, ReportsProgress) {
  TestProgram program(viewsOfSharedValues);
  Tensor x = reference::full({"i", "j"}, {3, 2}, 1);
  std::vector<size_t> calls;
  auto results = evaluateReference(program.function(), {&x},
                                   [&](size_t done, size_t total) {
                                     EXPECT_EQ(total, 5u);
                                     calls.push_back(done);
                                   });
  EXPECT_TRUE(bool(results));
  EXPECT_EQ(calls, (std::vector<size_t>{1, 2, 3, 4, 5}));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Expects that evaluation fails with a message that contains `fragment`.
static void expectError(const std::string &text,
                        std::vector<const Tensor *> arguments,
                        llvm::StringRef fragment) {
  SCOPED_TRACE(text);
  TestProgram program(text);
  func::FuncOp f = program.function();
  ASSERT_TRUE(f);
  auto results = evaluateReference(f, arguments);
  ASSERT_FALSE(bool(results));
  std::string message = llvm::toString(results.takeError());
  EXPECT_NE(message.find(fragment.str()), std::string::npos) << message;
}

TEST(ReferenceWalkerTest, NamesAnOperationWithoutAnEvaluation) {
  Tensor x = reference::full({"i"}, {4}, 1);
  expectError(R"mlir(
tpsp.mesh @mesh <tp = 2>
!v = tensor<4xf64, #tpsp.idx<i@tp>>
func.func @f(%x: !v) -> !v {
  %y = tpsp.rotate %x ["tp"] by 1 : !v
  return %y : !v
})mlir",
              {&x}, ":5:8: 'tpsp.rotate' has no evaluation");
}

// Collectives in a program change no value.
TEST(ReferenceWalkerTest, CollectivesAreIdentities) {
  TestProgram program(R"mlir(
tpsp.mesh @mesh <tp = 2>
!s = tensor<4xf64, #tpsp.idx<i@tp>>
!w = tensor<4xf64, #tpsp.idx<i>>
!p = tensor<4xf64, #tpsp.idx<i | sum@tp>>
func.func @f(%x: !s, %a: !p, %b: !p) -> (!w, !w, !w, !s) {
  %y = tpsp.all_gather %x ["tp"] : !s -> !w
  %c, %d = tpsp.all_reduce %a, %b ["tp"] : (!p, !p) -> (!w, !w)
  %z = tpsp.neg %y : !w
  %t = tpsp.reduce_scatter %a ["tp"] : !p -> !s
  return %z, %c, %d, %t : !w, !w, !w, !s
})mlir");
  const Tensor x{{"i"}, {4}, {1, 2, 3, 4}}, a{{"i"}, {4}, {5, 6, 7, 8}},
      b{{"i"}, {4}, {9, 8, 7, 6}};
  Tensors results = program.evaluate({x, a, b});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].data, (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(results[1].data, a.data);
  EXPECT_EQ(results[2].data, b.data);
  EXPECT_EQ(results[3].data, a.data);
}

TEST(ReferenceWalkerTest, RefusesArgumentsThatDoNotFit) {
  std::string text = oneOperation("exp", "i -> i");
  Tensor x = reference::full({"i"}, {3}, 1);
  Tensor longer = reference::full({"i"}, {4}, 1);
  Tensor renamed = reference::full({"j"}, {3}, 1);
  expectError(text, {&longer}, "argument #0 does not have the names and shape");
  expectError(text, {&renamed}, "argument #0 does not have the names");
  expectError(text, {&x, &x}, "takes 1 arguments, not 2");
}

TEST(ReferenceWalkerTest, RefusesLocalShapes) {
  Tensor x = reference::full({"i"}, {3}, 1);
  expectError("func.func @f(%x: tensor<3xf64, #tpsp.idx<i, local>>) {\n"
              "  return\n}",
              {&x}, "argument #0 is one rank's part");
}

TEST(ReferenceWalkerTest, RefusesControlFlow) {
  Tensor x = reference::full({"i"}, {3}, 1);
  expectError("func.func @f(%x: tensor<3xf64, #tpsp.idx<i>>) {\n"
              "  cf.br ^next\n^next:\n  return\n}",
              {&x}, "is not straight-line");
}

TEST(ReferenceWalkerTest, ChecksTheReferencesAnswer) {
  // The verifier does not compare `pairs` with the extent of the feature.
  auto rotations = [](const char *pairs) {
    return oneOperation("rope_matrix", " -> s,o=2,i=2,m=3",
                        std::string(R"({position = "s", feature = "m",
                          out = "o", in = "i", theta = 9.0, pairs = )") +
                            pairs + "}");
  };
  expectError(rotations("2"), {}, "was not evaluated to the indices");
  expectError(rotations("-1"), {}, "index 'm' has no extent");
}
