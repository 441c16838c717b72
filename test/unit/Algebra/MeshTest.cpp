#include "tpsp/Algebra/Mesh.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

const Mesh mesh({{"dp", 2, AxisRole::Data},
                 {"tp", 4, AxisRole::Model},
                 {"pp", 3, AxisRole::None}});

TEST(MeshTest, FindsAxesByName) {
  EXPECT_EQ(mesh.numAxes(), 3u);
  EXPECT_EQ(mesh.find("tp"), std::optional<AxisId>(1));
  EXPECT_EQ(mesh.find("ep"), std::nullopt);
  EXPECT_EQ(mesh.find(""), std::nullopt);
  EXPECT_EQ(mesh.axis(0).role, AxisRole::Data);
}

TEST(MeshTest, GroupIsTheProductOfItsAxes) {
  EXPECT_EQ(mesh.groupSize({}), 1);
  EXPECT_EQ(mesh.groupSize({1}), 4);
  EXPECT_EQ(mesh.groupSize({2, 0}), 6);
  EXPECT_EQ(mesh.numRanks(), 24);
}

TEST(MeshTest, ProductsBeyondSixtyFourBitsDoNotWrapAround) {
  Mesh huge({{"a", int64_t(1) << 62}, {"b", 4}, {"c", 2}});
  EXPECT_EQ(huge.groupSize({0}), int64_t(1) << 62);
  EXPECT_EQ(huge.groupSize({0, 1}), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(huge.numRanks(), std::numeric_limits<int64_t>::max());
}

TEST(MeshTest, NoAxesIsOneRank) {
  Mesh none;
  EXPECT_EQ(none.numAxes(), 0u);
  EXPECT_EQ(none.numRanks(), 1);
  EXPECT_EQ(none.names({}), "");
}

TEST(MeshTest, NamesAreInTheOrderAsked) {
  EXPECT_EQ(mesh.names({2, 0}), "pp, dp");
}

} // namespace
