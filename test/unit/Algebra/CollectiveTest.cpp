#include "tpsp/Algebra/Collective.h"

#include "RankSimulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::oracle;

namespace {

constexpr CollectiveKind allKinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather, CollectiveKind::AllToAll,
    CollectiveKind::Slice,     CollectiveKind::Permute};

Mesh meshOf(const Sizes &sizes) {
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes)
    axes.push_back({"a" + std::to_string(axes.size()), size, AxisRole::None});
  return Mesh(std::move(axes));
}

Placement placed(std::vector<AxisList> dims, AxisList pending = {}) {
  Placement placement(dims.size());
  placement.dims.assign(dims.begin(), dims.end());
  placement.pending = pending;
  return placement;
}

/// "slice 0 ->0, all_reduce 1"
std::string describe(const Transition &transition) {
  std::string text;
  for (const CollectiveStep &step : transition) {
    text += (text.empty() ? "" : ", ") + name(step.kind).str();
    for (AxisId axis : step.axes)
      text += " " + std::to_string(axis);
    if (step.from)
      text += " " + std::to_string(*step.from) + "->";
    if (step.to)
      text += (step.from ? "" : " ->") + std::to_string(*step.to);
  }
  return text;
}

std::string plan(const Placement &from, const Placement &to) {
  std::optional<Transition> steps = planTransition(from, to);
  return steps ? describe(*steps) : "none";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

TEST(CollectiveTest, Names) {
  std::vector<std::string> names;
  for (CollectiveKind kind : allKinds)
    names.push_back(name(kind).str());
  EXPECT_THAT(names,
              testing::ElementsAre("all_reduce", "reduce_scatter", "all_gather",
                                   "all_to_all", "slice", "permute"));
}

/// Returns the collective that a cotangent goes through; none for all_reduce.
std::optional<CollectiveKind> dual(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return CollectiveKind::ReduceScatter;
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::Slice:
    return CollectiveKind::AllGather;
  case CollectiveKind::AllReduce:
    return std::nullopt;
  default:
    return kind;
  }
}

/// The gradient of a movement is moved by the dual. A gather forward is a
/// reduce-scatter of the gradient's summands backward, onto the same dimension.
TEST(CollectiveTest, DualIsTheCollectiveOfTheGradient) {
  for (const Layout &from : allLayouts(2, 1, false))
    for (const Layout &to : allLayouts(2, 1, false)) {
      Transition forward =
          *planTransition(oracle::placementOf(from), oracle::placementOf(to));
      if (forward.size() != 1)
        continue;
      // Each rank's gradient of a gathered tensor is a summand.
      Layout gradient = to;
      if (forward[0].kind == CollectiveKind::AllGather)
        gradient.pending = {0};
      Transition backward = *planTransition(oracle::placementOf(gradient),
                                            oracle::placementOf(from));
      ASSERT_EQ(backward.size(), 1u);
      EXPECT_EQ(backward[0].kind, dual(forward[0].kind));
      EXPECT_EQ(backward[0].to, forward[0].from);
    }
}

/// nccl-tests, doc/PERFORMANCE.md: algbw = S / t, where S is the larger of the
/// two buffers. busbw is algbw times 2(n-1)/n for all-reduce and (n-1)/n for
/// the others, but 1 for sends. A rank sends busbw t bytes.
TEST(CollectiveTest, BytesSentAreNcclTestsBusBytes) {
  const int64_t larger = 5040;
  for (int64_t n : {1, 2, 3, 4, 8, 16}) {
    EXPECT_EQ(bytesSent(CollectiveKind::AllReduce, larger, n),
              2 * (n - 1) * larger / n);
    for (CollectiveKind kind :
         {CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
          CollectiveKind::AllToAll})
      EXPECT_EQ(bytesSent(kind, larger, n), (n - 1) * larger / n)
          << name(kind).str();
    EXPECT_EQ(bytesSent(CollectiveKind::Permute, larger, n),
              n > 1 ? larger : 0);
    EXPECT_EQ(bytesSent(CollectiveKind::Slice, larger, n), 0);
  }
}

