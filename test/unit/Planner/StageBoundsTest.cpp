// Bounds of plans with stages.
#include "SmallPrograms.h"
#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

static Hardware machine() { return llvm::cantFail(findHardware("h100-sxm")); }

/// Gives the program `layers` equal layers, each with its products and
/// parameters.
static void setLayers(ProgramFacts &facts, int64_t layers) {
  facts.layers = layers;
  facts.areLayersAlike = true;
  for (ProductFacts &product : facts.products)
    product.count = layers;
  for (TensorFacts &tensor : facts.tensors)
    if (tensor.kind == TensorFacts::Kind::Parameter)
      tensor.count = layers;
}

static SpaceNode stages(int64_t size) {
  return oneAxis(size, {AxisRole::Stage, std::nullopt, {}, false, false});
}

// The busiest of equal stages is occupied for m + p - 1 of m p parts of the
// work. If layers may differ, the bound is lower, but above an equal share of
// the work.
TEST(StageBounds, StagesWaitForTheFirstMicroBatch) {
  auto facts = [](int64_t batch, bool areAlike = false) {
    ProgramFacts facts = mlp(batch, 64, 1024, 4096);
    // There are no sums of gradients.
    for (TensorFacts &tensor : facts.tensors)
      tensor.isTrained = false;
    facts.layers = 8;
    facts.areLayersAlike = areAlike;
    for (ProductFacts &product : facts.products)
      product.count = 8;
    return facts;
  };
  BoundOptions options;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  for (int64_t parts : {4, 8, 64}) {
    options.devices = 1;
    double all =
        double(parts) *
        Bounds(facts(64 / parts), machine(), options).of({{}, 1}).computing;
    options.devices = 4;
    for (const char *schedule : {"1f1b", "gpipe", "zero-bubble"}) {
      options.stageSettings = {{parts, "none", schedule}};
      double least =
          Bounds(facts(64), machine(), options).of(stages(4)).computing;
      double exact = all * double(parts + 3) / double(4 * parts);
      EXPECT_LE(least, exact);
      EXPECT_GE(least, all / 4);
      bool isSplit = schedule == std::string("zero-bubble");
      EXPECT_NEAR(
          Bounds(facts(64, true), machine(), options).of(stages(4)).computing,
          isSplit ? all / 4 : exact, 1e-9 * exact);
      if (!isSplit) {
        EXPECT_GT(least, all / 4 * (1 + 1.4 / double(parts)));
      }
    }
  }
}

// Gradients are reduced after the last micro-batch, even with overlap.
TEST(StageBounds, ReductionsHideUnderTheLastMicroBatch) {
  BoundOptions options;
  options.devices = 16;
  options.hasGradients = options.overlaps = true;
  options.microBatchIndex = 0;
  constexpr int64_t parts = 8;
  options.stageSettings = {{parts, "none", "1f1b"}};
  SpaceNode node = stages(4);
  node.candidate.axes.push_back(
      {"dp", 4, {AxisRole::Data, 0, {}, false, false}});
  auto boundOf = [&](const ProgramFacts &facts) {
    return Bounds(facts, llvm::cantFail(findHardware("h100-sxm-2node")),
                  options)
        .of(node);
  };
  for (int64_t width : {1024, 2048}) {
    ProgramFacts facts = mlp(64, 16, width, 4 * width);
    setLayers(facts, 8);
    Bound bound = boundOf(facts);
    // The last stage computes its two layers, and waits for six layers of the
    // first micro-batch. At most its own part of a micro-batch hides
    // reductions.
    constexpr double part = 1.0 / parts;
    double hidden = bound.computing * 2 * part / (2 + 6 * part);
    ASSERT_GT(bound.data, 0.01 * bound.computing);
    EXPECT_EQ(bound.data > hidden, width == 2048);
    EXPECT_NEAR(bound.seconds,
                bound.computing + std::max(bound.data - hidden, 0.0),
                1e-6 * bound.seconds);
    for (TensorFacts &tensor : facts.tensors)
      tensor.summed.clear();
    EXPECT_NEAR(boundOf(facts).seconds, bound.computing, 1e-6 * bound.seconds);
  }
}

