// Tests the adjoint of every operation: each operand, each pattern of
// broadcast, each variant. Then tests whole functions, with the operations that
// tpsp-differentiate adds around adjoints.
#include "GradientCheck.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

using namespace tpsp;

namespace {

struct Case {
  const char *mnemonic;
  const char *signature;
  const char *attributes = "";
  Sign sign = Sign::Any;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.mnemonic << " " << c.signature << " " << c.attributes;
}

class AdjointTest : public testing::TestWithParam<Case> {};

TEST_P(AdjointTest, EqualsFiniteDifferences) {
  const Case &c = GetParam();
  checkGradients(oneOperation(c.mnemonic, c.signature, c.attributes), c.sign);
}

void expectGradients(llvm::ArrayRef<const char *> mnemonics,
                     llvm::ArrayRef<const char *> signatures,
                     Sign sign = Sign::Any) {
  for (const char *mnemonic : mnemonics)
    for (const char *signature : signatures)
      checkGradients(oneOperation(mnemonic, signature), sign);
}

} // namespace

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

INSTANTIATE_TEST_SUITE_P(
    Einsum, AdjointTest,
    testing::Values(
        // Matmul, with batch, with a permuted result, over two indices.
        Case{"einsum", "i,j; j,l -> i,l"},
        Case{"einsum", "b,i,j; b,j,l -> b,i,l"},
        Case{"einsum", "b,s,d; e,d -> e,s,b"},
        Case{"einsum", "d,h,k; b,s,h,k -> b,s,d"},
        Case{"einsum", "b,s,h,k; b,t,h,k -> b,h,s,t"},
        // Outer, elementwise, inner; a scalar factor.
        Case{"einsum", "i; j -> i,j"}, Case{"einsum", "i,j; j,i -> i,j"},
        Case{"einsum", "i,j; i,j -> ."}, Case{"einsum", ".; i,j -> j,i"},
        // An index that only one operand has and the result lacks.
        Case{"einsum", "i,j; l -> i"}, Case{"einsum", "j,i; i,l -> l"},
        Case{"einsum", "i,j; l -> ."},
        // One operand: copy, transpose, sums.
        Case{"einsum", "i,j -> i,j"}, Case{"einsum", "i,j,l -> l,i,j"},
        Case{"einsum", "i,j -> j"}, Case{"einsum", "i,j,l -> l,i"},
        Case{"einsum", "i,j -> ."}));

INSTANTIATE_TEST_SUITE_P(
    Reduce, AdjointTest,
    testing::Values(Case{"reduce", "i,j -> i"}, Case{"reduce", "i,j,l -> j"},
                    Case{"reduce", "i,j,l -> l,i"}, Case{"reduce", "i,j -> ."},
                    Case{"reduce", "i,j,l -> l,i", R"({kind = "max"})"}));

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

TEST(PointwiseAdjointTest, OneOperand) {
  const char *signatures[] = {"i,j -> i,j", "j,i -> i,j", ". -> ."};
  expectGradients({"add", "broadcast"}, signatures);
}

/// Tests all registered functions.
TEST(PointwiseAdjointTest, ScalarFunctions) {
  ASSERT_FALSE(scalarFunctions().empty());
  for (const ScalarFunction &f : scalarFunctions())
    expectGradients({f.name.data()}, {"i,j -> i,j", "j,i -> i,j", ". -> ."},
                    f.takesPositive ? Sign::Positive : Sign::Any);
}

TEST(PointwiseAdjointTest, Broadcast) {
  expectGradients({"broadcast"},
                  {"i -> i,j", "j -> i,j", "l,i -> i,j,l", ". -> i,j"});
}

TEST(PointwiseAdjointTest, TwoOperands) {
  expectGradients({"add", "sub", "mul", "div"},
                  {"i,j; i,j -> i,j", "i,j; j -> i,j", "i; i,j -> i,j",
                   "i; j -> i,j", "j,i; i,j -> i,j", "i,j; j,i -> j,i",
                   ".; i,j -> i,j", "i,j; . -> j,i", ".; . -> .",
                   "b,l,i; i,j -> b,i,j,l"});
}

INSTANTIATE_TEST_SUITE_P(Add, AdjointTest,
                         testing::Values(Case{"add", "i,j; i,j; i,j -> i,j"},
                                         Case{"add", "i; j; l; . -> i,j,l"},
                                         Case{"add",
                                              "i,j; j; j,i; i; . -> i,j"}));