TEST(CollectiveTest, AGroupOfOneSendsNothing) {
  for (CollectiveKind kind : allKinds)
    EXPECT_EQ(bytesSent(kind, 1 << 20, 1), 0) << name(kind).str();
}

TEST(CollectiveTest, BytesDoNotOverflowForATerabyte) {
  EXPECT_EQ(bytesSent(CollectiveKind::AllReduce, int64_t(1) << 40, 1024),
            (int64_t(1) << 41) - (int64_t(1) << 31));
  // The largest tensor's bytes times the ranks would overflow int64_t.
  EXPECT_EQ(bytesSent(CollectiveKind::AllReduce, int64_t(1) << 51, 1 << 20),
            (int64_t(1) << 52) - (int64_t(1) << 32));
}

//===----------------------------------------------------------------------===//
// Transitions, one by one
//===----------------------------------------------------------------------===//

TEST(TransitionTest, EachRowOfTheTable) {
  EXPECT_EQ(plan(placed({{}}, {0}), placed({{}})), "all_reduce 0");
  EXPECT_EQ(plan(placed({{}, {}}, {0}), placed({{}, {0}})),
            "reduce_scatter 0 ->1");
  EXPECT_EQ(plan(placed({{}, {0}}), placed({{}, {}})), "all_gather 0 1->");
  EXPECT_EQ(plan(placed({{0}, {}}), placed({{}, {0}})), "all_to_all 0 0->1");
  EXPECT_EQ(plan(placed({{}, {}}), placed({{}, {0}})), "slice 0 ->1");
  EXPECT_EQ(plan(placed({{0, 1}}), placed({{1, 0}})), "permute 1 0 0->0");
  EXPECT_EQ(plan(placed({{0}, {1}}, {2}), placed({{0}, {1}}, {2})), "");
}

TEST(TransitionTest, AWholeTensorCannotBecomeASummand) {
  EXPECT_EQ(plan(placed({{}}), placed({{}}, {0})), "none");
  EXPECT_EQ(plan(placed({{0}}), placed({{}}, {0})), "none");
  EXPECT_EQ(plan(placed({{}}, {1}), placed({{}}, {0, 1})), "none");
  Placement max = placed({{}}, {0});
  max.reduction = Reduction::Max;
  EXPECT_EQ(plan(placed({{}}, {0}), max), "none");
  EXPECT_EQ(plan(max, placed({{}}, {0})), "none");
}

TEST(TransitionTest, AMaximumIsCompletedLikeASum) {
  Placement max = placed({{}}, {0});
  max.reduction = Reduction::Max;
  EXPECT_EQ(plan(max, placed({{}})), "all_reduce 0");
  EXPECT_EQ(plan(max, placed({{0}})), "reduce_scatter 0 ->0");
}

TEST(TransitionTest, SeveralAxesOfOneKindAreOneStep) {
  EXPECT_EQ(plan(placed({{}}, {0, 1}), placed({{}})), "all_reduce 0 1");
  EXPECT_EQ(plan(placed({{}}, {1, 0}), placed({{0, 1}})),
            "reduce_scatter 0 1 ->0");
  EXPECT_EQ(plan(placed({{0, 1}}), placed({{}})), "all_gather 0 1 0->");
  EXPECT_EQ(plan(placed({{0, 1}, {}}), placed({{}, {0, 1}})),
            "all_to_all 0 1 0->1");
}

TEST(TransitionTest, OnlyTheMinorAxesMoveWhereTheMajorStay) {
  EXPECT_EQ(plan(placed({{0, 1}}), placed({{0}})), "all_gather 1 0->");
  EXPECT_EQ(plan(placed({{0}}), placed({{0, 1}})), "slice 1 ->0");
}

