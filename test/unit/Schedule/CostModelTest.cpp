#include "tpsp/Schedule/CostModel.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;

namespace {

constexpr double mib = 1 << 20;

Mesh meshOf(std::vector<int64_t> sizes) {
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes)
    axes.push_back({"a" + std::to_string(axes.size()), size, AxisRole::None});
  return Mesh(axes);
}

CostModel modelOf(const char *name, std::vector<int64_t> sizes) {
  return {llvm::cantFail(findHardware(name)), meshOf(sizes)};
}

double tflops(const CostModel &cost, const MatmulWork &work) {
  double seconds =
      cost.matmulSeconds(work, TPSP_RT_BF16) - cost.machine().launchSeconds;
  return work.flops() / seconds * 1e-12;
}

} // namespace

/// A type without rates gets those of a type of its width. Without one it gets
/// those of the next wider type, scaled by the ratio of the widths, or of the
/// widest.
TEST(CostModel, RatesOfOtherTypes) {
  Hardware machine = *findHardware("h100-sxm");
  machine.launchSeconds = 0;
  MatmulWork large;
  large.m = large.n = large.k = 8192;
  auto rate = [&](int64_t dtype) {
    return large.flops() /
           CostModel(machine, Mesh()).matmulSeconds(large, dtype);
  };
  double bf16 = rate(TPSP_RT_BF16), f32 = rate(TPSP_RT_F32);
  EXPECT_NEAR(rate(TPSP_RT_F16) / bf16, 1, 1e-12);
  machine.matmul.erase(TPSP_RT_BF16);
  EXPECT_NEAR(rate(TPSP_RT_F16) / f32, 2, 1e-12);
  machine.matmul.erase(TPSP_RT_F64);
  EXPECT_NEAR(rate(TPSP_RT_F64) / f32, 0.5, 1e-12);
}

// Points of XLA's table at which power does not limit, and one between.
TEST(MatmulCost, PublishedPoints) {
  CostModel cost = modelOf("h100-sxm", {8});
  EXPECT_NEAR(tflops(cost, {256, 1024, 4096}), 177.1, 1);
  EXPECT_NEAR(tflops(cost, {512, 2048, 2048}), 342.8, 1);
  EXPECT_NEAR(tflops(cost, {4096, 256, 1024}), 229.0, 1);
  EXPECT_NEAR(tflops(cost, {2048, 2048, 1024}), 498.0, 1);
  double between = tflops(cost, {1448, 1448, 1024});
  EXPECT_GT(between, 252.8);
  EXPECT_LT(between, 498.0);
}

TEST(MatmulCost, LargeOnesReachWhatIsSustained) {
  CostModel cost = modelOf("h100-sxm", {8});
  EXPECT_NEAR(tflops(cost, {8192, 28672, 8192}), 700, 1);
  EXPECT_NEAR(tflops(cost, {32768, 4096, 4096}), 700, 1);
}

// The tiles of a batch, or of an m beyond the measured grid, cost the same as
// others.
TEST(MatmulCost, TilesCountWhereverTheyAre) {
  CostModel cost = modelOf("h100-sxm", {8});
  double square = tflops(cost, {2048, 2048, 128});
  EXPECT_NEAR(tflops(cost, {2048, 512, 128, 4}), square, 0.02 * square);
  EXPECT_NEAR(tflops(cost, {1 << 13, 512, 1024}),
              tflops(cost, {4096, 1024, 1024}), 1);
}

// With a single row every weight is read once.
TEST(MatmulCost, SkinnyOnesAreBoundByMemory) {
  CostModel cost = modelOf("h100-sxm", {8});
  MatmulWork work{1, 8192, 8192};
  double bytes = 8192.0 * 8192 * 2;
  double floor = bytes / 3.35e12;
  double seconds = cost.matmulSeconds(work, TPSP_RT_BF16);
  EXPECT_GT(seconds, floor);
  EXPECT_LT(seconds, 1.4 * floor);
}