INSTANTIATE_TEST_SUITE_P(
    Constant, AdjointTest,
    testing::Values(Case{"scale", "i,j -> i,j", "{factor = -0.7}"},
                    Case{"scale", "j,i -> i,j", "{factor = 1.3}"},
                    Case{"scale", "i,j -> i,j", "{factor = 0.0}"},
                    Case{"shift", "i,j -> i,j", "{by = -0.7}"},
                    Case{"shift", "j,i -> i,j", "{by = 1.3}"}));

/// In f64 a conversion changes only the order of indices.
INSTANTIATE_TEST_SUITE_P(Convert, AdjointTest,
                         testing::Values(Case{"convert", "i,j -> i,j"},
                                         Case{"convert", "j,i -> i,j"}));

INSTANTIATE_TEST_SUITE_P(
    Dropout, AdjointTest,
    testing::Values(Case{"dropout", "i,j -> i,j", "{rate = 0.25, seed = 3}"},
                    Case{"dropout", "j,i -> i,j", "{rate = 0.5, seed = 1}"}));

INSTANTIATE_TEST_SUITE_P(
    EndMask, AdjointTest,
    testing::Values(Case{"end_mask", "i,j -> i,j",
                         R"({index = "j", end = 2, fill = -1.5})"},
                    Case{"end_mask", "j,i -> i,j",
                         R"({index = "i", end = 1, fill = 0.0})"}));

INSTANTIATE_TEST_SUITE_P(
    CausalMask, AdjointTest,
    testing::Values(Case{"causal_mask", "b,s,t -> b,s,t",
                         R"({query = "s", key = "t", fill = -1.5})"},
                    Case{"causal_mask", "t,s -> s,t",
                         R"({query = "s", key = "t", fill = 0.0})"},
                    Case{"causal_mask", "t,s -> t,s",
                         R"({query = "t", key = "s", fill = 2.0})"}));

INSTANTIATE_TEST_SUITE_P(AddBias, AdjointTest,
                         testing::Values(Case{"add_bias",
                                              "b,s,t; t,s -> b,s,t"},
                                         Case{"add_bias", "s,t; b -> t,b,s"}));

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

INSTANTIATE_TEST_SUITE_P(
    Softmax, AdjointTest,
    testing::Values(
        Case{"softmax", "b,s,t -> b,s,t", R"({over = "t"})"},
        Case{"softmax", "b,t,s -> b,t,s", R"({over = "t"})"},
        Case{"softmax", "t -> t", R"({over = "t"})"},
        Case{"softmax", "s,t -> s,t", R"({over = "t", scale = 0.37})"},
        Case{"softmax", "b,s,t -> b,s,t", R"({over = "t", causal = "s"})"},
        Case{"softmax", "t,b,s -> t,b,s",
             R"({over = "s", causal = "t", scale = 1.7})"},
        // A sink of each row, of some rows, and of all.
        Case{"softmax", "b,s,t; s,b -> b,s,t", R"({over = "t"})"},
        Case{"softmax", "b,s,t; b -> b,s,t",
             R"({over = "t", causal = "s", scale = 1.7})"},
        Case{"softmax", "b,t; . -> b,t", R"({over = "t", scale = 0.3})"}));

INSTANTIATE_TEST_SUITE_P(
    Sequence, AdjointTest,
    testing::Values(Case{"scan", "s; s -> s", R"({index = "s"})"},
                    Case{"scan", "b,s,d; d,s -> b,s,d",
                         R"({index = "s", reverse})"},
                    Case{"scan", "s,b; b,s -> s,b", R"({index = "s"})"},
                    Case{"scan", "b,s=1; s=1 -> b,s=1", R"({index = "s"})"},
                    Case{"cumsum", "b,s -> b,s", R"({index = "s"})"},
                    Case{"cumsum", "s,b -> s,b", R"({index = "s", reverse})"},
                    Case{"delay", "b,s -> b,s", R"({index = "s", by = 2})"},
                    Case{"delay", "s,b -> s,b", R"({index = "s", by = -1})"},
                    Case{"delay", "s,b -> s,b", R"({index = "s", by = 99})"},
                    Case{"delay", "s -> s",
                         R"({index = "s", by = -9223372036854775808})"}));

INSTANTIATE_TEST_SUITE_P(
    RmsNorm, AdjointTest,
    testing::Values(Case{"rms_norm", "b,s,e; e -> b,s,e"},
                    Case{"rms_norm", "b,e,s; e -> b,e,s", "{eps = 0.25}"},
                    Case{"rms_norm", "b,s,h,k; h,k -> b,s,h,k"},
                    Case{"rms_norm", "h,b,k,s; k,h -> h,b,k,s", "{eps = 0.1}"},
                    Case{"rms_norm", "e; e -> e"}));

