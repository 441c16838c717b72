#include "tpsp/Planner/Bounds.h"
#include "SmallPrograms.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

static Hardware machine() { return llvm::cantFail(findHardware("h100-sxm")); }

// Whatever axes are added, a bound does not fall: what is said of a node holds
// of all that is under it.
TEST(Bounds, ChildrenAreNoBetter) {
  for (bool overlaps : {false, true}) {
    ProgramFacts facts = mlp(8, 512, 1024, 4096);
    BoundOptions options;
    options.devices = 8;
    options.hasGradients = options.keepsGradients = true;
    options.overlaps = overlaps;
    options.stateBytes = 3 * facts.parameterBytes();
    Bounds bounds(facts, machine(), options);
    SpaceOptions inSpace;
    inSpace.devices = 8;
    inSpace.hasState = true;
    Space space(facts, inSpace);
    std::vector<SpaceNode> open = {space.root()};
    int64_t symmetric = 0, seen = 0;
    while (!open.empty()) {
      SpaceNode node = std::move(open.back());
      open.pop_back();
      if (node.isLeaf())
        continue;
      Bound above = bounds.of(node);
      for (SpaceNode &child : space.children(node, symmetric)) {
        Bound below = bounds.of(child);
        EXPECT_GE(below.seconds, above.seconds * (1 - 1e-9))
            << subscriptText(child.candidate, facts);
        EXPECT_GE(below.bytes + 8, above.bytes)
            << subscriptText(child.candidate, facts);
        open.push_back(std::move(child));
        ++seen;
      }
    }
    EXPECT_GT(seen, 100);
  }
}

static SpaceNode oneAxis(int64_t size, AxisUse use) {
  SpaceNode node;
  node.candidate.axes = {{"a", size, std::move(use)}};
  return node;
}

TEST(Bounds, MemoryOfStorageAndState) {
  ProgramFacts facts = mlp(8, 8, 16, 32);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.stateBytes = 2 * facts.parameterBytes();
  Bounds bounds(facts, machine(), options);
  int64_t matrices = 2 * 16 * 32 * 4, gain = 16 * 4;
  auto bytes = [&](bool stores, bool state) {
    return bounds.of(oneAxis(4, {AxisRole::Data, 0, {}, stores, state})).bytes;
  };
  EXPECT_EQ(bytes(false, false), 3 * (matrices + gain));
  EXPECT_EQ(bytes(true, false), 3 * (matrices / 4 + gain));
  EXPECT_EQ(bytes(false, true), (matrices + gain) + 2 * (matrices + gain) / 4);
}

// Micro-batches' gradients are summed before ranks' are: of whole parameters.
// Where each is reduced, sums are divided as parameters are.
TEST(Bounds, MemoryOfSums) {
  ProgramFacts facts = mlp(16, 8, 16, 32);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  options.microBatchIndex = 0;
  SpaceNode stores = oneAxis(4, {AxisRole::Data, 0, {}, true, false});
  int64_t matrices = 2 * 16 * 32 * 4, gain = 16 * 4;
  auto sums = [&](int64_t microBatches) {
    Bounds bounds(facts, machine(), options);
    return bounds.bytesWith(stores, {microBatches, "none"}) -
           bounds.bytesWith(stores, {1, "none"});
  };
  EXPECT_EQ(sums(2), matrices / 4 + gain);
  options.reducesOnce = true;
  EXPECT_EQ(sums(2), matrices + gain);
  EXPECT_EQ(sums(4), matrices + gain);
  // More than two are summed in f32.
  for (TensorFacts &tensor : facts.tensors)
    tensor.elementBytes = 2;
  EXPECT_EQ(sums(2), (matrices + gain) / 2);
  EXPECT_EQ(sums(4), matrices + gain);
}

// Layers' completions are counted, and each takes as long.
TEST(Bounds, AlikeCompletions) {
  ProgramFacts facts = mlp(8, 8, 1024, 1024);
  BoundOptions options;
  options.devices = 4;
  SpaceNode node =
      oneAxis(4, {AxisRole::Model, std::nullopt, {3}, false, false});
  double once = Bounds(facts, machine(), options).of(node).model;
  facts.add(Completion(facts.completions.front()));
  facts.add(Completion(facts.completions.front()));
  ASSERT_EQ(facts.completions.size(), 1u);
  EXPECT_GT(once, 0);
  EXPECT_DOUBLE_EQ(Bounds(facts, machine(), options).of(node).model,
                   facts.completions.front().count * once);
}

// What several axes store, is gathered along all of them.
TEST(Bounds, SeveralAxesStore) {
  ProgramFacts facts = mlp(64, 64, 4096, 4096);
  BoundOptions options;
  options.devices = 64;
  options.hasGradients = true;
  options.regathers = true;
  Bounds bounds(facts, machine(), options);
  AxisUse onBatch = {AxisRole::Data, 0, {}, true, false};
  AxisUse onPositions = {AxisRole::Data, 1, {}, true, false};
  double one = bounds.of(oneAxis(64, onBatch)).data;
  SpaceNode two;
  two.candidate.axes = {{"a", 8, onBatch}, {"b", 8, onPositions}};
  EXPECT_GT(bounds.of(two).data, 0.8 * one);
}

