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

void expectSame(const std::vector<StepAction> &order, size_t most) {
  StoredOrder stored = storedOrder(order);
  EXPECT_LE(stored.actions.size(), most);
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

TEST(StoredOrder, RefusesAPeriodOutsideTheActions) {
  std::vector<StepAction> order = {{9, 9}};
  const StoredOrder right{{{0, 0}, {1, 0}}, 0, 2, 3, 1};
  using Number = int64_t StoredOrder::*;
  for (auto [number, value] : std::vector<std::pair<Number, int64_t>>{
           {&StoredOrder::begin, -1},
           {&StoredOrder::begin, 1},
           {&StoredOrder::begin, 3},
           {&StoredOrder::length, -1},
           {&StoredOrder::length, 3},
           {&StoredOrder::times, -1},
           {&StoredOrder::times, INT64_MAX},
           {&StoredOrder::times, mostActions}}) {
    StoredOrder wrong = right;
    wrong.*number = value;
    EXPECT_FALSE(expandOrder(wrong, order)) << value;
    EXPECT_EQ(order, (std::vector<StepAction>{{9, 9}}));
  }
  EXPECT_TRUE(expandOrder(right, order));
  EXPECT_EQ(order.size(), 8u);
}