INSTANTIATE_TEST_SUITE_P(
    LayerNorm, AdjointTest,
    testing::Values(Case{"layer_norm", "b,s,e; e; e -> b,s,e"},
                    Case{"layer_norm", "b,e,s; e; e -> b,e,s", "{eps = 0.25}"},
                    Case{"layer_norm", "b,s,h,k; h,k; h,k -> b,s,h,k"},
                    Case{"layer_norm", "h,b,k,s; k,h; k,h -> h,b,k,s",
                         "{eps = 0.1}"},
                    Case{"layer_norm", "e; e; e -> e"}));

INSTANTIATE_TEST_SUITE_P(
    Rope, AdjointTest,
    testing::Values(
        Case{"rope", "b,s,h,k -> b,s,h,k",
             R"({position = "s", feature = "k"})"},
        Case{"rope", "b,s,h,k -> b,s,h,k",
             R"({position = "s", feature = "k", theta = 7.0, inverse})"},
        Case{"rope", "b,s=5,k=8 -> b,s=5,k=8",
             R"({position = "s", feature = "k", theta = 9.0, stretch = 3.0,
                 trained = 20.0, slow_turns = 0.5, fast_turns = 2.0})"},
        Case{"rope", "k=6,b,s -> k=6,b,s",
             R"({position = "s", feature = "k", theta = 50.0})"}));

INSTANTIATE_TEST_SUITE_P(
    Attention, AdjointTest,
    testing::Values(
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,k -> b,s,h,k",
             R"({query = "s", key = "t", feature = "k", scale = 0.5})"},
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,k -> b,s,h,k",
             R"({query = "s", key = "t", feature = "k", scale = 0.5, causal})"},
        // Grouped queries, the value's own feature, a permuted result.
        Case{"attention", "b,s,h,r,k; b,t,h,k; b,t,h,k -> b,s,h,r,k",
             R"({query = "s", key = "t", feature = "k", scale = 0.7, causal})"},
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,d -> h,b,d,s",
             R"({query = "s", key = "t", feature = "k"})"},
        // Keys and values shared by the batch.
        Case{"attention", "b,s,k; t,k; t,k -> b,s,k",
             R"({query = "s", key = "t", feature = "k", causal})"},
        // A window, a soft-cap, and biases that lack indices of the scores.
        Case{"attention", "b,s=5,h,k; b,t=6,h,k; b,t=6,h,k -> b,s=5,h,k",
             R"({query = "s", key = "t", feature = "k", causal, window = 2})"},
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,k -> b,s,h,k",
             R"({query = "s", key = "t", feature = "k", softcap = 0.8})"},
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,k; t,h,s -> b,s,h,k",
             R"({query = "s", key = "t", feature = "k", scale = 0.7, causal})"},
        Case{"attention", "b,s=5,k; b,t=6,k; b,t=6,k; b,s=5 -> b,s=5,k",
             R"({query = "s", key = "t", feature = "k", softcap = 2,
                 causal, window = 3})"},
        Case{"attention", "b,s=5,h,k; b,t=6,h,k; b,t=6,h,k -> b,s=5,h,k",
             R"({query = "s", key = "t", feature = "k", causal, chunk = 2})"},
        // Sinks of heads, of grouped heads and of the batch.
        Case{"attention", "b,s,h,k; b,t,h,k; b,t,h,k; h -> b,s,h,k",
             R"({query = "s", key = "t", feature = "k", scale = 0.7, causal})"},
        Case{"attention", "b,s,h,r,k; b,t,h,k; b,t,h,d; r,h -> b,s,h,r,d",
             R"({query = "s", key = "t", feature = "k", softcap = 0.8})"},
        Case{
            "attention", "b,s=5,h,k; t=6,h,k; t=6,h,k; b -> b,s=5,h,k",
            R"({query = "s", key = "t", feature = "k", causal, window = 2})"}));

//===----------------------------------------------------------------------===//
// Views and requests
//===----------------------------------------------------------------------===//

INSTANTIATE_TEST_SUITE_P(
    Views, AdjointTest,
    testing::Values(Case{"rename", "b,s=5,d -> b,t,d"},
                    Case{"rename", "i,j -> i,j"},
                    Case{"split", "s,e=12,d -> s,h=3,k=4,d"},
                    Case{"split", "e=30 -> i=2,j=3,k=5"},
                    Case{"split", "e=6,d=8 -> i=2,j=3,k=4,l=2"},
                    Case{"merge", "s,h=3,k=4,d -> s,e=12,d"},
                    Case{"merge", "i=2,j=3,k=4,l=2 -> e=6,d=8"},
                    Case{"reshard", "i,j -> i,j"}));

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

