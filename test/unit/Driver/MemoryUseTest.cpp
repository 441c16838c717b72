/// The buffers that a refusal for lack of memory names.
#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Runtime/Driver/Report/StepText.h"

#include "TestTrace.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::ElementsAre;

namespace {

constexpr int64_t mib = 1 << 20;

/// Returns a plan of five commands.
Plan fiveCommands() {
  Plan plan;
  plan.commands.resize(5);
  return plan;
}

TEST(MemoryUseTest, NamesTheThreeLargestOfTheFullestMoment) {
  Plan plan = fiveCommands();
  addBuffer(plan, 3 * mib, true, {0}, "w", "m.mlir:2:5");
  addBuffer(plan, mib, false, {0, 2}, "a", "m.mlir:4:3");
  // "late" is large, but no other temporary is in use then.
  addBuffer(plan, 6 * mib, false, {4}, "late", "m.mlir:9:3");
  addBuffer(plan, 7 * mib, false, {2, 3}, "scores", "m.mlir:6:3");
  addBuffer(plan, 2 * mib, false, {1, 2});
  addBuffer(plan, 9 * mib, false, {}, "unused");
  EXPECT_THAT(memoryUse(plan).liveAtPeak, ElementsAre(3, 0, 4, 1));
  EXPECT_EQ(largestConsumers(plan),
            "scores 7.0 MiB (m.mlir:6:3), w 3.0 MiB (m.mlir:2:5), an unnamed "
            "value 2.0 MiB");
}

TEST(MemoryUseTest, ALifeLastsFromTheFirstToTheLastUser) {
  // "long" is in use at command 2 though that does not touch it.
  Plan plan = fiveCommands();
  addBuffer(plan, mib, false, {0, 4}, "long");
  addBuffer(plan, 2 * mib, false, {2}, "short");
  EXPECT_THAT(memoryUse(plan).liveAtPeak, ElementsAre(1, 0));
}

TEST(MemoryUseTest, EqualOnesKeepTheirOrder) {
  Plan plan = fiveCommands();
  for (const char *name : {"a", "b", "c", "d"})
    addBuffer(plan, mib, true, {}, name);
  EXPECT_EQ(largestConsumers(plan), "a 1.0 MiB, b 1.0 MiB, c 1.0 MiB");
}

TEST(MemoryUseTest, NothingIsNothing) {
  EXPECT_EQ(largestConsumers(Plan()), "");
  // A program without commands still has its arguments.
  Plan empty;
  addBuffer(empty, mib, true, {}, "x", "m.mlir:1:1");
  EXPECT_EQ(largestConsumers(empty), "x 1.0 MiB (m.mlir:1:1)");
}

} // namespace
