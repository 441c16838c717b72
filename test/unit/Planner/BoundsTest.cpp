#include "tpsp/Planner/Bounds.h"
#include "RandomLinks.h"
#include "SmallPrograms.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;

static Hardware machine() { return llvm::cantFail(findHardware("h100-sxm")); }

/// Returns the seconds for each byte of a collective, at the best of all sizes.
static double bestRate(CollectiveKind kind, GroupPlace place,
                       const Hardware &hardware) {
  CostModel cost(hardware, Mesh({{"a", place.group, AxisRole::Data}}));
  double best = cost.collectiveSeconds(kind, 1e12, place) / 1e12;
  for (double bytes = 1024; bytes < 1e12; bytes *= 2)
    best = std::min(best, cost.collectiveSeconds(kind, bytes, place) / bytes);
  return best;
}

/// Expects that a bound never falls when axes are added, so that a node's bound
/// holds for all nodes under it. Returns the number of nodes.
static int64_t expectChildrenAreNoBetter(const Space &space,
                                         const Bounds &bounds) {
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
          << subscriptText(child.candidate, space.program());
      EXPECT_GE(below.bytes + 8, above.bytes)
          << subscriptText(child.candidate, space.program());
      open.push_back(std::move(child));
      ++seen;
    }
  }
  return seen;
}

TEST(Bounds, ChildrenAreNoBetter) {
  auto find = [](const char *name) {
    return llvm::cantFail(findHardware(name));
  };
  std::vector<std::tuple<bool, Hardware, int>> cases = {
      {false, find("h100-sxm"), 8},
      {true, find("h100-sxm"), 8},
      {true, find("h100-sxm-2node"), 16},
      {true, find("cpu"), 8}};
  for (unsigned seed = 0; seed < 24; ++seed)
    cases.push_back({seed % 2 == 0, randomLinks(seed, 8 >> seed % 3),
                     seed % 3 == 2 ? 8 : 16 << seed % 2});
  for (const auto &[overlaps, hardware, devices] : cases) {
    SCOPED_TRACE(hardware.name);
    ProgramFacts facts = mlp(8, 512, 1024, 4096);
    BoundOptions options;
    options.devices = devices;
    options.hasGradients = options.keepsGradients = true;
    options.overlaps = overlaps;
    options.stateBytes = 3 * facts.parameterBytes();
    Bounds bounds(facts, hardware, options);
    SpaceOptions inSpace;
    inSpace.devices = devices;
    inSpace.hasState = true;
    Space space(facts, inSpace);
    EXPECT_GT(expectChildrenAreNoBetter(space, bounds), 100);
  }
}

/// An MLP and a causal attention of so many positions in one call, whose keys
/// may go around a ring.
static ProgramFacts withAttention(int64_t positions) {
  ProgramFacts facts = mlp(8, positions, 64, 64);
  facts.classes[1].mayRing = facts.classes[1].ringHasHalves = true;
  ProductFacts attention;
  attention.batch = {{0, 8}, {1, positions}};
  attention.dtype = TPSP_RT_BF16;
  attention.elementBytes = 2;
  attention.isAttention = attention.mayRing = true;
  attention.adjoints = 2;
  AttentionWork work;
  work.heads = 8 * 32;
  work.queries = work.keys = positions;
  work.features = work.valueFeatures = 128;
  work.causal = true;
  attention.inOneCall = work;
  attention.flops = work.flops();
  facts.products.push_back(attention);
  return facts;
}

static Bounds ofAttention(const ProgramFacts &facts, bool balances) {
  BoundOptions options;
  options.devices = 16;
  options.hasGradients = options.callsAttention = options.mayRing = true;
  options.balancesAttention = balances;
  options.overlaps = true;
  return Bounds(facts, llvm::cantFail(findHardware("h100-sxm-2node")), options);
}