// Doubling a side never makes a product much cheaper. (The published grid has
// larger products that take 8 % less, and a measured grid of microseconds even
// more.) It never costs much more than twice as much. (On a CPU the operands
// may no longer fit into a cache.)
TEST(MatmulCost, SaneEverywhere) {
  for (const char *name : {"h100-sxm", "a100-sxm", "cpu"}) {
    CostModel cost = modelOf(name, {4});
    for (int64_t m = 1; m <= 1 << 17; m *= 4)
      for (int64_t n = 1; n <= 1 << 17; n *= 4)
        for (int64_t k = 1; k <= 1 << 17; k *= 4) {
          MatmulWork work{m, n, k};
          double once = cost.matmulSeconds(work, TPSP_RT_BF16);
          double peak = matmulRatesOf(cost.machine(), TPSP_RT_BF16)->peak;
          double cores = cost.machine().isCpu() ? cost.coresPerRank() : 1;
          EXPECT_GE(once, work.flops() / (peak * cores));
          for (MatmulWork twice :
               {MatmulWork{2 * m, n, k}, {m, 2 * n, k}, {m, n, 2 * k}}) {
            double ratio = cost.matmulSeconds(twice, TPSP_RT_BF16) / once;
            EXPECT_GE(ratio, cost.machine().isCpu() ? 0.5 : 0.7)
                << name << " " << m << " " << n << " " << k;
            EXPECT_LE(ratio, cost.machine().isCpu() ? 5 : 2.5)
                << name << " " << m << " " << n << " " << k;
          }
        }
  }
}

/// A layout that was measured separately has its own rate; the others have the
/// mean's.
TEST(MatmulCost, LayoutsHaveTheirRates) {
  Hardware machine = *findHardware("cpu");
  machine.launchSeconds = 0;
  MatmulRates &rates = machine.matmul[TPSP_RT_F32];
  size_t forward = MatmulRates::layoutOf(false, true);
  for (std::vector<double> &factors : rates.relative)
    factors.clear();
  rates.relative[forward].assign(rates.rates.size(), 0.5);
  CostModel cost(machine, meshOf({1}));
  auto seconds = [&](bool transposeA, bool transposeB) {
    MatmulWork work;
    work.m = work.n = work.k = 200;
    work.transposeA = transposeA, work.transposeB = transposeB;
    return cost.matmulSeconds(work, TPSP_RT_F32);
  };
  EXPECT_NEAR(seconds(false, true) / seconds(false, false), 2, 1e-9);
  EXPECT_EQ(seconds(true, false), seconds(false, false));
  EXPECT_EQ(seconds(true, true), seconds(false, false));
}

/// An operand whose rows begin at no multiple of 16 bytes has the rate of the
/// next measured size.
TEST(MatmulCost, RowsThatAreNotAlignedHaveTheirRates) {
  Hardware machine = *findHardware("cpu");
  machine.launchSeconds = 0;
  machine.matmul[TPSP_RT_F32].aligned = {{2, 0.125}, {8, 0.5}};
  CostModel cost(machine, meshOf({1}));
  auto seconds = [&](int64_t alignment) {
    MatmulWork work;
    work.m = work.n = work.k = 200;
    work.alignment = alignment;
    return cost.matmulSeconds(work, TPSP_RT_F32);
  };
  EXPECT_NEAR(seconds(2) / seconds(16), 8, 1e-9);
  EXPECT_NEAR(seconds(4) / seconds(16), 2, 1e-9);
  EXPECT_NEAR(seconds(8) / seconds(16), 2, 1e-9);
}

static PlanCommand attentionCall(const AttentionWork &work) {
  PlanCommand command;
  command.kind = CommandKind::Attention;
  command.dtype = TPSP_RT_BF16;
  command.attention = work;
  return command;
}

static double attentionTflops(const CostModel &cost,
                              const AttentionWork &work) {
  return work.flops() / cost.cost(attentionCall(work)).seconds * 1e-12;
}

/// The published figures of the description: 2 x 64 heads of 128 features,
/// cuDNN on an H200 (hardware/published.py).
TEST(AttentionCost, OfThePublishedShapes) {
  CostModel cost = modelOf("h100-sxm", {1});
  auto rate = [&](int64_t keys, bool isCausal, bool isGradient) {
    return attentionTflops(
        cost, {{{isCausal}}, 128, keys, keys, 128, 128, isGradient});
  };
  EXPECT_NEAR(rate(4096, false, false), 687, 5);
  EXPECT_NEAR(rate(4096, true, false), 616, 5);
  EXPECT_NEAR(rate(4096, false, true), 576, 5);
  EXPECT_NEAR(rate(16384, true, true), 539, 5);
}

