// Orders of actions as plan files have them.
#include "Runtime/Driver/Plans/StoredOrder.h"

#include <gtest/gtest.h>

#include <random>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// Stage 0 of `stages` in 1F1B: forward 0, send 1, receive 2, backward 3. A
/// prologue and an update are around them.
std::vector<StepAction> oneForwardOneBackward(int64_t stages, int64_t parts) {
  std::vector<StepAction> order = {{4, 0}};
  auto forward = [&](int64_t part) {
    order.push_back({0, part});
    order.push_back({1, part});
  };
  auto backward = [&](int64_t part) {
    order.push_back({2, part});
    order.push_back({3, part});
  };
  for (int64_t part = 0; part < parts; ++part) {
    forward(part);
    if (part >= stages - 1)
      backward(part - stages + 1);
  }
  for (int64_t part = std::max<int64_t>(parts - stages + 1, 0); part < parts;
       ++part)
    backward(part);
  order.push_back({5, 0});
  return order;
}

/// Two chunks that take `turn` micro-batches each in turn.
std::vector<StepAction> interleaved(int64_t turn, int64_t parts) {
  std::vector<StepAction> order;
  for (int64_t begin = 0; begin < parts; begin += turn)
    for (int64_t chunk : {0, 1})
      for (int64_t part = begin; part < std::min(begin + turn, parts); ++part)
        order.push_back({chunk, part});
  return order;
}

/// All forward passes, then all backward passes.
std::vector<StepAction> forwardThenBackward(int64_t parts) {
  std::vector<StepAction> order = {{5, 0}};
  for (int64_t segment : {0, 2})
    for (int64_t part = 0; part < parts; ++part) {
      order.push_back({segment, part});
      order.push_back({segment + 1, part});
    }
  return order;
}

void expectSame(const std::vector<StepAction> &order, size_t most) {
  StoredOrder stored = storedOrder(order);
  size_t size = 0;
  for (const StoredActions &each : stored)
    size += each.actions.size();
  EXPECT_LE(size, most);
  std::vector<StepAction> back;
  ASSERT_TRUE(expandOrder(stored, back));
  EXPECT_EQ(back, order);
}

} // namespace

TEST(StoredOrder, DoesNotGrowWithTheMicroBatches) {
  for (int64_t stages : {1, 2, 3, 4, 7})
    for (int64_t parts : {1, 2, 5, 8, 512})
      expectSame(oneForwardOneBackward(stages, parts),
                 size_t(2 + 4 * stages + 4));
  for (int64_t parts : {1, 2, 5, 8, 512})
    expectSame(forwardThenBackward(parts), 9);
  for (int64_t turn : {1, 2, 3, 8})
    for (int64_t parts : {1, 7, 512})
      expectSame(interleaved(turn, parts), size_t(6 * turn));
}

TEST(StoredOrder, KeepsOrdersWithoutAPeriod) {
  std::mt19937 random(7);
  for (size_t size : {0, 1, 2, 3, 17, 200}) {
    std::vector<StepAction> order(size);
    for (StepAction &action : order)
      action = {int64_t(random() % 3), int64_t(random() % 5)};
    expectSame(order, size);
  }
}

TEST(StoredOrder, RefusesNumbersThatFitNothing) {
  const StoredActions right{{{0, 0}, {1, 0}}, 0, 2, 3, 1};
  std::vector<StepAction> order;
  auto isRefused = [&](int64_t StoredActions::*number, int64_t value) {
    StoredActions wrong = right;
    wrong.*number = value;
    return !expandOrder({right, wrong}, order);
  };
  EXPECT_TRUE(isRefused(&StoredActions::begin, -1));
  EXPECT_TRUE(isRefused(&StoredActions::begin, 1));
  EXPECT_TRUE(isRefused(&StoredActions::length, -1));
  EXPECT_TRUE(isRefused(&StoredActions::length, 3));
  EXPECT_TRUE(isRefused(&StoredActions::times, -1));
  EXPECT_TRUE(isRefused(&StoredActions::times, INT64_MAX));
  EXPECT_TRUE(isRefused(&StoredActions::times, mostActions));
  EXPECT_TRUE(isRefused(&StoredActions::shift, INT64_MAX));
  StoredActions late = right;
  late.actions[1].microBatch = INT64_MAX;
  EXPECT_FALSE(expandOrder({late}, order));
  EXPECT_TRUE(expandOrder({right, right}, order));
  EXPECT_EQ(order.size(), 16u);
}
