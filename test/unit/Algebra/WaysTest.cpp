#include "tpsp/Algebra/Ways.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

/// y[b, s, e] = W[e, d] x[b, s, d] over axes dp (2) and tp (4).
class WaysTest : public testing::Test {
protected:
  WaysTest() : mesh({{"dp", 2}, {"tp", 4}}) {
    structure.linearity = Linearity::Multi;
    IndexId b = structure.intern("b", 8), s = structure.intern("s", 16),
            d = structure.intern("d", 32), e = structure.intern("e", 64);
    structure.operands.push_back({{e, d}, {64, 32}, 4, {}});
    structure.operands.push_back({{b, s, d}, {8, 16, 32}, 4, {}});
    structure.results.push_back({{b, s, e}, {8, 16, 64}, 4, {}});
    weight = Placement(2);
    input = Placement(3);
  }

  llvm::SmallVector<Way, 4> along(AxisId axis) {
    placements = {weight, input};
    return waysAlong({structure, placements, wanted, mesh}, axis);
  }
  Drive on(const char *index) {
    return {Drive::Index, structure.intern(index, 0)};
  }

  static constexpr AxisId dp = 0, tp = 1;
  Mesh mesh;
  IndexStructure structure;
  Placement weight, input;
  llvm::SmallVector<Placement> placements;
  llvm::SmallVector<std::optional<Placement>> wanted = {std::nullopt};
};

TEST_F(WaysTest, EveryLegalChoiceHasAPrice) {
  weight.dims[0] = {tp};
  input.dims[1] = {tp};
  auto ways = along(tp);
  ASSERT_EQ(ways.size(), 3u);
  const int64_t weightBytes = 64 * 32 * 4, inputBytes = 8 * 16 * 32 * 4;
  EXPECT_EQ(ways[0].drive, Drive{}); // both gathered
  EXPECT_EQ(ways[0].bytes, (weightBytes + inputBytes) * 3 / 4);
  EXPECT_EQ(ways[1].drive, on("e")); // x gathered
  EXPECT_EQ(ways[1].bytes, inputBytes * 3 / 4);
  EXPECT_EQ(ways[2].drive, on("s")); // W gathered
  EXPECT_EQ(ways[2].bytes, weightBytes * 3 / 4);
}

TEST_F(WaysTest, OtherAxesOnlyShrinkTheTensors) {
  weight.dims[0] = {tp};
  weight.dims[1] = {dp}; // would have to be gathered over dp, not tp
  input.dims[0] = {dp};
  input.dims[1] = {tp};
  auto ways = along(tp);
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[1].bytes, 8 * 16 * 32 * 4 / 2 * 3 / 4);
  EXPECT_EQ(ways[2].bytes, 64 * 32 * 4 / 2 * 3 / 4);
}

TEST_F(WaysTest, AnUnplacedResultIsPricedAsComplete) {
  weight.dims[1] = {tp};
  input.dims[0] = {dp};
  auto ways = along(tp);
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].bytes, 64 * 32 * 4 * 3 / 4);
  EXPECT_EQ(ways[1].drive, on("d"));
  // An all-reduce of the part of the result that dp leaves.
  EXPECT_EQ(ways[1].bytes, 2 * 8 * 16 * 64 * 4 / 2 * 3 / 4);
}

TEST_F(WaysTest, APlacedResultIsPricedAsWanted) {
  weight.dims[1] = {tp};
  wanted[0] = Placement(3);
  wanted[0]->dims[1] = {tp};
  auto ways = along(tp);
  // Driving nothing gathers W and slices the result, d scatters the result, and
  // s gathers W.
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[0].bytes, 64 * 32 * 4 * 3 / 4);
  EXPECT_EQ(ways[1].bytes, 8 * 16 * 64 * 4 * 3 / 4);
  EXPECT_EQ(ways[2].bytes, 64 * 32 * 4 * 3 / 4);
}

TEST_F(WaysTest, IllegalChoicesAreLeftOut) {
  input.dims[1] = {tp};
  structure.results[0].shape[1] = 6; // as if tp did not divide it
  auto ways = along(tp);
  ASSERT_EQ(ways.size(), 1u);
  EXPECT_EQ(ways[0].drive, Drive{});
}

TEST_F(WaysTest, TheChosenWayIsTheTables) {
  weight.dims[1] = {tp};
  placements = {weight, input};
  wanted[0] = Placement(3);
  auto way = chosenWay({structure, placements, wanted, mesh}, tp);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->drive, on("d")); // one collective each, and less work
  wanted[0]->pending = {dp};      // a whole tensor does not become a summand
  EXPECT_FALSE(chosenWay({structure, placements, wanted, mesh}, dp));
}

} // namespace
