#include "TestTensor.h"

#include "tpsp/Runtime/Driver/Tensors/Shard.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::Each;
using testing::ElementsAre;

using Positions = std::vector<int64_t>;

/// Returns the global position of each of a rank's elements; -1 if it got none.
static Positions positionsOf(const Shard &shard) {
  Positions positions(shard.elements(), -1);
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(positions.at(local + i), -1) << "visited twice";
      positions[local + i] = global + i;
    }
  });
  return positions;
}

static const std::vector<MeshAxis> mesh = {{"a", 2}, {"b", 3}};

TEST(ShardTest, AWholeTensorIsOneRun) {
  Shard shard(testTensor(mesh, {2, 3}, {{}, {}}), mesh, {1, 2});
  EXPECT_EQ(shard.runs(), 1);
  EXPECT_THAT(positionsOf(shard), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ShardTest, RowsAreOneRun) {
  Shard shard(testTensor(mesh, {4, 3}, {{0}, {}}), mesh, {1, 0});
  EXPECT_EQ(shard.runs(), 1);
  EXPECT_THAT(positionsOf(shard), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(ShardTest, ColumnsAreARunEach) {
  Shard shard(testTensor(mesh, {2, 6}, {{}, {1}}), mesh, {0, 2});
  EXPECT_EQ(shard.runs(), 2);
  EXPECT_THAT(positionsOf(shard), ElementsAre(4, 5, 10, 11));
}

TEST(ShardTest, TheFirstAxisOfAnIndexIsMajor) {
  auto first = [&](std::vector<int64_t> axes) {
    Shard shard(testTensor(mesh, {6}, {axes}), mesh, {1, 2});
    return positionsOf(shard).at(0);
  };
  EXPECT_EQ(first({0, 1}), 1 * 3 + 2);
  EXPECT_EQ(first({1, 0}), 2 * 2 + 1);
}

/// A tensor of which micro-batches cut dimension `dim` into `parts` parts.
static PlanBuffer cutTensor(std::vector<int64_t> shape,
                            std::vector<std::vector<int64_t>> axes, int64_t dim,
                            int64_t parts) {
  PlanBuffer tensor = testTensor(mesh, std::move(shape), std::move(axes));
  tensor.cutDim = dim;
  tensor.parts = parts;
  return tensor;
}

TEST(ShardTest, PartsOfRowsFollowEachOther) {
  Shard shard(cutTensor({8, 3}, {{0}, {}}, 0, 2), mesh, {1, 0});
  EXPECT_EQ(shard.runs(), 1);
  EXPECT_THAT(positionsOf(shard),
              ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23));
}

/// A rank has columns 6 to 11 of 12; a micro-batch's part has two of them, of
/// every row.
TEST(ShardTest, PartsOfColumnsAreWholeBlocks) {
  Shard shard(cutTensor({2, 12}, {{}, {0}}, 1, 3), mesh, {1, 0});
  EXPECT_THAT(positionsOf(shard),
              ElementsAre(6, 7, 18, 19, 8, 9, 20, 21, 10, 11, 22, 23));
}

/// A rank has the elements of its shard, each once, in another order.
TEST(ShardTest, PartsHaveTheShardsElements) {
  for (int64_t parts : {1, 2, 3, 6})
    for (int64_t a : {0, 1})
      for (int64_t b : {0, 1, 2}) {
        PlanBuffer whole = testTensor(mesh, {4, 36, 5}, {{0}, {1}, {}});
        PlanBuffer cut = cutTensor({4, 36, 5}, {{0}, {1}, {}}, 1, parts);
        Positions expected = positionsOf(Shard(whole, mesh, {a, b}));
        EXPECT_THAT(positionsOf(Shard(cut, mesh, {a, b})),
                    testing::UnorderedElementsAreArray(expected));
      }
}

/// Returns a tensor of 5 rows, padded to 6, and 5 columns, padded to 9.
static PlanBuffer paddedTensor() {
  PlanBuffer tensor = testTensor(mesh, {6, 9}, {{0}, {1}});
  tensor.shape = {5, 5};
  tensor.padding = {1, 4};
  return tensor;
}

TEST(ShardTest, PaddingIsNotVisited) {
  // The rank holds 3 x 3 elements, of which rows 3 and 4 and columns 3 and 4
  // are not padding.
  std::vector<std::pair<int64_t, int64_t>> places;
  Shard shard(paddedTensor(), mesh, {1, 1});
  EXPECT_EQ(shard.elements(), 4);
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      places.emplace_back(global + i, local + i);
  });
  using Place = std::pair<int64_t, int64_t>;
  EXPECT_THAT(places, ElementsAre(Place(18, 0), Place(19, 1), Place(23, 3),
                                  Place(24, 4)));
}

TEST(ShardTest, ARankMayHoldPaddingAlone) {
  Shard shard(paddedTensor(), mesh, {0, 2});
  EXPECT_EQ(shard.elements(), 0);
  EXPECT_EQ(shard.runs(), 0);
}

TEST(ShardTest, RanksCoverAPaddedTensorOnce) {
  std::vector<int> seen(25, 0);
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b)
      Shard(paddedTensor(), mesh, {a, b})
          .forEachRun([&](int64_t global, int64_t, int64_t n) {
            for (int64_t i = 0; i < n; ++i)
              ++seen.at(global + i);
          });
  EXPECT_THAT(seen, Each(1));
}

//===----------------------------------------------------------------------===//
// Tensors that axes do not divide
//===----------------------------------------------------------------------===//

