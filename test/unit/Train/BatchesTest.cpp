#include "tpsp/Runtime/Train/Batches.h"

#include "TestFiles.h"
#include "TestTensor.h"

#include <gmock/gmock.h>

#include <numeric>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;
using testing::ElementsAre;
using testing::HasSubstr;
using Order = Batches::Order;

namespace {

class BatchesTest : public TestFiles {
protected:
  BatchesTest() { plan.mesh = {{"dp", 2}, {"cp", 2}}; }

  void add(DataRole role, std::vector<int64_t> shape,
           std::vector<std::vector<int64_t>> axes = {}) {
    axes.resize(shape.size());
    PlanBuffer tensor =
        testTensor(plan.mesh, std::move(shape), std::move(axes));
    tensor.name = nameOf(role);
    tensor.dtype = TPSP_RT_I32;
    tensor.data = role;
    plan.buffers.push_back(tensor);
  }

  /// Makes batches of tokens 0, 1, 2, ...
  Status make(int64_t count, Order order = Order::AsStored, uint64_t seed = 0) {
    std::string bytes;
    for (int64_t i = 0; i < count; ++i)
      bytes += {char(i & 0xff), char(i >> 8)};
    DataFiles files;
    Status status = DataFiles::open({write("t.bin", bytes)}, "u16", files);
    EXPECT_TRUE(status.ok()) << status.message();
    return Batches::create(std::move(files), plan, order, seed, batches);
  }

  /// Returns a whole argument, joined from all ranks' parts.
  std::vector<int32_t> whole(size_t number, int64_t first) {
    const PlanBuffer &tensor = plan.buffers[number];
    int64_t elements = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                       int64_t(1), std::multiplies<>());
    std::vector<int32_t> all(elements, -1), part(elements);
    for (const auto &coordinates : allCoordinates(plan.mesh)) {
      Shard shard(tensor, plan.mesh, coordinates);
      EXPECT_TRUE(batches.fill(tensor, shard, first, part.data()).ok());
      shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
        std::copy_n(part.begin() + local, n, all.begin() + global);
      });
    }
    return all;
  }

  Plan plan;
  Batches batches;
};

} // namespace

TEST_F(BatchesTest, WindowsFollowEachOther) {
  add(DataRole::Tokens, {2, 3});
  add(DataRole::NextTokens, {2, 3});
  add(DataRole::Positions, {3});
  ASSERT_TRUE(make(20).ok());
  EXPECT_EQ(batches.samplesPerEpoch(), 6);
  EXPECT_EQ(batches.tokensPerBatch(), 6);
  EXPECT_THAT(whole(0, 0), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(whole(1, 0), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(whole(2, 0), ElementsAre(0, 1, 2));
  // The last sample, and the first of the next epoch.
  EXPECT_THAT(whole(0, 5), ElementsAre(15, 16, 17, 0, 1, 2));
}

TEST_F(BatchesTest, TheMeshChangesNothing) {
  for (const auto &axes :
       std::vector<std::vector<std::vector<int64_t>>>{{{}, {}, {}},
                                                      {{0}, {}, {}},
                                                      {{}, {}, {1}},
                                                      {{}, {0}, {1}},
                                                      {{0, 1}, {}, {}}}) {
    plan.buffers.clear();
    add(DataRole::Tokens, {4, 2, 6}, axes);
    add(DataRole::Positions, {4, 2, 6}, axes);
    ASSERT_TRUE(make(500, Order::Shuffled, 9).ok());
    static const std::vector<int32_t> tokens = whole(0, 77);
    EXPECT_EQ(whole(0, 77), tokens);
    EXPECT_EQ(whole(1, 0)[7], 1);
  }
}

TEST_F(BatchesTest, AnEpochHasEverySampleOnce) {
  add(DataRole::Tokens, {1, 7});
  ASSERT_TRUE(make(300, Order::Shuffled, 4).ok());
  for (int64_t epoch : {0, 1}) {
    std::vector<int> seen(batches.samplesPerEpoch());
    for (size_t i = 0; i < seen.size(); ++i)
      ++seen[whole(0, epoch * seen.size() + i)[0] / 7];
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
  }
}

TEST_F(BatchesTest, APositionThatHasNoRowIsRefused) {
  add(DataRole::Tokens, {2, 5});
  add(DataRole::Positions, {5});
  plan.buffers[1].below = 5;
  EXPECT_TRUE(make(20).ok());
  plan.buffers[1].below = 4;
  EXPECT_THAT(make(20).message(), HasSubstr("a sample has 5 positions, and"));
  EXPECT_THAT(make(20).message(), HasSubstr("takes those below 4"));
}

TEST_F(BatchesTest, ATokenThatHasNoRoomIsRefused) {
  add(DataRole::Tokens, {1, 4});
  plan.buffers[0].below = 6;
  ASSERT_TRUE(make(9).ok());
  const PlanBuffer &tensor = plan.buffers[0];
  std::vector<int32_t> part(4);
  Shard shard(tensor, plan.mesh, {0, 0});
  EXPECT_TRUE(batches.fill(tensor, shard, 0, part.data()).ok());
  EXPECT_THAT(batches.fill(tensor, shard, 1, part.data()).message(),
              HasSubstr("takes tokens below 6"));
}

TEST_F(BatchesTest, WhatIsNoBatchIsRefused) {
  EXPECT_THAT(make(9).message(),
              HasSubstr("no argument of the program is data"));
  add(DataRole::Tokens, {2, 3});
  EXPECT_THAT(make(3).message(),
              HasSubstr("the data has 3 tokens, and one sample takes 4"));
  EXPECT_TRUE(make(4).ok());
  add(DataRole::NextTokens, {3, 3});
  EXPECT_THAT(make(50).message(), HasSubstr("data of different batches"));
  plan.buffers.pop_back();
  add(DataRole::Positions, {4});
  EXPECT_THAT(make(50).message(), HasSubstr("data of different batches"));
}
