#include "tpsp/Algebra/Placement.h"

#include "RankSimulation.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

const Mesh mesh({{"a", 2, AxisRole::None}, {"b", 3, AxisRole::None}});
const oracle::Ranks ranks({2, 3});

Placement placed(std::vector<AxisList> dims, AxisList pending = {}) {
  Placement placement(dims.size());
  placement.dims.assign(dims.begin(), dims.end());
  placement.pending = pending;
  return placement;
}

TEST(PlacementTest, FindsTheDimensionOfAnAxis) {
  Placement placement = placed({{}, {1}}, {0});
  EXPECT_EQ(placement.dimOf(1), std::optional<unsigned>(1));
  EXPECT_EQ(placement.dimOf(0), std::nullopt);
  EXPECT_TRUE(placement.isPending(0));
  EXPECT_FALSE(placement.isPending(1));
  EXPECT_TRUE(placement.uses(0));
  EXPECT_TRUE(placement.uses(1));
  EXPECT_FALSE(Placement(2).uses(0));
}

TEST(PlacementTest, SubscriptsCompareInOrderAndPendingAxesAsASet) {
  EXPECT_NE(placed({{0, 1}}), placed({{1, 0}}));
  EXPECT_EQ(placed({{}}, {0, 1}), placed({{}}, {1, 0}));
  EXPECT_NE(placed({{}}, {0}), placed({{}}, {0, 1}));
  EXPECT_NE(placed({{}}, {0}), placed({{}}, {1}));
  EXPECT_NE(placed({{0}}), placed({{}}, {0}));
  EXPECT_NE(placed({{0}, {}}), placed({{}, {0}}));
}

TEST(PlacementTest, ReductionMattersOnlyWhilePending) {
  Placement sum = placed({{}}, {0}), max = sum;
  max.reduction = Reduction::Max;
  EXPECT_NE(sum, max);
  sum.pending.clear();
  max.pending.clear();
  EXPECT_EQ(sum, max);
}

TEST(PlacementTest, LocalShapeIsTheShapeOfEveryRanksBlock) {
  oracle::Shape shape = {6, 12, 3};
  unsigned checked = 0;
  for (const oracle::Layout &layout : oracle::allLayouts(3, 2, true)) {
    if (!oracle::divides(layout, shape, ranks.sizes))
      continue;
    auto local = localShape(shape, oracle::placementOf(layout), mesh);
    for (int64_t rank = 0; rank < ranks.count(); ++rank)
      EXPECT_EQ(ranks.block(oracle::Dense(shape), layout, rank).shape,
                oracle::Shape(local.begin(), local.end()))
          << oracle::toString(layout);
    ++checked;
  }
  EXPECT_GE(checked, 20u);
}

TEST(PlacementTest, FirstUnevenDimIsTheFirstThatItsAxesDoNotDivide) {
  for (const oracle::Shape &shape :
       {oracle::Shape{6, 6}, {2, 3}, {3, 2}, {4, 9}, {1, 6}, {5, 7}})
    for (const oracle::Layout &layout : oracle::allLayouts(2, 2, true)) {
      auto dim = firstUnevenDim(shape, oracle::placementOf(layout), mesh);
      EXPECT_EQ(!dim, oracle::divides(layout, shape, ranks.sizes))
          << oracle::toString(layout);
      if (!dim)
        continue;
      EXPECT_TRUE(oracle::divides(
          {{layout.dims.begin(), layout.dims.begin() + *dim}, {}},
          {shape.begin(), shape.begin() + *dim}, ranks.sizes));
    }
}

TEST(PlacementTest, AScalarIsPlaced) {
  EXPECT_TRUE(localShape({}, Placement(0), mesh).empty());
  EXPECT_EQ(firstUnevenDim({}, Placement(0), mesh), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Rows of elements
//===----------------------------------------------------------------------===//

using Extents = llvm::SmallVector<int64_t, 4>;

const Mesh storing({{"tp", 2, AxisRole::Model},
                    {"dp", 3, AxisRole::Data},
                    {"rep", 2, AxisRole::Data}});

TEST(PlacementTest, AxesThatDoNotDivideCutARow) {
  EXPECT_FALSE(flatCut({6, 4}, placed({{1}, {0}}), storing));
  std::optional<FlatCut> cut = flatCut({4, 5}, placed({{0, 1}, {}}), storing);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->dim, 0u);
  EXPECT_EQ(cut->axes, AxisList({1}));
  // From the first axis that does not divide, all axes cut the row.
  cut = flatCut({8}, placed({{1, 2}}), storing);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->axes, AxisList({1, 2}));
}

TEST(PlacementTest, APieceIsAtMostOneElementMoreThanAShare) {
  EXPECT_EQ(localShape({4, 5}, placed({{0, 1}, {}}), storing), Extents({1, 4}));
  EXPECT_EQ(localShape({64, 64}, placed({{1}, {}}), storing),
            Extents({1, 1366}));
  EXPECT_EQ(localShape({1}, placed({{1, 2}}), storing), Extents({1}));
  EXPECT_EQ(localShape({6, 4}, placed({{1}, {0}}), storing), Extents({2, 2}));
}

TEST(PlacementTest, OnlyDataAxesOfOneDimensionStoreARow) {
  EXPECT_TRUE(canBeStored({5, 4}, placed({{1}, {0}}), storing));
  EXPECT_TRUE(canBeStored({5, 4}, placed({{1, 2}, {0}}), storing));
  // A model axis divides work.
  EXPECT_FALSE(canBeStored({5, 4}, placed({{0}, {}}), storing));
  EXPECT_FALSE(canBeStored({3, 4}, placed({{1, 0}, {}}), storing));
  // Two dimensions would make a row of rows.
  EXPECT_FALSE(canBeStored({5, 5}, placed({{1}, {2}}), storing));
}

TEST(PlacementTest, TheAxesOfACutComeLast) {
  EXPECT_EQ(withCutLast({4, 6}, placed({{0, 1}, {2}}), storing),
            placed({{0}, {2, 1}}));
  EXPECT_EQ(withCutLast({6, 6}, placed({{0, 1}, {2}}), storing),
            placed({{0, 1}, {2}}));
}

} // namespace
