// Device kernels compute the same as the CPU's, in any order of a block's
// threads.
#include "KernelTrial.h"

#include "Passes/Device/DeviceKernels.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::device;

namespace {

struct Case {
  const char *mnemonic;
  const char *signature;
  const char *attributes = "";
  bool grad = true;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) {
  return stream << c.mnemonic << " " << c.signature << " " << c.attributes;
}

class DeviceKernelTest : public testing::TestWithParam<Case> {};

TEST_P(DeviceKernelTest, EqualsTheCpu) {
  const Case &c = GetParam();
  std::string text = operationText(c.mnemonic, c.signature, c.attributes);
  for (const char *dtype : {"f32", "bf16", "f16"}) {
    CompileOptions options;
    options.grad = c.grad;
    options.dtype = dtype;
    EXPECT_EQ(firstDifference(text, options), "") << dtype << "\n" << text;
  }
}

} // namespace

INSTANTIATE_TEST_SUITE_P(
    Norms, DeviceKernelTest,
    testing::Values(
        // Extents that are prime, 1, a power of two, or larger than a block's
        // number of threads. The gradients of gains sum over all rows.
        Case{"layer_norm", "b=2,s=3,e=37; e=37; e=37 -> b=2,s=3,e=37"},
        Case{"layer_norm", "s=5,e=64; e=64; e=64 -> s=5,e=64"},
        Case{"layer_norm", "s=7,e=1; e=1; e=1 -> s=7,e=1"},
        Case{"layer_norm", "s=1,e=2053; e=2053; e=2053 -> s=1,e=2053"},
        Case{"layer_norm", "s=300,e=16; e=16; e=16 -> s=300,e=16"},
        Case{"rms_norm", "b=3,s=11,e=128; e=128 -> b=3,s=11,e=128"},
        // Sums over an index that is not innermost, and over two of them.
        Case{"rms_norm", "b=2,e=13,s=7; e=13 -> b=2,e=13,s=7"},
        Case{"rms_norm", "s=5,h=3,k=9; h=3,k=9 -> s=5,h=3,k=9"},
        Case{"rms_norm", "h=3,b=5,k=4,s=2; k=4,h=3 -> h=3,b=5,k=4,s=2"}));

INSTANTIATE_TEST_SUITE_P(
    Softmax, DeviceKernelTest,
    testing::Values(
        Case{"softmax", "b=2,s=5,t=67 -> b=2,s=5,t=67", R"({over = "t"})"},
        Case{"softmax", "s=3,t=1024 -> s=3,t=1024", R"({over = "t"})"},
        // Rows that need more than a block's default memory, and more than its
        // largest.
        Case{"softmax", "s=2,t=8009 -> s=2,t=8009", R"({over = "t"})"},
        Case{"softmax", "s=2,t=20011 -> s=2,t=20011", R"({over = "t"})"},
        Case{"softmax", "s=2,t=30011 -> s=2,t=30011", R"({over = "t"})"},
        Case{"softmax", "s=2,t=30720 -> s=2,t=30720", R"({over = "t"})"},
        Case{"softmax", "s=31,t=31 -> s=31,t=31",
             R"({over = "t", causal = "s", scale = 0.37})"},
        Case{"softmax", "t=17,s=129 -> t=17,s=129", R"({over = "t"})"},
        Case{"softmax", "t=1,s=1 -> t=1,s=1", R"({over = "t"})"},
        Case{"softmax", "s=5,t=67 -> s=5,t=67", R"({over = "t", hides})"},
        // Lengths are none, all and others.
        Case{"attention",
             "b=9,s=6,k=4; b=9,t=5,k=4; b=9,t=5,k=4; s=6,t=5; #b=9 "
             "-> b=9,s=6,k=4",
             R"({query = "s", key = "t", feature = "k"})"}));