// A gradient that one axis scatters is completed along the other: two commands
// that are one after the other. With overlap they may have two links.
TEST(Bounds, CommandsOfSeveralAxesAddUp) {
  ProgramFacts facts = mlp(64, 64, 4096, 4096), once = facts;
  for (TensorFacts &tensor : once.tensors)
    tensor.summed = {0};
  SpaceNode node;
  node.candidate.axes = {{"a", 8, {AxisRole::Data, 1, {}, false, false}},
                         {"b", 8, {AxisRole::Data, 0, {}, true, false}}};
  BoundOptions options;
  options.devices = 64;
  options.hasGradients = true;
  auto boundOf = [&](const ProgramFacts &facts) {
    return Bounds(facts, machine(), options).of(node);
  };
  EXPECT_GT(boundOf(facts).data, 1.05 * boundOf(once).data);
  double serial = boundOf(facts).seconds;
  EXPECT_GT(serial, 1.001 * boundOf(once).seconds);
  options.overlaps = true;
  EXPECT_LT(boundOf(facts).seconds, serial);
}

// What the axes leave of a batch is cut, and no more.
TEST(Bounds, MicroBatchesOfWhatAxesLeave) {
  ProgramFacts facts = mlp(8, 8, 16, 32);
  BoundOptions options;
  options.devices = 4;
  options.microBatchIndex = 0;
  options.settings = {{1, "none"}, {4, "none"}};
  options.yardsticks = {{"none", 1 << 20, 0, {}}};
  Bounds bounds(facts, machine(), options);
  SpaceNode onBatch = oneAxis(4, {AxisRole::Data, 0, {}, false, false});
  SpaceNode onOther = oneAxis(4, {AxisRole::Data, 1, {}, false, false});
  EXPECT_TRUE(bounds.canCut(onBatch, {2, "none"}));
  EXPECT_FALSE(bounds.canCut(onBatch, {4, "none"}));
  EXPECT_TRUE(bounds.canCut(onOther, {4, "none"}));
  EXPECT_GT(bounds.of(onBatch).bytes, bounds.of(onOther).bytes);
}

// Gradients are reduced over a data axis, sums completed over a model axis.
TEST(Bounds, Links) {
  ProgramFacts facts = mlp(8, 8, 1024, 1024);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  Bounds with(facts, machine(), options);
  AxisUse data = {AxisRole::Data, 0, {}, false, false};
  AxisUse model = {AxisRole::Model, std::nullopt, {3}, false, false};
  ProgramFacts free = facts;
  for (TensorFacts &tensor : free.tensors)
    tensor.summed.clear();
  free.completions.clear();
  Bounds without(free, machine(), options);
  for (const AxisUse &use : {data, model})
    EXPECT_GT(with.of(oneAxis(4, use)).seconds,
              without.of(oneAxis(4, use)).seconds);
}

// Rematerialisation adds what it redoes, kernels what they do on one device,
// and what is kept for backward is at least a share of the micro-batch's.
TEST(Bounds, Yardsticks) {
  ProgramFacts facts = mlp(8, 64, 1024, 4096);
  BoundOptions options;
  options.devices = 4;
  options.hasGradients = true;
  Yardstick plain, full;
  full.rematerialize = "full";
  plain.savedBytes = 4000;
  full.savedBytes = 400;
  for (const ProductFacts &product : facts.products)
    full.work.products[shapeOf(product)] += product.count;
  options.yardsticks = {plain, full};
  SpaceNode node = oneAxis(4, {AxisRole::Data, 0, {}, false, false});
  auto boundWith = [&](Settings settings, int64_t limit) {
    options.settings = {std::move(settings)};
    options.memoryLimit = limit;
    return Bounds(facts, machine(), options).of(node);
  };
  Bound none = boundWith({1, "none"}, 0), redone = boundWith({1, "full"}, 0);
  EXPECT_GT(redone.computing, none.computing * 1.2);
  EXPECT_EQ(none.bytes - redone.bytes, 900);
  // Of two micro-batches the gradients are kept that are summed, on each rank.
  int64_t gradients = facts.parameterBytes();
  EXPECT_EQ(none.bytes - boundWith({2, "none"}, 0).bytes, 500 - gradients);
  options.yardsticks[0].work.kernelSeconds = 1;
  EXPECT_GT(boundWith({1, "none"}, 0).computing, none.computing + 0.2);
  // What certainly does not fit is not hoped for.
  options.settings = {{1, "none"}, {1, "full"}};
  options.memoryLimit = none.bytes - 1;
  EXPECT_GE(Bounds(facts, machine(), options).of(node).computing,
            redone.computing * (1 - 1e-9));
}

/// So many layers that are alike, each with the program's products and
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