TEST(AttentionCost, BetweenAndBesideTheGrid) {
  CostModel cost = modelOf("h100-sxm", {1});
  auto rate = [&](int64_t keys, int64_t features) {
    return attentionTflops(cost, {{}, 256, keys, keys, features, features});
  };
  EXPECT_GT(rate(3072, 128), rate(2048, 128));
  EXPECT_LT(rate(3072, 128), rate(4096, 128));
  EXPECT_GT(rate(4096, 96), rate(4096, 64));
  EXPECT_LT(rate(4096, 96), rate(4096, 128));
  // Rows longer and heads narrower than measured have the rate of the nearest.
  EXPECT_NEAR(rate(65536, 128), rate(16384, 128), 1);
  EXPECT_NEAR(rate(4096, 32), rate(4096, 64), 5);
  // Shorter rows are slower.
  EXPECT_LT(rate(256, 128), rate(512, 128));
}

/// A window of w costs s w, not s s / 2.
TEST(AttentionCost, OfAWindow) {
  CostModel cost = modelOf("h100-sxm", {1});
  auto seconds = [&](int64_t keys, int64_t window) {
    AttentionWork work{{{true, window}}, 256, keys, keys, 128, 128};
    return cost.cost(attentionCall(work)).seconds;
  };
  EXPECT_NEAR(seconds(16384, 1024) / seconds(8192, 1024), 2, 0.1);
  EXPECT_NEAR(seconds(16384, 2048) / seconds(16384, 1024), 2, 0.4);
  EXPECT_LT(seconds(16384, 1024), seconds(16384, 0) / 4);
  EXPECT_EQ(seconds(4096, 4096), seconds(4096, 0));
}

/// Eight blocks of queries cannot keep 132 multiprocessors busy.
TEST(AttentionCost, OfFewHeads) {
  CostModel cost = modelOf("h100-sxm", {1});
  auto seconds = [&](int64_t heads) {
    return cost
        .cost(attentionCall({{{true}}, heads, 1024, 1024, 128, 128, true}))
        .seconds;
  };
  EXPECT_NEAR(seconds(16) / seconds(1), 1, 0.1);
  EXPECT_NEAR(seconds(128) / seconds(64), 2, 0.1);
}

/// Without measured rates, the cost is that of the products, then of the
/// exponentials.
TEST(AttentionCost, Unmeasured) {
  Hardware machine = llvm::cantFail(findHardware("h100-sxm"));
  machine.attention.clear();
  CostModel cost(machine, Mesh());
  for (bool isCausal : {false, true})
    for (bool isGradient : {false, true}) {
      double rate = attentionTflops(
          cost, {{{isCausal}}, 32, 4096, 4096, 128, 128, isGradient});
      EXPECT_GT(rate, 300);
      EXPECT_LT(rate, 700);
    }
}

/// With few queries and many keys, reading keys and values decides.
TEST(AttentionCost, AFewQueriesAreBoundByMemory) {
  CostModel cost = modelOf("h100-sxm", {1});
  PlanCommand command = attentionCall({{}, 8, 1, 65536, 128, 128});
  double bytes = 8.0 * 65536 * 128 * 2 * 2;
  command.accesses = {{0, {0, int64_t(bytes), 1, 0}, false}};
  EXPECT_GE(cost.cost(command).seconds, cost.memorySeconds(bytes));
}

TEST(CostModel, LargeCopiesRunAtMemorySpeed) {
  CostModel cost = modelOf("h100-sxm", {8});
  double rate = 1024 * mib / cost.copySeconds(1024 * mib);
  EXPECT_GT(rate, 0.85 * 3.35e12);
  EXPECT_LT(rate, 3.35e12);
  // A kernel takes some microseconds, however little it does.
  EXPECT_GT(cost.copySeconds(1024), 2e-6);
}

// Ranks are numbered with the last axis fastest. A node has 8 devices.
TEST(CostModel, AxesLieOnTiers) {
  CostModel cost = modelOf("h100-sxm-2node", {2, 8});
  GroupPlace outer = cost.placeOf({0}), inner = cost.placeOf({1}),
             both = cost.placeOf({0, 1});
  EXPECT_EQ(outer.nodes, 2);
  EXPECT_EQ(outer.perNode, 1);
  EXPECT_EQ(inner.nodes, 1);
  EXPECT_EQ(both.nodes, 2);
  EXPECT_EQ(both.perNode, 8);
  CostModel other = modelOf("h100-sxm-2node", {4, 4});
  EXPECT_EQ(other.placeOf({0}).nodes, 2);
  EXPECT_EQ(other.placeOf({0}).perNode, 2);
  EXPECT_EQ(other.placeOf({1}).nodes, 1);
}

