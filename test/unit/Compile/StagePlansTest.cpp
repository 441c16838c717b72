// Chunks of real programs: their common work, the values that they send, and a
// comparison with the program that is not cut.
#include "tpsp/Planning/StagePlans.h"
#include "PipelineCheck.h"
#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/InitAll.h"
#include "tpsp/Schedule/PipelineStep.h"
#include "tpsp/Schedule/Simulator.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Returns examples/llama-tiny.mlir, six layers, with another mesh. If
/// `isTied`, the head is the table.
std::string tinyLlama(const std::string &mesh, bool isTied = false) {
  auto file = llvm::MemoryBuffer::getFile(TPSP_EXAMPLES "/llama-tiny.mlir");
  std::string text = (*file)->getBuffer().str();
  auto replace = [&](const std::string &old, const std::string &by) {
    size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), by);
  };
  replace("<dp = 2 : data, tp = 1 : model>", mesh);
  if (isTied) {
    replace(", param %head: [v@tp, d]", "");
    replace("einsum %head,", "einsum %table,");
  }
  return text;
}

struct StagePlansTest : testing::Test {
  StagePlansTest() : context(registry(), MLIRContext::Threading::DISABLED) {
    request.compile.grad = true;
    request.compile.forGpu = true;
    request.compile.attention = "fused";
    request.compile.epilogues = true;
    request.compile.hardware = "h100-sxm";
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  llvm::Expected<StagePlans> compile(const std::string &text) {
    write(text);
    ScopedDiagnosticHandler listen(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message += diagnostic.str();
    });
    auto module = parseModel(context, path);
    if (!module)
      return module.takeError();
    return compileStages(std::move(*module), path, request, [](StringRef) {});
  }

  PipelineStep simulated(const StagePlans &plans, const char *policy = "1f1b") {
    CostModel cost(*findHardware("h100-sxm"), Mesh(plans.mesh));
    PipelineRequest step;
    step.stageAxis = plans.stageAxis;
    step.parts = request.compile.microBatches;
    step.hasBackward = request.compile.grad;
    for (const StagePlan &chunk : plans.chunks) {
      auto work = chunkWork(*chunk.plan, cost, {chunk.received, chunk.sent},
                            step.parts);
      EXPECT_TRUE(bool(work)) << llvm::toString(work.takeError());
      step.chunks.push_back({*work, chunk.arguments});
      works.push_back(*work);
    }
    auto result = simulatePipeline(step, *findPolicy(policy), cost);
    EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
    EXPECT_EQ(verify(result->problem, result->schedule), std::nullopt);
    return std::move(*result);
  }

  /// Returns the plan of the whole program on one stage.
  std::shared_ptr<const tpsp::Plan> whole(const std::string &text) {
    write(text);
    auto compiled =
        compileModel(context, path, request.compile, [](StringRef) {});
    EXPECT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    return compiled->plan;
  }

  void write(const std::string &text) {
    int file;
    ASSERT_FALSE(
        llvm::sys::fs::createTemporaryFile("stages", "mlir", file, path));
    remover.setFile(path);
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
  }

  MLIRContext context;
  StageRequest request;
  SmallString<64> path;
  llvm::FileRemover remover;
  std::string message;
  std::vector<ChunkWork> works;
};