// The hops of a ring have no mask and fewer keys, so their rates are those of
// other calls. Calls of few queries do not fill their blocks.
TEST(Bounds, RingsUnderANodeAreNoBetter) {
  SpaceOptions inSpace;
  inSpace.devices = 16;
  inSpace.mayRing = true;
  for (int64_t positions : {131072, 2048})
    for (bool balances : {false, true}) {
      ProgramFacts facts = withAttention(positions);
      EXPECT_GT(expectChildrenAreNoBetter(Space(facts, inSpace),
                                          ofAttention(facts, balances)),
                100);
    }
}

// A ring of 16 ranks computes on halves of 16 queries and 16 keys, of blocks of
// 128. With gathered keys, halves have all keys that they see.
TEST(Bounds, FewQueriesOrKeysDoNotFillBlocks) {
  ProgramFacts facts = withAttention(512);
  Bounds bounds = ofAttention(facts, /*balances=*/true);
  auto computing = [&](unsigned activations, bool isRing) {
    AxisUse use = {AxisRole::Data, activations, {}, false, false};
    use.ring = isRing;
    return bounds.of(oneAxis(16, use)).computing;
  };
  double onBatch = computing(0, false), gathered = computing(1, false);
  EXPECT_GT(gathered, 2 * onBatch);
  EXPECT_GT(computing(1, true), 4 * gathered);
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

// With reducesOnce, micro-batches' gradients are summed before the ranks', so
// sums are of whole parameters. If each micro-batch's are reduced, sums are
// divided like parameters.
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

// Equal completions of several layers are counted, and each takes the same
// time.
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

// Between nodes a larger group is faster if it has more ranks of a node. But if
// the further axis divides the tensor, too, more is sent. Then the time is the
// same as without that axis.
TEST(Bounds, CollectivesAlongWhatDividesTheTensor) {
  Hardware hardware = llvm::cantFail(findHardware("h100-sxm-cluster"));
  ProgramFacts facts = mlp(64, 64, 1024, 4096);
  BoundOptions options;
  options.devices = 16;
  options.hasGradients = true;
  Bounds bounds(facts, hardware, options);
  AxisUse between = {AxisRole::Model, 1, {3}, false, false};
  auto modelWith = [&](AxisUse within) {
    SpaceNode node;
    node.candidate.axes = {{"a", 2, between}, {"b", 8, std::move(within)}};
    return bounds.of(node).model;
  };
  double onBatch = modelWith({AxisRole::Data, 0, {}, false, false});
  double onPositions = modelWith({AxisRole::Data, 1, {}, false, false});
  EXPECT_GT(onBatch, 0);
  EXPECT_DOUBLE_EQ(onPositions, onBatch);
}

// A tensor that several axes store in parts is gathered along all of them.
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

// An axis between nodes and one inside them store a tensor. It is gathered at
// once or in two steps, and the fastest way counts. No axis alone is enough.
TEST(Bounds, SeveralAxesGatherInSteps) {
  Hardware hardware = llvm::cantFail(findHardware("h100-sxm-cluster"));
  ProgramFacts facts = mlp(4096, 4096, 4096, 4096);
  facts.tensors.pop_back(); // A vector is not stored in parts.
  BoundOptions options;
  options.devices = 64 * 2;
  options.hasGradients = options.overlaps = true;
  SpaceNode node;
  node.candidate.axes = {{"a", 64, {AxisRole::Data, 0, {}, true, false}},
                         {"b", 2, {AxisRole::Data, 1, {}, true, false}}};
  auto rate = [&](GroupPlace place) {
    return bestRate(CollectiveKind::AllGather, place, hardware) +
           bestRate(CollectiveKind::ReduceScatter, place, hardware);
  };
  double bytes = double(facts.parameterBytes());
  double between = rate({64, 4, 16}) / 2, inside = rate({2, 2, 1}),
         atOnce = rate({128, 8, 16}),
         insideFirst = rate({2, 2, 1}) / 64 + rate({64, 4, 16});
  double least = std::min({between + inside, atOnce, insideFirst});
  Bound bound = Bounds(facts, hardware, options).of(node);
  EXPECT_NEAR(bound.data, bytes * least, 1e-6 * bytes * least);
  EXPECT_GT(bound.data, 1.01 * bytes * std::max(between, inside));
}

// A gradient that one axis scatters is completed along the other: two commands,
// one after the other.
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

// Collectives of one tier of links add up. Communication of two axes overlaps
// if one axis is within a node and one leads to other nodes.
TEST(Bounds, AxesShareLinks) {
  ProgramFacts facts = mlp(64, 64, 4096, 4096);
  facts.products.clear();
  BoundOptions options;
  options.devices = 64;
  options.hasGradients = options.overlaps = true;
  AxisUse data = {AxisRole::Data, 0, {}, false, false};
  AxisUse model = {AxisRole::Model, std::nullopt, {3}, false, false};
  auto boundWith = [&](int64_t outer, int64_t inner) {
    SpaceNode node;
    node.candidate.axes = {{"a", outer, data}, {"b", inner, model}};
    return Bounds(facts, llvm::cantFail(findHardware("h100-sxm-cluster")),
                  options)
        .of(node);
  };
  Bound together = boundWith(4, 16), apart = boundWith(8, 8);
  for (const Bound &bound : {together, apart})
    EXPECT_GT(std::min(bound.data, bound.model), 0);
  EXPECT_DOUBLE_EQ(together.seconds, together.data + together.model);
  EXPECT_DOUBLE_EQ(apart.seconds, std::max(apart.data, apart.model));
}

// Micro-batches cut the part of the batch that the axes leave.
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

// Gradients are reduced over a data axis, and sums are completed over a model
// axis.
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

// Rematerialisation adds the work that it redoes, and kernels add their work on
// one device. The bytes saved for backward are at least a share of the
// micro-batch's.
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
  // With two micro-batches each rank keeps sums of gradients.
  int64_t gradients = facts.parameterBytes();
  EXPECT_EQ(none.bytes - boundWith({2, "none"}, 0).bytes, 500 - gradients);
  options.yardsticks[0].work.kernelSeconds = 1;
  EXPECT_GT(boundWith({1, "none"}, 0).computing, none.computing + 0.2);
  // Settings that certainly do not fit are left out of the bound.
  options.settings = {{1, "none"}, {1, "full"}};
  options.memoryLimit = none.bytes - 1;
  EXPECT_GE(Bounds(facts, machine(), options).of(node).computing,
            redone.computing * (1 - 1e-9));
}