// Each rank has one adapter between nodes. A pair of ranks across nodes uses
// one adapter; eight pairs use eight, up to the rate of the links inside.
TEST(CostModel, AdaptersCarryWhatCrosses) {
  CostModel cost = modelOf("h100-sxm-2node", {2, 8});
  double size = 512 * mib;
  auto bus = [&](llvm::ArrayRef<AxisId> axes) {
    auto kind = CollectiveKind::AllGather;
    return size * busFactor(kind, cost.placeOf(axes).group) /
           cost.collectiveSeconds(kind, size, axes) * 1e-9;
  };
  EXPECT_NEAR(bus({0}), 46, 2);
  EXPECT_NEAR(bus({1}), 337, 10);
  EXPECT_GT(bus({0, 1}), 300);
  EXPECT_LT(bus({0, 1}), 340);
}

TEST(CostModel, GroupsBetweenMeasuredOnes) {
  CostModel cost = modelOf("h100-sxm", {8});
  for (auto kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                    CollectiveKind::AllToAll})
    for (int64_t group = 2; group <= 8; ++group) {
      GroupPlace place{group, group, 1};
      double bus = 256 * mib * busFactor(kind, group) /
                   cost.collectiveSeconds(kind, 256 * mib, place) * 1e-9;
      EXPECT_GT(bus, 150) << name(kind).str() << " " << group;
      EXPECT_LT(bus, 440) << name(kind).str() << " " << group;
    }
}

// Four ranks on two cores take twice as long as two.
TEST(CostModel, RanksShareACpu) {
  CostModel two = modelOf("cpu", {2}), four = modelOf("cpu", {4});
  MatmulWork work{512, 512, 512};
  EXPECT_NEAR(four.matmulSeconds(work, TPSP_RT_F32) /
                  two.matmulSeconds(work, TPSP_RT_F32),
              2, 1e-6);
}

// A lookup reads few rows of a large table. A scattered element costs a line of
// 64 bytes.
TEST(CostModel, LookupsReadWhatTheyFind) {
  KernelWork work = {/*grid=*/64};
  EXPECT_EQ(work.memoryBytes(1e9), 1e9); // not counted
  work.elementBytes = 2e6;
  EXPECT_EQ(work.memoryBytes(1e9), 2e6);
  EXPECT_EQ(work.memoryBytes(1e6), 1e6);
  work.scatteredElements = 1e5;
  EXPECT_EQ(work.memoryBytes(1e9), 2e6 + 64e5);
  CostModel cost = modelOf("h100-sxm", {8});
  EXPECT_LT(cost.kernelSeconds(work, 1e9), cost.copySeconds(1e8));
}

/// Neighbouring threads of a GPU find what a strided access brings. A core of a
/// CPU does not.
TEST(CostModel, StridedElementsAreNearerThanScatteredOnes) {
  KernelWork strided = {/*grid=*/1024}, scattered = strided;
  strided.stridedElements = scattered.scatteredElements = 1e8;
  EXPECT_EQ(strided.memoryBytes(1e12), scattered.memoryBytes(1e12));
  CostModel gpu = modelOf("h200-sxm", {1}), cpu = modelOf("cpu", {1});
  EXPECT_LT(gpu.kernelSeconds(strided, 1e6),
            0.3 * gpu.kernelSeconds(scattered, 1e6));
  EXPECT_EQ(cpu.kernelSeconds(strided, 1e6), cpu.kernelSeconds(scattered, 1e6));
}

/// Short items share blocks. A block of its own for each would take longer.
TEST(CostModel, ShortItemsShareBlocks) {
  CostModel cost = modelOf("h200-sxm", {1});
  KernelWork work = {/*grid=*/1 << 20};
  work.elementBytes = 1 << 26;
  double launch = cost.machine().launchSeconds;
  double blocks = (cost.kernelSeconds(work, 1) - launch -
                   work.elementBytes / cost.machine().kernel.cacheBandwidth) /
                  cost.machine().kernel.itemSeconds;
  EXPECT_NEAR(blocks, 1 << 12, 1);
}