TEST_F(StagePlansTest, ChunksTogetherAreTheProgram) {
  for (const char *optimizer : {"none", "adamw"}) {
    request.compile.optimizer = optimizer;
    works.clear();
    auto plans = compile(tinyLlama("<pp = 3 : stage, dp = 2 : data, tp = 2 : "
                                   "model>"));
    ASSERT_TRUE(bool(plans)) << message;
    simulated(*plans);
    auto plan = whole(tinyLlama("<dp = 2 : data, tp = 2 : model>"));
    CostModel cost(*findHardware("h100-sxm"), Mesh(plan->mesh));
    double one = simulate(*plan, cost)->seconds - cost.stepSeconds();
    double all = 0, flops = 0;
    int64_t parameters = 0, state = 0, sent = 0, back = 0;
    for (const ChunkWork &work : works) {
      // The two parts of a backward pass add up to it, but for the host's time
      // to issue them.
      EXPECT_NEAR(work.input + work.weights, work.backward, 1e-5);
      all += work.forward + work.backward + work.update;
      flops += work.flops;
      sent += work.sentForward;
      back += work.sentBackward;
      for (auto [argument, bytes] : work.parameters)
        parameters += bytes;
      for (auto [argument, bytes] : work.state)
        state += bytes;
    }
    // Buckets of reductions have other sizes.
    EXPECT_NEAR(all, one, 0.03 * one) << optimizer;
    EXPECT_DOUBLE_EQ(flops, plan->matmulFlops());
    EXPECT_EQ(parameters, plan->bytesOf(BufferKind::Parameter));
    EXPECT_EQ(state, plan->bytesOf(BufferKind::State));
    // [b@dp, s@tp, d] in f32, twice.
    EXPECT_EQ(sent, 2 * 16 * 256 * 256 * 4 / 4);
    EXPECT_EQ(back, sent);
    // No stage waits for the first chunk's input gradient.
    EXPECT_EQ(works[0].input, 0);
    EXPECT_GT(works[1].input, works[1].weights);
  }
}

TEST_F(StagePlansTest, OneStageNeedsWhatTheProgramNeeds) {
  auto plans = compile(tinyLlama("<pp = 1 : stage, dp = 1 : data, tp = 2 : "
                                 "model>"));
  ASSERT_TRUE(bool(plans)) << message;
  PipelineStep step = simulated(*plans);
  auto plan = whole(tinyLlama("<dp = 1 : data, tp = 2 : model>"));
  CostModel cost(*findHardware("h100-sxm"), Mesh(plan->mesh));
  auto real = simulate(*plan, cost);
  // The whole program saves tokens and targets, too.
  EXPECT_EQ(works[0].saved + 2 * 16 * 256 * 4, plan->savedBytes);
  // A gradient exists twice while it is reduced.
  auto atPeak = llvm::max_element(
      step.stages[0].memory,
      [](const auto &a, const auto &b) { return a.value < b.value; });
  double peak = double(memoryUse(*plan, real->rank).peakBytes);
  EXPECT_NEAR(atPeak->value, peak, 0.02 * peak);
  // Values that segments pass on keep their places while they are used up.
  EXPECT_GE(double(step.stages[0].peak), atPeak->value);
  EXPECT_LE(double(step.stages[0].peak), 1.1 * atPeak->value);
  EXPECT_NEAR(step.seconds, real->seconds, 0.01 * real->seconds);
}

TEST_F(StagePlansTest, BlocksThatDoNotDivideAndCyclicOnes) {
  auto layers = [](const StagePlans &plans) {
    std::vector<int64_t> counts;
    for (const StagePlan &chunk : plans.chunks)
      counts.push_back(chunk.layers);
    return counts;
  };
  auto blocks = compile(tinyLlama("<pp = 4 : stage>"));
  ASSERT_FALSE(bool(blocks)); // The mesh lacks the subscripts' axes.
  llvm::consumeError(blocks.takeError());
  std::string text = tinyLlama("<tp = 1, pp = 4 : stage, dp = 1>");
  blocks = compile(text);
  ASSERT_TRUE(bool(blocks)) << message;
  EXPECT_EQ(layers(*blocks), (std::vector<int64_t>{2, 2, 1, 1}));
  EXPECT_EQ(blocks->stageAxis, 1u);
  request.layers = {1, 3, 1, 1};
  auto given = compile(text);
  ASSERT_TRUE(bool(given)) << message;
  EXPECT_EQ(layers(*given), request.layers);
  // The first and the last chunk have further operations. The others have one
  // layer or three.
  EXPECT_EQ(given->compiled, 4);
  request.layers.clear();
  request.chunksPerStage = 3;
  auto cyclic = compile(tinyLlama("<tp = 1, pp = 2 : stage, dp = 1>"));
  ASSERT_TRUE(bool(cyclic)) << message;
  EXPECT_EQ(cyclic->chunks.size(), 6u);
  EXPECT_EQ(cyclic->compiled, 3);
  EXPECT_EQ(cyclic->chunks[1].plan, cyclic->chunks[4].plan);
}