// The busiest of equal stages computes m + p - 1 of m p parts of the work.
// Where layers may differ, the bound is below that, and above all work's share.
TEST(Bounds, StagesWaitForTheFirstMicroBatch) {
  auto facts = [](int64_t batch, bool areAlike = false) {
    ProgramFacts facts = mlp(batch, 64, 1024, 4096);
    // No sums of gradients.
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

// Each micro-batch's gradients are added to a stage's sums, in f32: two are
// read, one is written.
TEST(Bounds, StagesSumGradients) {
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
    EXPECT_NEAR(computing(parts, true) - computing(parts, false), sums,
                1e-6 * sums);
  }
}

// With v chunks a stage waits for one of the first micro-batch's v times
// shorter ones on each stage before.
TEST(Bounds, ChunksShortenTheWait) {
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
  // Of 12 layers in 8 chunks the first four chunks have two.
  setLayers(facts, 12);
  double layer = whole / 4;
  EXPECT_NEAR(computing(2), layer * (3 + 3.0 * 2 / 8), 1e-9 * whole);
}

// Of each chunk there is a layer. Where they may be alike, they are, unless a
// number is asked for.
TEST(Bounds, ChunksHaveLayers) {
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

// Of each rematerialisation what is expected to fit comes first, and of that
// what promises most.
TEST(Bounds, SettingsThatPromiseMost) {
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
      if (each.settings.rematerialize == how)
        EXPECT_LE(promise(first(0, how)), each.bound.promise());
  // Fewer micro-batches add fewer sums, and save more.
  EXPECT_EQ(first(380 << 20, "none"), (Settings{4, "none", "1f1b", 2}));
  EXPECT_EQ(first(200 << 20, "none"), (Settings{8, "none", "1f1b", 2}));
  EXPECT_EQ(first(115 << 20, "none"), (Settings{16, "none", "1f1b", 2}));
  EXPECT_EQ(first(1 << 20, "none"), Settings());
}

// What is behind the layers is on the last stage.
TEST(Bounds, TheLastStageHasTheHead) {
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

// A stage has a share of what lasts. The first one saves as many units as there
// are stages, of each chunk. What its last layer makes is sent on.
TEST(Bounds, MemoryOfStages) {
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
  // Parameters, state, and sums of gradients.
  int64_t lasting = 4 * facts.parameterBytes() / 4;
  EXPECT_EQ(Bounds(facts, machine(), options).of(stages(4)).bytes, lasting);
  int64_t saved = 1 << 20, handedOn = 64 * 16;
  options.yardsticks = {{"none", saved, saved, {}}};
  Bounds bounds(facts, machine(), options);
  // Of a sixteenth of the batch two of eight layers, or twice one.
  auto bytes = [&](Settings settings) {
    return bounds.bytesWith(stages(4), settings) - lasting;
  };
  EXPECT_EQ(bytes({16, "none", "1f1b"}), 4 * (saved / 4 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "1f1b", 2}), 8 * (saved / 8 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "gpipe"}), 16 * (saved / 4 - handedOn) / 16);
  // Where weights' gradients wait, several chunks may save less.
  EXPECT_EQ(bytes({16, "none", "zero-bubble"}),
            4 * (saved / 4 - handedOn) / 16);
  EXPECT_EQ(bytes({16, "none", "zero-bubble", 2}), saved / 4 / 16);
}

// Stages take as many micro-batches.
TEST(Bounds, StagesNeedMicroBatches) {
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

/// Seconds for each byte of a collective, at the best of all sizes.
static double bestRate(CollectiveKind kind, GroupPlace place,
                       const Hardware &hardware) {
  CostModel cost(hardware, Mesh({{"a", place.group, AxisRole::Data}}));
  double best = cost.collectiveSeconds(kind, 1e12, place) / 1e12;
  for (double bytes = 1024; bytes < 1e12; bytes *= 2)
    best = std::min(best, cost.collectiveSeconds(kind, bytes, place) / bytes);
  return best;
}

// An axis lies in so many nodes of eight devices, also where it does not fill
// the last.
TEST(Bounds, NodesOfAnAxis) {
  Hardware hardware = llvm::cantFail(findHardware("h100-sxm-cluster"));
  ProgramFacts facts = mlp(48, 48, 96, 192);
  facts.tensors.pop_back(); // A vector is not stored divided.
  BoundOptions options;
  options.hasGradients = options.overlaps = true;
  for (GroupPlace place : {GroupPlace{4, 4, 1}, GroupPlace{12, 6, 2},
                           GroupPlace{16, 8, 2}, GroupPlace{24, 8, 3}}) {
    options.devices = place.group;
    Bounds bounds(facts, hardware, options);
    AxisUse stored = {AxisRole::Data, 0, {}, true, false};
    double rate = bestRate(CollectiveKind::AllGather, place, hardware) +
                  bestRate(CollectiveKind::ReduceScatter, place, hardware);
    double expected = double(facts.parameterBytes()) * rate;
    EXPECT_NEAR(bounds.of(oneAxis(place.group, stored)).data, expected,
                1e-6 * expected)
        << place.group;
  }
}