TEST(TransitionTest, WhatShrinksComesFirst) {
  // HSDP: reduce-scatter within the shard group, then all-reduce across.
  EXPECT_EQ(plan(placed({{}}, {0, 1}), placed({{1}})),
            "reduce_scatter 1 ->0, all_reduce 0");
  EXPECT_EQ(plan(placed({{0}, {}}), placed({{}, {1}})),
            "slice 1 ->1, all_gather 0 0->");
  EXPECT_EQ(plan(placed({{}, {}}, {0}), placed({{0}, {1}})),
            "slice 1 ->1, reduce_scatter 0 ->0");
}

TEST(TransitionTest, TheInnermostAxesMoveMost) {
  for (bool isTurned : {false, true}) {
    Placement whole = placed({{}, {}}), summed = placed({{}, {}}, {0, 1}),
              divided = isTurned ? placed({{1}, {0}}) : placed({{0}, {1}});
    EXPECT_EQ(plan(summed, divided),
              isTurned ? "reduce_scatter 1 ->0, reduce_scatter 0 ->1"
                       : "reduce_scatter 1 ->1, reduce_scatter 0 ->0");
    EXPECT_EQ(plan(divided, whole), isTurned
                                        ? "all_gather 0 1->, all_gather 1 0->"
                                        : "all_gather 0 0->, all_gather 1 1->");
  }
}

TEST(TransitionTest, WhatIsWantedScatteredIsNotReducedWhileItWaits) {
  EXPECT_EQ(plan(placed({{0}}, {1}), placed({{1}})),
            "all_gather 0 0->, reduce_scatter 1 ->0");
}

TEST(TransitionTest, AnAxisThatBecomesMajorNeedsAPermuteNotAGather) {
  EXPECT_EQ(plan(placed({{1}}), placed({{0, 1}})),
            "slice 0 ->0, permute 0 1 0->0");
  EXPECT_EQ(plan(placed({{1}}, {0}), placed({{0, 1}})),
            "reduce_scatter 0 ->0, permute 0 1 0->0");
}

TEST(TransitionTest, CostCountsAxesAndAddsBytes) {
  Mesh mesh = meshOf({2, 4});
  Placement from = placed({{}, {}}, {0, 1}), to = placed({{1}, {}});
  TransitionCost price =
      cost(*planTransition(from, to), from, {8, 16}, 4, mesh);
  EXPECT_EQ(price.collectives, 2u);
  // 512 B scattered over 4, then 128 B reduced over 2.
  EXPECT_EQ(price.bytes, 512 * 3 / 4 + 128);

  Placement both = placed({{0}, {1}}), whole = placed({{}, {}});
  price = cost(*planTransition(both, whole), both, {8, 16}, 4, mesh);
  EXPECT_EQ(price.collectives, 2u) << "one for each axis";
  EXPECT_EQ(price.bytes, 512 - 512 / 8) << "in whatever order";

  price = cost(*planTransition(whole, both), whole, {8, 16}, 4, mesh);
  EXPECT_EQ(price.collectives, 0u) << "slices are free";
  EXPECT_EQ(price.bytes, 0);
}

//===----------------------------------------------------------------------===//
// Transitions, exhaustively
//===----------------------------------------------------------------------===//

struct Counts {
  unsigned pairs = 0, legal = 0, steps = 0;
};