TEST_F(StagePlansTest, ATiedEmbeddingIsReducedOverBothStages) {
  std::string mesh = "<pp = 3 : stage, dp = 1 : data, tp = 2 : model>";
  request.compile.microBatches = 4;
  for (const char *optimizer : {"none", "sgd"}) {
    request.compile.optimizer = optimizer;
    auto tied = compile(tinyLlama(mesh, /*isTied=*/true));
    ASSERT_TRUE(bool(tied)) << message;
    PipelineStep step = simulated(*tied);
    ASSERT_EQ(step.tied.size(), 1u);
    EXPECT_EQ(tied->argumentNames[step.tied[0].argument], "table");
    EXPECT_EQ(step.tied[0].stages, (std::vector<int64_t>{0, 2}));
    // [v@tp, d] in f32.
    EXPECT_EQ(step.tied[0].bytes, 256 * 256 * 4 / 2);
    EXPECT_EQ(step.tied[0].bytesSent, 256 * 256 * 4 / 2);
    auto apart = compile(tinyLlama(mesh));
    ASSERT_TRUE(bool(apart)) << message;
    EXPECT_TRUE(simulated(*apart).tied.empty());
  }
}

TEST_F(StagePlansTest, SchedulesDifferInWhatTheySave) {
  request.compile.microBatches = 16;
  auto plans =
      compile(tinyLlama("<pp = 3 : stage, dp = 1 : data, tp = 1 : model>"));
  ASSERT_TRUE(bool(plans)) << message;
  PipelineStep few = simulated(*plans), all = simulated(*plans, "gpipe"),
               filled = simulated(*plans, "zero-bubble");
  for (int64_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(few.stages[stage].units, 3 - stage);
    EXPECT_EQ(all.stages[stage].units, 16);
    EXPECT_EQ(few.stages[stage].saved, works[stage].saved * (3 - stage));
    EXPECT_GT(works[stage].saved, 0);
    EXPECT_LT(few.stages[stage].peak, all.stages[stage].peak);
  }
  EXPECT_LT(filled.seconds, few.seconds);
}

TEST_F(StagePlansTest, ClippingIsOnceAStep) {
  std::string text = tinyLlama("<pp = 3 : stage, dp = 1 : data, tp = 2 : "
                               "model>");
  request.compile.optimizer = "adamw";
  std::vector<ChunkWork> without;
  for (double clip : {0.0, 1.0}) {
    request.compile.clip = clip;
    without = std::move(works);
    works.clear();
    auto plans = compile(text);
    ASSERT_TRUE(bool(plans)) << message;
    simulated(*plans);
  }
  // A copy moves to the update, so one command less is issued: a few
  // thousandths of the time. The norm's kernels would be seven hundredths and
  // more.
  for (size_t i = 0; i < works.size(); ++i) {
    EXPECT_NEAR(works[i].weights, without[i].weights,
                0.01 * without[i].weights);
    EXPECT_GT(works[i].update, without[i].update);
  }
}

TEST_F(StagePlansTest, SegmentsOverlapByThemselves) {
  std::string text = tinyLlama("<pp = 3 : stage, dp = 1 : data, tp = 2 : "
                               "model>");
  std::vector<ChunkWork> serial;
  for (const char *overlap : {"off", "on"}) {
    request.compile.overlap = overlap;
    serial = std::move(works);
    works.clear();
    auto plans = compile(text);
    ASSERT_TRUE(bool(plans)) << message;
    simulated(*plans);
  }
  for (size_t i = 0; i < works.size(); ++i) {
    EXPECT_LT(works[i].backward, 0.99 * serial[i].backward);
    EXPECT_LE(works[i].forward, 1.001 * serial[i].forward);
    EXPECT_EQ(works[i].sentForward, serial[i].sentForward);
    EXPECT_EQ(works[i].sentBackward, serial[i].sentBackward);
    EXPECT_EQ(works[i].gradients, serial[i].gradients);
    // If work is cut into more pieces, some buffers are saved in parts.
    EXPECT_NEAR(double(works[i].saved), double(serial[i].saved),
                0.2 * double(serial[i].saved));
  }
}

