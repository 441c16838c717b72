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

} // namespace