/// Runs the planned steps on data. After each step every rank must hold a block
/// of the step's shape, and at the end the target's block.
void checkOnData(const Layout &from, const Layout &to, const Shape &shape,
                 const Ranks &ranks, const Mesh &mesh, Counts &counts) {
  SCOPED_TRACE(toString(from) + " to " + toString(to));
  ++counts.pairs;
  std::optional<Transition> steps =
      planTransition(oracle::placementOf(from), oracle::placementOf(to));
  bool subset = std::includes(from.pending.begin(), from.pending.end(),
                              to.pending.begin(), to.pending.end());
  ASSERT_EQ(steps.has_value(), subset);
  if (!steps)
    return;
  ++counts.legal;
  Summands summands(shape, from, ranks, /*seed=*/counts.pairs);
  std::vector<Dense> held;
  for (int64_t rank = 0; rank < ranks.count(); ++rank)
    held.push_back(summands.held(rank));
  Placement before = oracle::placementOf(from);
  for (const CollectiveStep &step : *steps) {
    ++counts.steps;
    ASSERT_FALSE(firstUnevenDim(shape, step.after, mesh)) << describe(*steps);
    held = apply(step, before, held, ranks);
    auto local = localShape(shape, step.after, mesh);
    for (const Dense &block : held)
      ASSERT_EQ(block.shape, Shape(local.begin(), local.end()));
    before = step.after;
  }
  EXPECT_EQ(layoutOf(before), to) << describe(*steps);
  for (int64_t rank = 0; rank < ranks.count(); ++rank)
    ASSERT_EQ(held[rank], summands.expected(to, rank))
        << describe(*steps) << " on rank " << rank;
}

void checkAllOnData(const Sizes &sizes, const Shape &shape, unsigned stride,
                    Counts &counts) {
  Ranks ranks(sizes);
  Mesh mesh = meshOf(sizes);
  std::vector<Layout> layouts = allLayouts(shape.size(), sizes.size(), true);
  llvm::erase_if(layouts, [&](const Layout &layout) {
    return !divides(layout, shape, sizes);
  });
  unsigned number = 0;
  for (const Layout &from : layouts)
    for (const Layout &to : layouts)
      if (number++ % stride == 0)
        checkOnData(from, to, shape, ranks, mesh, counts);
}

void report(const Counts &counts) {
  testing::Test::RecordProperty("pairs", counts.pairs);
  testing::Test::RecordProperty("legal", counts.legal);
  testing::Test::RecordProperty("steps", counts.steps);
}

TEST(TransitionTest, MovesDataAsTheTargetSaysOnTwoByTwoRanks) {
  Counts counts;
  checkAllOnData({2, 2}, {}, 1, counts);
  checkAllOnData({2, 2}, {4}, 1, counts);
  checkAllOnData({2, 2}, {4, 8}, 1, counts);
  checkAllOnData({2, 2}, {4, 4, 8}, 1, counts);
  checkAllOnData({2, 2}, {2, 4, 1}, 1, counts);
  report(counts);
  EXPECT_GE(counts.legal, 700u);
}

TEST(TransitionTest, MovesDataAsTheTargetSaysOnTwoByThreeRanks) {
  Counts counts;
  checkAllOnData({2, 3}, {6}, 1, counts);
  checkAllOnData({2, 3}, {12, 6}, 1, counts);
  checkAllOnData({2, 3}, {6, 6, 6}, 1, counts);
  checkAllOnData({2, 3}, {6, 4, 3}, 1, counts);
  report(counts);
  EXPECT_GE(counts.legal, 700u);
}

TEST(TransitionTest, MovesDataAsTheTargetSaysOnThreeAxes) {
  Counts counts;
  checkAllOnData({2, 2, 2}, {8}, 1, counts);
  checkAllOnData({2, 2, 2}, {8, 8}, 1, counts);
  checkAllOnData({2, 2, 2}, {8, 8, 8}, 7, counts);
  report(counts);
  EXPECT_GE(counts.legal, 4000u);
}

/// Whether two dimensions trade their axes, so that no axis can move directly.
bool isTrade(const Layout &from, const Layout &to) {
  for (size_t i = 0; i < from.dims.size(); ++i)
    for (size_t j = 0; j < from.dims.size(); ++j)
      if (i != j && !from.dims[i].empty() && from.dims[i] == to.dims[j] &&
          !to.dims[i].empty() && to.dims[i] == from.dims[j])
        return true;
  return false;
}

