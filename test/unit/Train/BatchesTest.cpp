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
    std::vector<int> tokens(static_cast<size_t>(count));
    std::iota(tokens.begin(), tokens.end(), 0);
    return make(tokens, std::nullopt, order, seed);
  }

  Status make(const std::vector<int> &tokens, std::optional<int64_t> separator,
              Order order = Order::AsStored, uint64_t seed = 0) {
    std::string bytes;
    for (int token : tokens)
      bytes += {char(token & 0xff), char(token >> 8)};
    DataFiles files;
    Status status = DataFiles::open({write("t.bin", bytes)}, "u16", files);
    EXPECT_TRUE(status.ok()) << status.message();
    files.separator = separator;
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

// A separator belongs to the document that it ends, and has no target. A row
// begins a document, wherever the one before ended.
TEST_F(BatchesTest, SeparatorsEndDocuments) {
  const std::vector<int> tokens = {9, 4, 7, 9, 9, 1, 2, 3, 9, 5, 6, 8, 9};
  for (const auto &axes : std::vector<std::vector<std::vector<int64_t>>>{
           {{}, {}}, {{}, {1}}, {{}, {0, 1}}}) {
    plan.buffers.clear();
    for (DataRole role : {DataRole::Tokens, DataRole::NextTokens,
                          DataRole::Documents, DataRole::DocumentPositions})
      add(role, {3, 4}, axes);
    ASSERT_TRUE(make(tokens, 9).ok());
    EXPECT_THAT(whole(0, 0), ElementsAre(9, 4, 7, 9, 9, 1, 2, 3, 9, 5, 6, 8));
    EXPECT_THAT(whole(1, 0),
                ElementsAre(-100, 7, 9, -100, -100, 2, 3, 9, -100, 6, 8, 9));
    EXPECT_THAT(whole(2, 0), ElementsAre(0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1));
    EXPECT_THAT(whole(3, 0), ElementsAre(0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2));
  }
  // More documents than the argument takes.
  plan.buffers[2].below = 1;
  std::vector<int32_t> part(12);
  Shard shard(plan.buffers[2], plan.mesh, {1, 1});
  EXPECT_THAT(
      batches.fill(plan.buffers[2], shard, 0, part.data()).message(),
      HasSubstr("has more documents than 'documents' takes: numbers below 1"));
}

// Rows that are longer than the reader's array.
TEST_F(BatchesTest, LongRowsOfDocuments) {
  add(DataRole::Documents, {1, 1000}, {{}, {0, 1}});
  add(DataRole::DocumentPositions, {1, 1000}, {{}, {1}});
  add(DataRole::NextTokens, {1, 1000}, {{}, {0}});
  std::vector<int> tokens(1001);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = i % 7 == 3 || i % 256 == 0 ? 0 : int(i);
  ASSERT_TRUE(make(tokens, 0).ok());
  std::vector<int32_t> documents = whole(0, 0), positions = whole(1, 0),
                       next = whole(2, 0);
  int32_t document = 0, position = 0;
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(documents[i], document) << i;
    ASSERT_EQ(positions[i], position) << i;
    ASSERT_EQ(next[i], tokens[i] == 0 ? -100 : tokens[i + 1]) << i;
    document += tokens[i] == 0;
    position = tokens[i] == 0 ? 0 : position + 1;
  }
}

TEST_F(BatchesTest, DocumentsAndTheirSeparatorGoTogether) {
  add(DataRole::Tokens, {2, 4});
  EXPECT_THAT(make({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3).message(),
              HasSubstr("no argument of the program numbers them"));
  add(DataRole::Documents, {2, 4});
  EXPECT_THAT(make(9).message(), HasSubstr("say which token ends one"));
  plan.buffers.pop_back();
  add(DataRole::Documents, {3, 4});
  EXPECT_THAT(make({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3).message(),
              HasSubstr("data of different batches"));
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