// Each micro-batch's gradients are added to a stage's sums in f32. A kernel
// reads two numbers and writes one; a product may add in no time.
TEST(StageBounds, StagesSumGradients) {
  ProgramFacts facts = mlp(64, 64, 1024, 4096);
  setLayers(facts, 8);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  auto computing = [&](int64_t parts, bool isTrained) {
    options.stageSettings = {{parts, "none", "zero-bubble"}};
    for (TensorFacts &tensor : facts.tensors)
      tensor.isTrained = isTrained;
    return Bounds(facts, machine(), options).of(stages(4)).computing;
  };
  double rate = 0;
  for (const SizePoint &point : machine().memory)
    rate = std::max(rate, point.value);
  for (int64_t parts : {4, 8}) {
    double sums = double(parts) * 3 * double(facts.parameterBytes()) / 4 / rate;
    options.sums.inProducts = false;
    EXPECT_NEAR(computing(parts, true) - computing(parts, false), sums,
                1e-6 * sums);
    options.sums.inProducts = true;
    EXPECT_NEAR(computing(parts, true), computing(parts, false), 1e-3 * sums);
    // A tensor that no product reads is added by a kernel.
    std::vector<ClassId> &read = facts.tensors.back().contracted;
    std::vector<ClassId> contracted = std::exchange(read, {});
    double own = double(parts) * 3 * double(facts.tensors.back().bytes()) / 4;
    EXPECT_NEAR(computing(parts, true) - computing(parts, false), own / rate,
                1e-3 * sums);
    read = contracted;
  }
}

// With v chunks a stage waits for one chunk of the first micro-batch, which is
// v times shorter, on each stage before.
TEST(StageBounds, ChunksShortenTheWait) {
  ProgramFacts facts = mlp(64, 64, 1024, 4096);
  setLayers(facts, 16);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  auto computing = [&](int64_t chunks) {
    options.stageSettings = {{8, "none", "1f1b", chunks}};
    return Bounds(facts, machine(), options).of(stages(4)).computing;
  };
  double whole = computing(1) * 8 / 11;
  for (int64_t chunks : {2, 4})
    EXPECT_NEAR(computing(chunks), whole * (1 + 3.0 / double(8 * chunks)),
                1e-9 * whole);
  // With 12 layers in 8 chunks, the first four chunks have two layers.
  setLayers(facts, 12);
  double layer = whole / 4;
  EXPECT_NEAR(computing(2), layer * (3 + 3.0 * 2 / 8), 1e-9 * whole);
}

// Each chunk has at least one layer. Unless a number of chunks is given, only
// even divisions are tried where there are some.
TEST(StageBounds, ChunksHaveLayers) {
  ProgramFacts facts = mlp(64, 8, 16, 32);
  BoundOptions options;
  options.devices = 4;
  options.microBatchIndex = 0;
  for (int64_t chunks : {1, 2, 3, 4, 5})
    options.stageSettings.push_back({8, "none", "1f1b", chunks});
  auto chunks = [&](int64_t layers) {
    facts.layers = layers;
    std::vector<int64_t> result;
    for (const SizedSettings &each :
         Bounds(facts, machine(), options)
             .sized(stages(4), options.stageSettings, /*limit=*/0))
      result.push_back(each.settings.chunks);
    return result;
  };
  using testing::ElementsAre;
  EXPECT_THAT(chunks(16), ElementsAre(1, 2, 4));
  EXPECT_THAT(chunks(12), ElementsAre(1, 3));
  EXPECT_THAT(chunks(15), ElementsAre(1, 2));
  EXPECT_THAT(chunks(23), ElementsAre(1, 2, 4));
  options.stageSettings = {{8, "none", "1f1b", 3}};
  EXPECT_THAT(chunks(16), ElementsAre(3));
  EXPECT_THAT(chunks(11), ElementsAre());
}