/// The gradient of a bias of two elements keeps two blocks busy, however large
/// the GPU is.
TEST(CostModel, ASumHasNoMoreBlocksThanResults) {
  CostModel cost = modelOf("h200-sxm", {1});
  PlanCommand sum;
  sum.kind = CommandKind::Kernel;
  Plan plan;
  auto seconds = [&](int64_t grid, int64_t written) {
    sum.kernel = {grid};
    sum.accesses = {{0, {0, int64_t(64 * mib), 1, 0}, false},
                    {1, {0, written, 1, 0}, true}};
    return cost.seconds(sum);
  };
  EXPECT_NEAR(seconds(2, 8), 64 * mib / 60e9, 1e-5);
  EXPECT_LT(seconds(4096, 1 << 14), 1e-4);
  // It is no sum, and blocks divide its items.
  EXPECT_LT(seconds(2, int64_t(64 * mib)), 1e-4);
}

/// A table's rows that nothing looks up are not read.
TEST(CostModel, ALookupIsNoSum) {
  CostModel cost = modelOf("h200-sxm", {1});
  PlanCommand lookup;
  lookup.kind = CommandKind::Kernel;
  lookup.kernel = {/*grid=*/64};
  lookup.kernel.elementBytes = 2e6;
  lookup.accesses = {{0, {0, int64_t(1024 * mib), 1, 0}, false},
                     {1, {0, 1 << 20, 1, 0}, true}};
  EXPECT_LT(cost.seconds(lookup), 1e-5);
}

TEST(CostModel, GroupedProductsHaveRatesOfTheirOwn) {
  CostModel cost = modelOf("h200-sxm", {1});
  MatmulWork work = {4096, 4096, 4096}, grouped = work;
  grouped.isGrouped = true;
  EXPECT_NEAR(cost.matmulSeconds(grouped, TPSP_RT_BF16) /
                  cost.matmulSeconds(work, TPSP_RT_BF16),
              1 / 0.47, 0.02);
}

TEST(CostModel, AttentionWithSegmentsIsSlowerAndCapsLoseTheWindow) {
  CostModel cost = modelOf("h200-sxm", {1});
  auto seconds = [&](int64_t window, bool hidesKeys, bool capsScores,
                     bool isGradient) {
    PlanCommand command;
    command.kind = CommandKind::Attention;
    command.dtype = TPSP_RT_BF16;
    command.attention = {{{true, window}, 1, capsScores ? 30.0 : 0.0},
                         128,
                         8192,
                         8192,
                         128,
                         128,
                         isGradient,
                         0,
                         hidesKeys};
    return cost.seconds(command);
  };
  for (bool isGradient : {false, true}) {
    double causal = seconds(0, false, false, isGradient);
    EXPECT_NEAR(seconds(0, true, false, isGradient) / causal,
                isGradient ? 1 / 0.51 : 1 / 0.70, 0.05);
    EXPECT_NEAR(seconds(0, false, true, isGradient), causal, 1e-9);
    EXPECT_LT(seconds(1024, false, false, isGradient), 0.35 * causal);
    EXPECT_GT(seconds(1024, false, true, isGradient), 1.5 * causal);
  }
}

/// All scores of a window are computed next to a soft-cap, up to the last key
/// that a rank's queries see. Then no rank has more than the last.
TEST(CostModel, RanksShareAWindowWithASoftCap) {
  CostModel cost = modelOf("h200-sxm", {1});
  for (int64_t window : {7, 1024, 8191})
    for (int64_t ranks : {1, 2, 8}) {
      AttentionWork whole{{{true, window}}, 128, 8192, 8192, 128, 128};
      whole.softcap = 30;
      double most = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        AttentionWork part = whole;
        part.queries /= ranks;
        part.queryStart = rank * part.queries;
        double pairs = cost.attentionDone(part).pairs();
        EXPECT_EQ(pairs, 128.0 * double(part.queries) *
                             double(part.queryStart + part.queries));
        most = std::max(most, pairs);
      }
      EXPECT_EQ(most, cost.attentionDone(whole).pairs() / double(ranks));
    }
}

TEST(CostModel, NothingTakesNoTime) {
  CostModel cost = modelOf("h100-sxm", {8});
  PlanCommand event;
  event.kind = CommandKind::EventWait;
  EXPECT_EQ(cost.seconds(event), 0);
  double launch = cost.machine().launchSeconds;
  EXPECT_EQ(cost.collectiveSeconds(CollectiveKind::AllReduce, mib,
                                   GroupPlace{1, 1, 1}),
            launch);
  EXPECT_EQ(cost.matmulSeconds({0, 4, 4}, TPSP_RT_BF16), launch);
  EXPECT_EQ(cost.kernelSeconds({/*grid=*/0}, 0), launch);
}