INSTANTIATE_TEST_SUITE_P(
    Blocks, AdjointTest,
    testing::Values(Case{"take", "i,j,l -> i,l", R"({index = "j", at = 1})"},
                    Case{"take", "i,j -> j", R"({index = "i", at = 0})"},
                    Case{"take", "i,j -> i", R"({index = "j", at = 4})"},
                    Case{"take", "i,j=1 -> i", R"({index = "j", at = 0})"},
                    Case{"stack", "i,l; i,l -> i,j=2,l", R"({index = "j"})"},
                    Case{"stack", "i; i; i -> j=3,i", R"({index = "j"})"},
                    Case{"stack", "i -> i,j=1", R"({index = "j"})"}));

//===----------------------------------------------------------------------===//
// Whole functions
//===----------------------------------------------------------------------===//

TEST(DifferentiateTest, ManyUsesOfOneValue) {
  checkGradients(R"mlir(
!m = tensor<3x3xf64, #tpsp.idx<i, j>>
!n = tensor<3x3xf64, #tpsp.idx<j, l>>
!p = tensor<3x3xf64, #tpsp.idx<i, l>>
func.func @f(%x: !m) -> !p {
  %n = tpsp.rename %x : !m -> !n
  %xx = tpsp.einsum %x, %n : (!m, !n) -> !p
  %yy = tpsp.mul %xx, %xx : !p
  %q = tpsp.div %yy, %xx : !p
  %z = tpsp.add %yy, %xx, %yy, %q : !p
  return %z : !p
})mlir");
}

TEST(DifferentiateTest, UnusedAndReturnedArguments) {
  checkGradients(R"mlir(
!v = tensor<5xf64, #tpsp.idx<i>>
func.func @f(%used: !v, %unused: !v, %returned: !v) -> (!v, !v) {
  %y = tpsp.square %used : !v
  %dead = tpsp.exp %unused : !v
  return %y, %returned : !v, !v
})mlir");
}

TEST(DifferentiateTest, SeveralResultsOfOneValue) {
  checkGradients(R"mlir(
!v = tensor<5xf64, #tpsp.idx<i>>
!s = tensor<f64, #tpsp.idx<>>
func.func @f(%x: !v, %y: !v) -> (!v, !v, !s) {
  %a = tpsp.sub %x, %y : !v
  %b = tpsp.tanh %a : !v
  %c = tpsp.reduce %a : !v -> !s
  return %a, %a, %c : !v, !v, !s
})mlir");
}

TEST(DifferentiateTest, GoesAroundConstants) {
  checkGradients(R"mlir(
!x = tensor<5x2x3xf64, #tpsp.idx<s, i, m>>
!r = tensor<5x2x2x3xf64, #tpsp.idx<s, o, i, m>>
!y = tensor<5x2x3xf64, #tpsp.idx<s, o, m>>
func.func @f(%x: !x) -> !y {
  %r = tpsp.rope_matrix {position = "s", feature = "m", out = "o", in = "i",
         theta = 100.0, pairs = 3} : () -> !r
  %y = tpsp.einsum %r, %x : (!r, !x) -> !y
  return %y : !y
})mlir");
}

TEST(DifferentiateTest, GoesThroughShardedTensors) {
  // Placements change no value, and gradients are placed as their tensors.
  checkGradients(R"mlir(
tpsp.mesh @mesh <tp = 2 : model>
!x = tensor<4x3xf64, #tpsp.idx<s@tp, d>>
!w = tensor<6x3xf64, #tpsp.idx<e@tp, d>>
!h = tensor<4x6xf64, #tpsp.idx<s, e, ?>>
!g = tensor<6xf64, #tpsp.idx<e>>
!z = tensor<4xf64, #tpsp.idx<s | sum@tp>>
func.func @f(%x: !x, %w: !w, %g: !g) -> (!x, !z) {
  %h0 = tpsp.einsum %x, %w : (!x, !w) -> !h
  %h1 = tpsp.rms_norm %h0, %g : (!h, !g) -> !h
  %h2 = tpsp.silu %h1 : !h
  %y = tpsp.einsum %w, %h2 : (!w, !h) -> !x
  %z = tpsp.reduce %h2 : !h -> !z
  return %y, %z : !x, !z
})mlir");
}