/// The positions of every rank of an axis, one after another.
static Positions piecesOf(const PlanBuffer &tensor,
                          const std::vector<MeshAxis> &axes) {
  Positions all;
  for (int64_t rank = 0; rank < axes.front().size; ++rank) {
    Positions own = positionsOf(Shard(tensor, axes, {rank}));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

TEST(ShardTest, UnevenAxesCutARowOfElements) {
  std::vector<MeshAxis> four = {{"dp", 4}};
  PlanBuffer tensor = testTensor(four, {5, 3}, {{0}, {}});
  EXPECT_EQ(Shard(tensor, four, {0}).elements(), 4);
  EXPECT_EQ(Shard(tensor, four, {3}).elements(), 3);
  EXPECT_THAT(positionsOf(Shard(tensor, four, {1})), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(positionsOf(Shard(tensor, four, {3})), ElementsAre(12, 13, 14));
  Positions all = piecesOf(tensor, four);
  for (int64_t i = 0; i < 15; ++i)
    EXPECT_EQ(all[i], i);
}

TEST(ShardTest, MoreRanksThanElementsLeaveRanksEmpty) {
  std::vector<MeshAxis> seven = {{"dp", 7}};
  PlanBuffer tensor = testTensor(seven, {3}, {{0}});
  EXPECT_EQ(Shard(tensor, seven, {2}).elements(), 1);
  EXPECT_EQ(Shard(tensor, seven, {3}).elements(), 0);
  EXPECT_EQ(Shard(tensor, seven, {6}).runs(), 0);
  EXPECT_THAT(piecesOf(tensor, seven), ElementsAre(0, 1, 2));
}

TEST(ShardTest, EvenAxesDivideBeforeARowIsCut) {
  // Columns are divided by a, and what is left of [5, 2] among b.
  PlanBuffer tensor = testTensor(mesh, {5, 4}, {{1}, {0}});
  EXPECT_THAT(positionsOf(Shard(tensor, mesh, {1, 0})),
              ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(positionsOf(Shard(tensor, mesh, {1, 1})),
              ElementsAre(10, 11, 14, 15));
  EXPECT_THAT(positionsOf(Shard(tensor, mesh, {1, 2})), ElementsAre(18, 19));
}

TEST(ShardTest, PiecesMayBeginWithinARun) {
  std::vector<MeshAxis> axes = {{"tp", 2}, {"dp", 4}};
  PlanBuffer tensor = testTensor(axes, {3, 6}, {{1}, {0}});
  // The block of tp = 0 is rows of 3: 0 1 2, 6 7 8, 12 13 14, in pieces of 3.
  EXPECT_THAT(positionsOf(Shard(tensor, axes, {0, 1})), ElementsAre(6, 7, 8));
  PlanBuffer odd = testTensor(axes, {3, 10}, {{1}, {0}});
  // Rows of 5, in pieces of 4.
  EXPECT_THAT(positionsOf(Shard(odd, axes, {1, 1})),
              ElementsAre(9, 15, 16, 17));
  EXPECT_THAT(positionsOf(Shard(odd, axes, {1, 3})), ElementsAre(27, 28, 29));
}

TEST(ShardTest, ThreadsShareTheRunsOfAPiece) {
  std::vector<MeshAxis> axes = {{"tp", 2}, {"dp", 4}};
  Shard shard(testTensor(axes, {30, 10}, {{1}, {0}}), axes, {1, 2});
  int64_t visited = 0;
  for (int64_t run = 0; run < shard.runs(); ++run)
    shard.forRuns(run, run + 1, [&](int64_t, int64_t local, int64_t n) {
      EXPECT_EQ(local, visited);
      visited += n;
    });
  EXPECT_EQ(visited, shard.elements());
  EXPECT_EQ(visited, 38);
}

TEST(ShardTest, AScalarIsOneElement) {
  Shard shard(testTensor(mesh, {}, {}), mesh, {1, 1});
  EXPECT_THAT(positionsOf(shard), ElementsAre(0));
}

TEST(ShardTest, AnEmptyTensorHasNoRuns) {
  Shard shard(testTensor(mesh, {4, 0}, {{0}, {}}), mesh, {1, 1});
  EXPECT_EQ(shard.elements(), 0);
  EXPECT_EQ(shard.runs(), 0);
}

TEST(ShardTest, RanksCoverTheTensorOncePerReplica) {
  struct {
    std::vector<int64_t> shape;
    std::vector<std::vector<int64_t>> axes;
    int replicas;
  } cases[] = {{{12}, {{0, 1}}, 1},
               {{12}, {{1, 0}}, 1},
               {{4, 3, 6}, {{0}, {}, {1}}, 1},
               {{4, 3, 6}, {{}, {1}, {0}}, 1},
               {{4, 3, 6}, {{}, {1}, {}}, 2},
               {{4, 3, 6}, {{}, {}, {0}}, 3},
               {{1, 6, 1}, {{}, {1, 0}, {}}, 1}};
  for (const auto &each : cases) {
    PlanBuffer tensor = testTensor(mesh, each.shape, each.axes);
    int64_t elements = 1;
    for (int64_t extent : each.shape)
      elements *= extent;
    std::vector<int> visits(elements, 0);
    for (const auto &coordinates : allCoordinates(mesh))
      for (int64_t position : positionsOf(Shard(tensor, mesh, coordinates)))
        ++visits.at(position);
    EXPECT_THAT(visits, Each(each.replicas));
  }
}