TEST_F(StagePlansTest, AValueThatIsUsedFurtherOnIsHandedOn) {
  std::string text = R"(
    tpsp.mesh @mesh <pp = 3 : stage>
    !x = tensor<4x8xf32, #tpsp.idx<b, d>>
    !w = tensor<8x8xf32, #tpsp.idx<e, d>>
    func.func private @layer(%x: !x, %w: !w) -> !x {
      %h = tpsp.einsum %w, %x : (!w, !x) -> tensor<4x8xf32, #tpsp.idx<b, e, ?>>
      %y = tpsp.einsum %w, %h : (!w, tensor<4x8xf32, #tpsp.idx<b, e, ?>>) -> !x
      return %y : !x
    }
    func.func @f(%x: !x {tpsp.name = "x"}, %w0: !w {tpsp.param = "w0"},
                 %w1: !w {tpsp.param = "w1"}, %w2: !w {tpsp.param = "w2"})
        -> (!x, !x) {
      %a = call @layer(%x, %w0) : (!x, !w) -> !x
      %b = call @layer(%a, %w1) : (!x, !w) -> !x
      %s = tpsp.add %a, %b : !x
      %c = call @layer(%s, %w2) : (!x, !w) -> !x
      return %c, %a : !x, !x
    })";
  auto plans = compile(text);
  ASSERT_TRUE(bool(plans)) << message;
  EXPECT_EQ(plans->chunks[1].received, 1);
  // The values of the first layer and of the second are sent, because they are
  // added where they are used.
  EXPECT_EQ(plans->chunks[1].sent, 2);
  EXPECT_EQ(plans->chunks[2].received, 2);
  PipelineStep step = simulated(*plans);
  EXPECT_EQ(step.sentForward, (std::vector<int64_t>{128, 256, 0}));
  EXPECT_EQ(step.sentBackward, (std::vector<int64_t>{0, 128, 256}));
}

struct StageRefusalTest : StagePlansTest {
  std::string refusal(const std::string &text) {
    auto plans = compile(text);
    EXPECT_FALSE(bool(plans));
    if (!plans)
      llvm::consumeError(plans.takeError());
    return message;
  }
};

TEST_F(StageRefusalTest, MoreStagesThanLayers) {
  EXPECT_EQ(refusal(tinyLlama("<pp = 7 : stage, dp = 1, tp = 1>")),
            "has 6 layers (calls of functions), fewer than the 7 chunks of 7 "
            "stages; give fewer stages or chunks");
}

TEST_F(StageRefusalTest, CountsOfOtherLayers) {
  request.layers = {3, 2};
  EXPECT_EQ(refusal(tinyLlama("<pp = 2 : stage, dp = 1, tp = 1>")),
            "has 6 layers for 2 chunks; 2 counts are given that add up to 5: "
            "give each chunk its number, at least 1");
}

TEST_F(StageRefusalTest, MicroBatchesThatDoNotDivide) {
  request.compile.microBatches = 5;
  EXPECT_EQ(refusal(tinyLlama("<pp = 2 : stage, dp = 2, tp = 1>")),
            "has index 'b' of extent 16, which 2 shards of 5 micro-batches do "
            "not divide; give a number that divides 8");
}

TEST_F(StageRefusalTest, NoStages) {
  EXPECT_EQ(refusal(tinyLlama("<dp = 2, tp = 1>")),
            "has no stages: no axis of the mesh has the role 'stage'; write "
            "one, as in <pp = 4 : stage>");
}

TEST_F(StageRefusalTest, WhatIsSentWithoutAPlace) {
  std::string text = tinyLlama("<pp = 2 : stage, dp = 1, tp = 1>");
  for (size_t at; (at = text.find("[b@dp, s@tp, d]")) != std::string::npos;)
    text.replace(at, 15, "[b, s, d, ?]");
  EXPECT_EQ(refusal(text),
            "goes from chunk 0 to chunk 1 of the layers, but is not placed; "
            "write the subscripts with which it is sent into its type");
}

} // namespace
