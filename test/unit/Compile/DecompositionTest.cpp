// A composite has the value of its parts. The reference evaluates composites
// by formulas of its own, so this compares two independent definitions.
#include "TestProgram.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

using namespace mlir;
using namespace tpsp;

/// Expects that `passes` replace all composites of @f and keep its value.
static void expectSameAfter(const TestProgram::PassList &passes,
                            const std::string &text) {
  SCOPED_TRACE(text);
  TestProgram program(text);
  std::mt19937 engine(7);
  func::FuncOp f = program.function();
  ASSERT_TRUE(f);
  Tensors arguments = program.random(f.getArgumentTypes(), Sign::Any, engine);
  Tensors before = program.evaluate(arguments);
  ASSERT_TRUE(program.run(passes)) << program.diagnostics();
  f->walk([](DecomposableOpInterface op) {
    ADD_FAILURE() << op->getName().getStringRef().str() << " is still there";
  });
  Tensors after = program.evaluate(arguments);
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(after.size(), 1u);
  reference::expectNear(after.front(), before.front(), 1e-12);
}

static void expectSameParts(StringRef mnemonic, StringRef signature,
                            StringRef attributes = "") {
  expectSameAfter({createDecomposeLate},
                  oneOperation(mnemonic, signature, attributes));
}

TEST(DecompositionTest, Softmax) {
  expectSameParts("softmax", "b,s,t -> b,s,t", R"({over = "t"})");
  expectSameParts("softmax", "b,t,s -> b,t,s", R"({over = "t", scale = 0.3})");
  expectSameParts("softmax", "b,s,t -> b,s,t",
                  R"({over = "t", causal = "s", scale = 2.5})");
  expectSameParts("softmax", "t,b,s -> t,b,s", R"({over = "s", causal = "t"})");
  expectSameParts("softmax", "t,b,s -> t,b,s", R"({over = "s", hides})");
  expectSameParts("softmax", "b,s,t; b -> b,s,t",
                  R"({over = "t", causal = "s", scale = 2.5})");
  expectSameParts("softmax", "t,b,s; s,b -> t,b,s", R"({over = "t", hides})");
}

TEST(DecompositionTest, RmsNorm) {
  expectSameParts("rms_norm", "b,s,e; e -> b,s,e");
  expectSameParts("rms_norm", "h,b,k,s; k,h -> h,b,k,s", "{eps = 0.25}");
}

TEST(DecompositionTest, LayerNorm) {
  expectSameParts("layer_norm", "b,s,e; e; e -> b,s,e");
  expectSameParts("layer_norm", "h,b,k,s; k,h; k,h -> h,b,k,s", "{eps = 0.25}");
}

TEST(DecompositionTest, Rope) {
  expectSameParts("rope", "b,s,h,k=6 -> b,s,h,k=6",
                  R"({position = "s", feature = "k"})");
  expectSameParts("rope", "b,k=6,s -> b,k=6,s",
                  R"({position = "s", feature = "k", theta = 7.0, inverse})");
  for (const char *scaling :
       {"", ", trained = 20.0, slow_turns = 0.5, fast_turns = 2.0",
        ", trained = 20.0, slow_turns = 0.5, fast_turns = 2.0, log_turns"})
    expectSameParts("rope", "b,s,k=10 -> b,s,k=10",
                    std::string(R"({position = "s", feature = "k",
                                    theta = 9.0, stretch = 3.0)") +
                        scaling + "}");
}

TEST(DecompositionTest, Attention) {
  TestProgram::PassList all = {createDecomposeEarly, createPropagate,
                               createDecomposeLate};
  expectSameAfter(
      all, oneOperation("attention", "b,s,h,r,k; b,t,h,k; b,t,h,d -> b,s,h,r,d",
                        R"({query = "s", key = "t", feature = "k", causal})"));
  expectSameAfter(all, oneOperation("attention", "b,s,k; t,k; t,k -> s,b,k",
                                    R"({query = "s", key = "t", feature = "k",
                            scale = 0.3})"));
  expectSameAfter(
      all, oneOperation("attention", "b,s,h,k; b,t,h,k; b,t,h,k -> b,s,h,k",
                        R"({query = "s", key = "t", feature = "k", causal,
                            dropout = 0.4, seed = 3})"));
  expectSameAfter(
      all, oneOperation("attention",
                        "b,s=5,h,k; b,t=6,h,k; b,t=6,h,k; h,t=6 -> b,s=5,h,k",
                        R"({query = "s", key = "t", feature = "k", causal,
                            window = 3, softcap = 0.7, scale = 0.9})"));
  expectSameAfter(
      all,
      oneOperation("attention", "b,s,h,r,k; b,t,h,k; b,t,h,d; r,h -> b,s,h,r,d",
                   R"({query = "s", key = "t", feature = "k", causal,
                            scale = 0.6})"));
  expectSameAfter(
      all,
      oneOperation("attention",
                   "b,s=5,h,k; b,t=6,h,k; b,t=6,h,k; h,t=6; h -> b,s=5,h,k",
                   R"({query = "s", key = "t", feature = "k",
                       softcap = 0.7, dropout = 0.4, seed = 3})"));
}
