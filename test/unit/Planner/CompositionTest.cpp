// Compares steps that are composed of few layers with those of the whole
// program.
#include "tpsp/InitAll.h"
#include "tpsp/Planning/CandidateEvaluator.h"

#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Returns a model of `layers` residual MLPs with parameters of 8 MiB each. If
/// `takeTurns`, two kinds alternate.
std::string deepMlp(int layers, bool takeTurns) {
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

func.func private @ungated(%x: !x, %gain: !gain, %up: !up, %down: !down) -> !x {
  %u = tpsp.einsum %up, %x : (!up, !x) -> !h
  %y = tpsp.einsum %down, %u : (!down, !h) -> !x
  %n = tpsp.rms_norm %y, %gain : (!x, !gain) -> !x
  %z = tpsp.add %x, %n : (!x, !x) -> !x
  return %z : !x
}

func.func @model(%x0: !x {tpsp.name = "x"})";
  std::string calls;
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i);
    for (const char *kind : {"gain", "up", "down"})
      text += ",\n    %" + std::string(kind) + n + ": !" + kind +
              " {tpsp.param = \"" + kind + n + "\"}";
    const char *layer = takeTurns && i % 2 == 1 ? "ungated" : "layer";
    calls += "  %x" + std::to_string(i + 1) + " = func.call @" + layer + "(%x" +
             n + ", %gain" + n + ", %up" + n + ", %down" + n +
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

  /// The difference of the composed step from the whole step, as shares.
  struct Error {
    double time = 0, memory = 0;
  };

  Error errorOf(int layers, const AxisUse &use, int64_t microBatches = 1) {
    Candidate candidate;
    candidate.axes = {{"dp", 4, use}};
    candidate.settings.microBatches = microBatches;
    return errorOf(layers, candidate, "on");
  }

  Error errorOf(int layers, const Candidate &candidate,
                const std::string &overlap) {
    std::ofstream(path) << deepMlp(layers, takeTurns);
    CandidateEvaluatorOptions options;
    options.path = path;
    options.compile.grad = options.compile.forGpu = true;
    options.compile.optimizer = "adamw";
    options.compile.hardware = "h100-sxm";
    options.compile.attention = "fused";
    options.compile.epilogues = true;
    options.compile.overlap = overlap;
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
  bool takeTurns = false;
};

} // namespace

// Three layers share a bucket of 25 MiB. So a few layers have one bucket, which
// nothing hides. Twelve layers have four, and the last is small.
TEST_F(Composition, BucketsOfSeveralLayers) {
  AxisUse replicated = {AxisRole::Data, 0, {}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  for (const AxisUse &use : {replicated, stored})
    for (int layers : {9, 12, 24})
      EXPECT_NEAR(errorOf(layers, use).time, 0, 0.035)
          << layers << (use.storesParameters ? " stored" : "");
}

// A layer adds the bytes that one micro-batch saves, not all of them. Steps of
// many layers have no other collectives.
TEST_F(Composition, MicroBatchesSaveOneAfterAnother) {
  AxisUse replicated = {AxisRole::Data, 0, {}, false, false};
  EXPECT_NEAR(errorOf(12, replicated, /*microBatches=*/4).memory, 0, 0.03);
  AxisUse rows = {AxisRole::Model, 1, {3}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  for (const AxisUse &data : {replicated, stored}) {
    Candidate candidate;
    candidate.axes = {{"dp", 2, data}, {"tp", 2, rows}};
    candidate.settings.microBatches = 4;
    Error error = errorOf(24, candidate, "off");
    EXPECT_NEAR(error.time, 0, 0.02) << data.storesParameters;
    EXPECT_NEAR(error.memory, 0, 0.025) << data.storesParameters;
  }
}

// Chunks of four layers and more are composed of chunks of two, and of one
// chunk with one more layer. That also holds for chunks of different numbers of
// layers, and without a chunk in the middle.
TEST_F(Composition, LayersOfStages) {
  AxisUse stage = {AxisRole::Stage, std::nullopt, {}, false, false};
  AxisUse replicated = {AxisRole::Data, 0, {}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  AxisUse model = {AxisRole::Model, std::nullopt, {3}, false, false};
  for (auto [layers, stages] : {std::pair(8, 2), std::pair(14, 3)})
    for (const AxisUse &use : {replicated, stored, model})
      for (const char *schedule : {"1f1b", "zero-bubble"}) {
        Candidate candidate;
        candidate.axes = {{"pp", stages, stage}, {"x", 2, use}};
        candidate.settings = {4, "none", schedule};
        Error error = errorOf(layers, candidate, "off");
        std::string what = std::to_string(stages) + " stages, " + schedule +
                           (use.storesParameters ? ", stored" : "");
        // Chunks have fewer kernels, which pass less from one part of the
        // backward pass to the other.
        bool splitsWeights = candidate.settings.schedule == "zero-bubble";
        EXPECT_NEAR(error.time, 0, splitsWeights ? 0.06 : 0.02) << what;
        EXPECT_LT(error.memory, 0.02) << what;
        EXPECT_GT(error.memory, splitsWeights ? -0.08 : -0.03) << what;
      }
}

// A step whose chunks have one layer or two is composed, too.
TEST_F(Composition, ShortChunksOfStages) {
  AxisUse stage = {AxisRole::Stage, std::nullopt, {}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  for (int64_t chunks : {1, 2}) {
    Candidate candidate;
    candidate.axes = {{"pp", 4, stage}, {"x", 2, stored}};
    candidate.settings = {4, "none", "1f1b", chunks};
    Error error = errorOf(8, candidate, "off");
    EXPECT_NEAR(error.time, 0, 0.025) << chunks;
    // The whole step keeps more between the chunks of one layer.
    EXPECT_LT(error.memory, 0.02) << chunks;
    EXPECT_GT(error.memory, -0.08) << chunks;
  }
}

// Two functions that alternate count as one layer, even if a chunk begins with
// the second, and one is left over.
TEST_F(Composition, LayersThatTakeTurns) {
  takeTurns = true;
  AxisUse stage = {AxisRole::Stage, std::nullopt, {}, false, false};
  AxisUse stored = {AxisRole::Data, 0, {}, true, false};
  AxisUse model = {AxisRole::Model, std::nullopt, {3}, false, false};
  for (const AxisUse &use : {stored, model}) {
    Candidate candidate;
    candidate.axes = {{"x", 2, use}};
    EXPECT_NEAR(errorOf(15, candidate, "off").time, 0, 0.02);
    candidate.axes = {{"pp", 2, stage}, {"x", 2, use}};
    candidate.settings = {4, "none", "1f1b"};
    Error error = errorOf(18, candidate, "off");
    EXPECT_NEAR(error.time, 0, 0.02);
    EXPECT_NEAR(error.memory, 0, 0.03);
  }
}
