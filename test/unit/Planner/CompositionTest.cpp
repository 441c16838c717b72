// What is composed of two and three layers against the whole program.
#include "tpsp/Compile/CandidateEvaluator.h"
#include "tpsp/InitAll.h"

#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// So many residual MLPs, with parameters of 8 MiB each.
std::string deepMlp(int layers) {
  std::string text = R"(
!x    = tensor<16x256x512xf32, #tpsp.idx<b, s, d, ?>>
!h    = tensor<16x256x2048xf32, #tpsp.idx<b, s, e, ?>>
!gain = tensor<512xf32, #tpsp.idx<d, ?>>
!up   = tensor<2048x512xf32, #tpsp.idx<e, d, ?>>
!down = tensor<512x2048xf32, #tpsp.idx<d, e, ?>>

func.func private @layer(%x: !x, %gain: !gain, %up: !up, %down: !down) -> !x {
  %n = tpsp.rms_norm %x, %gain : (!x, !gain) -> !x
  %u = tpsp.einsum %up, %n : (!up, !x) -> !h
  %a = tpsp.silu %u : !h
  %y = tpsp.einsum %down, %a : (!down, !h) -> !x
  %z = tpsp.add %x, %y : (!x, !x) -> !x
  return %z : !x
}

func.func @model(%x0: !x {tpsp.name = "x"})";
  std::string calls;
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i);
    for (const char *kind : {"gain", "up", "down"})
      text += ",\n    %" + std::string(kind) + n + ": !" + kind +
              " {tpsp.param = \"" + kind + n + "\"}";
    calls += "  %x" + std::to_string(i + 1) + " = func.call @layer(%x" + n +
             ", %gain" + n + ", %up" + n + ", %down" + n +
             ") : (!x, !gain, !up, !down) -> !x\n";
  }
  return text + ") -> !x {\n" + calls + "  return %x" + std::to_string(layers) +
         " : !x\n}\n";
}

class Composition : public testing::Test {
protected:
  Composition() {
    llvm::SmallString<128> name;
    llvm::cantFail(llvm::errorCodeToError(
        llvm::sys::fs::createTemporaryFile("deep", "mlir", name)));
    path = name.str().str();
  }
  ~Composition() override { std::filesystem::remove(path); }

  /// How much more the composed step needs than the whole one, as shares.
  struct Error {
    double time = 0, memory = 0;
  };

  Error errorOf(int layers, const AxisUse &use, int64_t microBatches = 1) {
    std::ofstream(path) << deepMlp(layers);
    CandidateEvaluatorOptions options;
    options.path = path;
    options.compile.grad = options.compile.forGpu = true;
    options.compile.optimizer = "adamw";
    options.compile.hardware = "h100-sxm";
    options.compile.attention = "fused";
    options.compile.epilogues = true;
    options.compile.overlap = "on";
    Candidate candidate;
    candidate.axes = {{"dp", 4, use}};
    candidate.settings.microBatches = microBatches;
    std::unique_ptr<Evaluator> evaluator = candidateEvaluators(options)();
    Evaluation composed = evaluator->evaluate(candidate);
    Evaluation whole = evaluator->evaluateWhole(candidate);
    EXPECT_EQ(composed.refusal, "");
    EXPECT_EQ(whole.refusal, "");
    EXPECT_TRUE(composed.isComposed);
    return {composed.seconds / whole.seconds - 1,
            double(composed.memory.total) / double(whole.memory.total) - 1};
  }

  std::string path;
};

} // namespace

// Three layers share a bucket of 25 MiB. Two or three layers then have one
// bucket, which nothing hides; twelve have four, and the last is small.
TEST_F(Composition, BucketsOfSeveralLayers) {
  AxisUse replicated = {AxisRole::Data, 0, {}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  for (const AxisUse &use : {replicated, stored})
    for (int layers : {9, 12, 24})
      EXPECT_NEAR(errorOf(layers, use).time, 0, 0.03)
          << layers << (use.storesParameters ? " stored" : "");
}

// Layers add what one micro-batch of them saves, and not what all do.
TEST_F(Composition, MicroBatchesSaveOneAfterAnother) {
  AxisUse replicated = {AxisRole::Data, 0, {}, false, false};
  EXPECT_NEAR(errorOf(12, replicated, /*microBatches=*/4).memory, 0, 0.15);
}