TEST(TransitionTest, NoDirectMovementCostsLess) {
  unsigned compared = 0, equal = 0;
  for (const Sizes &sizes : {Sizes{2, 2}, Sizes{2, 3}, Sizes{2, 2, 2}})
    for (const Shape &shape :
         {Shape{12}, Shape{12, 12}, Shape{12, 6, 36}, Shape{6, 6, 6, 12}}) {
      if (sizes.size() * shape.size() > 8)
        continue; // too many layouts
      Mesh mesh = meshOf(sizes);
      TransitionOracle oracle(shape, /*elementBytes=*/36, sizes);
      for (const Layout &from : allLayouts(shape.size(), sizes.size(), true))
        for (const Layout &to : allLayouts(shape.size(), sizes.size(), true)) {
          if (!divides(from, shape, sizes) || !divides(to, shape, sizes))
            continue;
          SCOPED_TRACE(toString(from) + " to " + toString(to));
          Placement source = oracle::placementOf(from);
          auto steps = planTransition(source, oracle::placementOf(to));
          std::optional<Price> price = oracle.price(from, to);
          // With a third axis, isTrade() may miss a trade.
          ASSERT_TRUE(steps.has_value() == (price || isTrade(from, to)) ||
                      sizes.size() > 2);
          if (!price)
            continue;
          TransitionCost paid = cost(*steps, source, shape, 36, mesh);
          Price mine{paid.collectives, paid.bytes};
          EXPECT_FALSE(*price < mine) << describe(*steps) << ": " << mine.moves
                                      << " moves, " << mine.bytes << " B, not "
                                      << price->moves << ", " << price->bytes;
          ++compared;
          equal += mine == *price;
        }
    }
  RecordProperty("compared", compared);
  RecordProperty("equal", equal);
  EXPECT_GE(compared, 3000u);
  EXPECT_GE(equal, compared * 9 / 10);
}

static Layout withoutUnits(Layout layout, const Sizes &sizes) {
  auto dropUnits = [&](std::vector<unsigned> &axes) {
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](unsigned axis) { return sizes[axis] == 1; }),
               axes.end());
  };
  std::for_each(layout.dims.begin(), layout.dims.end(), dropUnits);
  dropUnits(layout.pending);
  return layout;
}

/// Axes of one rank cost nothing, wherever they are and are wanted, whatever
/// axes stand between them. Every step is the difference of its two placements.
TEST(TransitionTest, AxesOfOneRankMoveNothingElse) {
  unsigned around = 0;
  for (const Sizes &sizes : {Sizes{1, 2}, Sizes{2, 1, 3}, Sizes{1, 2, 1}})
    for (const Layout &from : allLayouts(2, sizes.size(), true))
      for (const Layout &to : allLayouts(2, sizes.size(), true)) {
        SCOPED_TRACE(toString(from) + " to " + toString(to));
        Mesh mesh = meshOf(sizes);
        const Shape shape = {12, 12};
        Placement source = oracle::placementOf(from);
        Placement goal = oracle::placementOf(to);
        auto steps = planTransition(source, goal, mesh);
        if (!steps)
          continue;
        Placement least = oracle::placementOf(withoutUnits(from, sizes));
        auto real =
            planTransition(least, oracle::placementOf(withoutUnits(to, sizes)));
        ASSERT_TRUE(real);
        TransitionCost paid = cost(*steps, source, shape, 4, mesh);
        TransitionCost needed = cost(*real, least, shape, 4, mesh);
        EXPECT_EQ(paid.collectives, needed.collectives) << describe(*steps);
        EXPECT_EQ(paid.bytes, needed.bytes) << describe(*steps);
        Placement now = source;
        for (const CollectiveStep &step : *steps) {
          auto again = planTransition(now, step.after, mesh);
          ASSERT_TRUE(again && again->size() == 1) << describe(*steps);
          EXPECT_EQ(again->front().kind, step.kind) << describe(*steps);
          EXPECT_EQ(again->front().axes, step.axes) << describe(*steps);
          now = step.after;
        }
        EXPECT_TRUE(now == goal) << describe(*steps);
        around += describe(*steps) != describe(*planTransition(source, goal));
      }
  EXPECT_GT(around, 0u);
}

} // namespace