// For each rematerialisation, settings that are expected to fit come first, and
// among them those that promise most.
TEST(StageBounds, SettingsThatPromiseMost) {
  ProgramFacts facts = mlp(64, 64, 1024, 4096);
  facts.layers = 8;
  facts.areLayersAlike = true;
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  options.yardsticks.resize(2);
  for (const char *how : {"none", "full"}) {
    for (int64_t chunks : {1, 2})
      for (int64_t parts : {16, 8, 4})
        options.stageSettings.push_back({parts, how, "1f1b", chunks});
    Yardstick &known = options.yardsticks[how[0] == 'f'];
    known.rematerialize = how;
    known.savedBytes = known.savedByLayers = how[0] == 'f' ? 0 : 1 << 30;
  }
  Bounds bounds(facts, machine(), options);
  auto first = [&](int64_t limit, const char *how) {
    for (const Settings &each :
         bounds.settingsToTry(stages(4).candidate, options.stageSettings, limit)
             .settings)
      if (each.rematerialize == how)
        return each;
    return Settings();
  };
  std::vector<SizedSettings> all =
      bounds.sized(stages(4), options.stageSettings, /*limit=*/0);
  auto promise = [&](const Settings &settings) {
    return llvm::find_if(all,
                         [&](const SizedSettings &each) {
                           return each.settings == settings;
                         })
        ->bound.promise();
  };
  for (const char *how : {"none", "full"})
    for (const SizedSettings &each : all)
      if (each.settings.rematerialize == how) {
        EXPECT_LE(promise(first(0, how)), each.bound.promise());
      }
  // Fewer micro-batches add fewer sums, and save more.
  EXPECT_EQ(first(380 << 20, "none"), (Settings{4, "none", "1f1b", 2}));
  EXPECT_EQ(first(200 << 20, "none"), (Settings{8, "none", "1f1b", 2}));
  EXPECT_EQ(first(115 << 20, "none"), (Settings{16, "none", "1f1b", 2}));
  EXPECT_EQ(first(1 << 20, "none"), Settings());
}

// Operations after the layers are on the last stage.
TEST(StageBounds, TheLastStageHasTheHead) {
  ProgramFacts facts = mlp(64, 64, 1024, 4096);
  facts.layers = 8;
  facts.areLayersAlike = true;
  ProductFacts head = facts.products.front();
  head.m.front().extent = 65536;
  for (ProductFacts &product : facts.products)
    product.count = 8;
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  options.stageSettings = {{8, "none", "1f1b"}};
  auto computing = [&] {
    return Bounds(facts, machine(), options).of(stages(4)).computing;
  };
  double without = computing();
  facts.products.push_back(head);
  double shared = computing();
  facts.products.back().isBehindLayers = true;
  double behind = computing();
  EXPECT_GT(shared, without);
  EXPECT_GT(behind - without, 2 * (shared - without));
}

// A stage has a share of parameters and state. The first stage saves as many
// units as there are stages, for each chunk. The result of its last layer is
// sent on.
TEST(StageBounds, MemoryOfStages) {
  ProgramFacts facts = mlp(64, 8, 16, 32);
  setLayers(facts, 8);
  TensorFacts between;
  between.kind = TensorFacts::Kind::Boundary;
  between.dims = {0};
  between.shape = {64};
  between.elementBytes = 16;
  facts.tensors.push_back(between);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.stateBytes = 2 * facts.parameterBytes();
  options.microBatchIndex = 0;
  options.stageSettings = {{16, "none", "1f1b"}, {16, "none", "1f1b", 2}};
  // These last: parameters, state, and sums of gradients.
  int64_t lasting = 4 * facts.parameterBytes() / 4;
  EXPECT_EQ(Bounds(facts, machine(), options).of(stages(4)).bytes, lasting);
  int64_t saved = 1 << 20, handedOn = 64 * 16;
  options.yardsticks = {{"none", saved, saved, {}}};
  Bounds bounds(facts, machine(), options);
  // A stage saves a sixteenth of the batch for two of eight layers, or twice
  // for one.
  auto bytes = [&](Settings settings) {
    return bounds.bytesWith(stages(4), settings) - lasting;
  };
  EXPECT_EQ(bytes({16, "none", "1f1b"}), 4 * (saved / 4 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "1f1b", 2}), 8 * (saved / 8 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "gpipe"}), 16 * (saved / 4 - handedOn) / 16);
  // If weights' gradients wait, several chunks may save less.
  EXPECT_EQ(bytes({16, "none", "zero-bubble"}),
            4 * (saved / 4 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "zero-bubble", 2}), saved / 4 / 16);
}

// Stages need at least as many micro-batches.
TEST(StageBounds, StagesNeedMicroBatches) {
  ProgramFacts facts = mlp(8, 8, 16, 32);
  facts.layers = 8;
  BoundOptions options;
  options.devices = 4;
  options.microBatchIndex = 0;
  options.stageSettings = {{2, "none", "1f1b"}};
  EXPECT_FALSE(Bounds(facts, machine(), options).of(stages(4)).isPossible);
  EXPECT_TRUE(Bounds(facts, machine(), options).of(stages(2)).isPossible);
  options.stageSettings = {{8, "none", "1f1b"}};
  EXPECT_TRUE(Bounds(facts, machine(), options).of(stages(4)).isPossible);
}