/// The bias is minus infinity for some keys, and in some rows for all keys.
TEST(DeviceAttentionTest, HiddenKeysEqualTheCpu) {
  std::string text = R"(
tpsp.program <b = 3, s = 37, t = 33, k = 4> {
func @f(%q: [b, s, k], %k, %v: [b, t, k], %bias: [s, t]) -> [b, s, k] {
  %earlier = causal_mask %bias {query = "t", key = "s", fill = 0xFFF0000000000000 : f64}
  %o = attention %q, %k, %v, %earlier {query = "s", key = "t", feature = "k"}
  return %o
}
})";
  for (const char *dtype : {"f32", "bf16", "f16"}) {
    CompileOptions options;
    options.grad = true;
    options.dtype = dtype;
    EXPECT_EQ(firstDifference(text, options), "") << dtype;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pointwise, DeviceKernelTest,
    testing::Values(Case{"gelu", "b=3,s=7,d=5 -> b=3,s=7,d=5"},
                    Case{"gelu", "s=2,d=4096 -> s=2,d=4096"},
                    Case{"silu", "i=1000 -> i=1000"}, Case{"tanh", ". -> ."},
                    Case{"add", "i=9,j=33; j=33 -> i=9,j=33"},
                    Case{"mul", "b=2,l=3,i=5; i=5,j=7 -> b=2,i=5,j=7,l=3"},
                    Case{"einsum", "i=11,j=65 -> j=65"},
                    Case{"einsum", "i=11,j=65 -> i=11"},
                    Case{"einsum", "i=3,j=65,l=70 -> l=70,i=3"},
                    Case{"einsum", "i=3,j=65 -> ."},
                    Case{"dropout", "s=6,d=50 -> s=6,d=50",
                         "{rate = 0.3, seed = 5}"},
                    Case{"causal_mask", "b=2,s=9,t=13 -> b=2,s=9,t=13",
                         R"({query = "s", key = "t", fill = -1.5})"},
                    Case{"length_mask", "b=3,s=9,t=13; #b=3 -> b=3,s=9,t=13",
                         R"({index = "t", fill = -1.5})"},
                    Case{"rope", "b=2,s=5,h=3,k=14 -> b=2,s=5,h=3,k=14",
                         R"({position = "s", feature = "k"})"},
                    Case{"rope", "s=5,k=14 -> s=5,k=14",
                         R"({position = "s", feature = "k", theta = 9.0,
                             stretch = 3.0, trained = 20.0, slow_turns = 0.5,
                             fast_turns = 2.0})"}));

/// Algorithms on rows, and copies.
INSTANTIATE_TEST_SUITE_P(
    Rows, DeviceKernelTest,
    testing::Values(
        Case{"embedding", "#b=2,s=19; v=7,d=33 -> b=2,s=19,d=33",
             R"({vocabulary = "v"})"},
        Case{"router", "g=3,s=70,e=8 -> #g=3,s=70,k=2",
             R"({expert = "e", choice = "k"})", false},
        Case{"one_hot_einsum", "#g=3,s=70,k=2; g=3,s=70,e=8 -> g=3,s=70,k=2",
             R"({indices = ["e"]})"},
        // Many terms are added in few places, by two blocks for a row.
        Case{"one_hot_einsum", "#b=2,s=31; b=2,s=31,d=192 -> v=7,d=192",
             R"({indices = ["v"]})"},
        Case{"embedding", "#b=2,s=19; v=7,d=128 -> b=2,s=19,d=128",
             R"({vocabulary = "v"})"},
        // Two integers give a place, and one of them also decides what is
        // looked up.
        Case{"one_hot_einsum",
             "#g=2,s=9,k=2; #g=2,s=9,k=2; #g=2,s=9; g=2,v=8,d=5 "
             "-> e=6,g=2,c=3,d=5",
             R"({indices = ["e", "c", "v"]})"},
        // A sum for each place, whose terms are divided among a warp: more
        // terms than threads, and fewer.
        Case{"one_hot_einsum",
             "#g=2,s=9; g=2,v=8,d=45; g=2,s=9,d=45 -> g=2,s=9",
             R"({indices = ["v"]})"},
        Case{"one_hot_einsum", "#s=35; v=3,d=7; s=35,d=7 -> s=35",
             R"({indices = ["v"]})"},
        // Rows times their matrices, and matrices from their rows. The integers
        // of neighbouring rows are not neighbours in memory.
        Case{"one_hot_einsum",
             "#g=3,c=9,j=2; j=2,i=3,f=33,d=17; j=2,g=3,c=9,d=17 "
             "-> j=2,g=3,c=9,f=33",
             R"({indices = ["i"]})"},
        Case{"one_hot_einsum",
             "#g=3,c=9,j=2; j=2,g=3,c=9,f=5; j=2,g=3,c=9,d=64 "
             "-> j=2,i=3,f=5,d=64",
             R"({indices = ["i"]})"},
        Case{"count_values", "#g=3,s=17,k=2 -> #g=3,j=2,i=3",
             R"({over = ["s", "k"], of = ["j", "i"]})", false},
        Case{"runs", "#g=3,j=2,i=3 -> #g=3,j=2,c=7",
             R"({of = "i", along = "c"})", false},
        Case{"block_of", "#g=3,s=17 -> #g=3,s=17", R"({size = 3})", false},
        Case{"count_earlier", "#g=3,s=7,k=2; #g=3,j=2,i=3 -> #g=3,s=7,k=2",
             R"({over = ["k", "s"], values = 6, of = ["j", "i"]})", false},
        Case{"count_earlier", "#g=3,s=7,k=2 -> #g=3,s=7,k=2",
             R"({over = ["k", "s"], values = 5})", false},
        Case{"dispatch", "#g=2,s=9,k=2; g=2,s=9,d=21 -> e=8,g=2,c=3,d=21",
             R"({expert = "e", slot = "c", choice = "k"})"}));

/// The numbers of integers are 1, primes, and more than a warp or a block
/// visits at once. Some ranges of buckets lie in two groups.
INSTANTIATE_TEST_SUITE_P(
    Buckets, DeviceKernelTest,
    testing::Values(
        Case{"count_values", "#s=1 -> #i=1", R"({over = ["s"], of = ["i"]})",
             false},
        Case{"count_values", "#s=131 -> #i=8", R"({over = ["s"], of = ["i"]})",
             false},
        Case{"count_values", "#s=2053,k=2 -> #i=7",
             R"({over = ["k", "s"], of = ["i"]})", false},
        Case{"count_values", "#g=97,s=5 -> #g=97,i=7",
             R"({over = ["s"], of = ["i"]})", false},
        Case{"count_earlier", "#s=1 -> #s=1", R"({over = ["s"], values = 1})",
             false},
        Case{"count_earlier", "#s=4099 -> #s=4099",
             R"({over = ["s"], values = 7})", false},
        Case{"count_earlier", "#g=5,s=257,k=2 -> #g=5,s=257,k=2",
             R"({over = ["k", "s"], values = 67})", false},
        Case{"count_earlier", "#s=1025,k=2; #j=2,i=4 -> #s=1025,k=2",
             R"({over = ["s", "k"], values = 8, of = ["j", "i"]})", false},
        // Runs that a warp divides, and runs that a block divides.
        Case{"runs", "#i=1 -> #c=1", R"({of = "i", along = "c"})", false},
        Case{"runs", "#g=5,i=37 -> #g=5,c=131", R"({of = "i", along = "c"})",
             false},
        Case{"runs", "#i=700 -> #c=2053", R"({of = "i", along = "c"})", false},
        Case{"one_hot_einsum", "#s=1; s=1,d=2 -> v=3,d=2",
             R"({indices = ["v"]})"},
        Case{"one_hot_einsum", "#s=1031; s=1031,d=2 -> v=7,d=2",
             R"({indices = ["v"]})"},
        Case{"one_hot_einsum", "#g=3,s=37,k=3; g=3,s=37,k=3 -> g=3,v=257",
             R"({indices = ["v"]})"},
        Case{"one_hot_einsum",
             "#g=2,s=65,k=2; #g=2,s=65,k=2; g=2,s=65,d=3 -> e=6,g=2,c=31,d=3",
             R"({indices = ["e", "c"]})"}));

/// Threads of a warp divide the innermost index, unless it is the sequence.
INSTANTIATE_TEST_SUITE_P(
    Sequences, DeviceKernelTest,
    testing::Values(
        Case{"scan", "b=2,s=9,d=37; s=9,d=37 -> b=2,s=9,d=37",
             R"({index = "s"})"},
        Case{"scan", "b=5,s=7,d=64; b=5,s=7 -> b=5,s=7,d=64",
             R"({index = "s", reverse})"},
        Case{"scan", "d=3,s=11; s=11 -> d=3,s=11", R"({index = "s"})"},
        Case{"cumsum", "s=13,h=2,d=1 -> s=13,h=2,d=1", R"({index = "s"})"},
        Case{"delay", "b=2,s=9,d=35 -> b=2,s=9,d=35",
             R"({index = "s", by = 3})"},
        Case{"delay", "b=2,s=9 -> b=2,s=9", R"({index = "s", by = -2})"},
        // Blocks share a row. A thread moves several elements at a time, a warp
        // takes several rounds, or neither.
        Case{"delay", "b=3,s=17,d=64 -> b=3,s=17,d=64",
             R"({index = "s", by = -5})"},
        Case{"delay", "s=7,d=331 -> s=7,d=331", R"({index = "s", by = 6})"},
        Case{"delay", "s=5,b=2,d=300 -> s=5,b=2,d=300",
             R"({index = "s", by = 1})"}));

TEST(DeviceExampleTest, EqualsTheCpu) {
  for (const char *name :
       {"mlp-sp", "gpt-block-dropout", "gqa", "moe-ep", "vocab-parallel"}) {
    CompileOptions options;
    options.grad = true;
    options.epilogues = false; // more kernels
    EXPECT_EQ(firstDifference(exampleText(name), options), "") << name;
  }
}

/// A plan with kernels for a GPU can still be compiled for CPUs.
TEST(DeviceRecordTest, ThePlanBecomesMachineCode) {
  CompileOptions options;
  options.grad = true;
  Program program(exampleText("vocab-parallel"), options);
  ASSERT_TRUE(program);
  auto code = JitProgram::create(
      *program.model.module, program.model.plan->program, CodeEffort::Little);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  EXPECT_NE(code->step, nullptr);
}

TEST(DeviceRecordTest, AnUnknownDeviceIsRefused) {
  CompileOptions options;
  options.device = "tpu";
  Program program(operationText("gelu", "i=8 -> i=8"), CompileOptions());
  auto compiled = compileModule(
      parseSourceString<ModuleOp>(operationText("gelu", "i=8 -> i=8"),
                                  program.model.module->getContext()),
      "model", options, [](StringRef) {});
  ASSERT_FALSE(bool(compiled));
  EXPECT_EQ(llvm::toString(compiled.takeError()),
            "no device is called 'tpu': cuda or none");
}

/// Operations without a parallel form get the serial form.
TEST(SerialFormTest, EqualsTheCpu) {
  for (const char *name : {"gpt-block-dropout", "vocab-parallel"}) {
    CompileOptions options;
    options.grad = true;
    options.epilogues = false; // the same kernels in f64, which has none
    std::string difference =
        firstDifference(exampleText(name), options, [](ModuleOp plan) {
          plan.lookupSymbol<gpu::GPUModuleOp>(deviceModuleName)->erase();
          PassManager manager(plan.getContext());
          manager.addPass(createEmitDeviceKernels({"sm_80", /*serial=*/true}));
          ASSERT_TRUE(succeeded(manager.run(plan)));
        });
    EXPECT_EQ(difference, "") << name;
  }
}

//===----------------------------------------------------------------------===//
// Errors are detected
//===----------------------------------------------------------------------===//

static std::string changedNorm(Change change) {
  CompileOptions options;
  options.grad = true;
  return firstDifference(
      operationText("rms_norm", "s=5,e=2500; e=2500 -> s=5,e=2500"), options,
      change);
}

TEST(DeviceMutationTest, TheNormItselfIsRight) {
  EXPECT_EQ(changedNorm([](ModuleOp) {}), "");
}

TEST(DeviceMutationTest, EveryBarrierIsNeeded) {
  int barriers = 0;
  changedNorm(
      [&](ModuleOp plan) { plan.walk([&](gpu::BarrierOp) { ++barriers; }); });
  ASSERT_GT(barriers, 0);
  for (int removed = 0; removed < barriers; ++removed)
    EXPECT_NE(changedNorm([&](ModuleOp plan) {
                int number = 0;
                plan.walk([&](gpu::BarrierOp op) {
                  if (number++ == removed)
                    op.erase();
                });
              }),
              "")
        << "barrier " << removed;
}

TEST(DeviceMutationTest, AWrongStrideIsSeen) {
  EXPECT_NE(changedNorm([](ModuleOp plan) {
              plan.walk([](gpu::GPUFuncOp kernel) {
                kernel.walk([](scf::ForOp loop) {
                  OpBuilder b(loop);
                  Value two =
                      arith::ConstantIndexOp::create(b, loop.getLoc(), 2);
                  loop.setStep(arith::MulIOp::create(b, loop.getLoc(),
                                                     loop.getStep(), two));
                });
              });
            }),
            "");
}

TEST(DeviceMutationTest, AMissingBlockNumberIsSeen) {
  EXPECT_NE(
      changedNorm([](ModuleOp plan) {
        plan.walk([](gpu::BlockIdOp op) {
          OpBuilder b(op);
          op.replaceAllUsesWith(
              arith::ConstantIndexOp::create(b, op.getLoc(), 0).getResult());
        });
      }),
      "");
}