// However a tensor is divided into collectives, none of its bytes takes less
// than in the bound. Tables have sizes between powers of two, from which time
// grows faster than the size.
TEST(Bounds, NoCollectiveIsFaster) {
  ProgramFacts facts = mlp(64, 64, 512, 1024);
  facts.tensors.pop_back(); // A vector is not stored in parts.
  double bytes = double(facts.parameterBytes());
  for (unsigned seed = 0; seed < 20; ++seed)
    for (auto [perNode, devices] : {std::pair(2, 4), std::pair(8, 32)}) {
      SCOPED_TRACE(seed);
      Hardware hardware = randomLinks(seed, perNode);
      BoundOptions options;
      options.hasGradients = options.overlaps = true;
      options.devices = devices;
      AxisUse stored = {AxisRole::Data, 0, {}, true, false};
      double bound =
          Bounds(facts, hardware, options).of(oneAxis(devices, stored)).data;
      CostModel cost(hardware, Mesh({{"a", devices, AxisRole::Data}}));
      GroupPlace place = cost.placeOf({0});
      for (double size = 64; size < bytes * 1e3; size *= 1.01) {
        double each =
            cost.collectiveSeconds(CollectiveKind::AllGather, size, place) +
            cost.collectiveSeconds(CollectiveKind::ReduceScatter, size, place);
        EXPECT_LE(bound, bytes / size * each * (1 + 1e-9)) << size;
      }
    }
}

// The number of nodes of eight devices that an axis spans, even if it does not
// fill the last.
TEST(Bounds, NodesOfAnAxis) {
  Hardware hardware = llvm::cantFail(findHardware("h100-sxm-cluster"));
  ProgramFacts facts = mlp(48, 48, 96, 192);
  facts.tensors.pop_back(); // A vector is not stored in parts.
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
