/// What a refusal for want of memory names.
#include "tpsp/Runtime/Driver/MemoryUse.h"

#include <gmock/gmock.h>

using namespace tpsp::rt;
using testing::ElementsAre;

namespace {

constexpr int64_t mib = 1 << 20;

/// Five commands and these buffers.
StepTrace traceOf(std::vector<TraceBuffer> buffers) {
  StepTrace trace;
  trace.commands.resize(5);
  trace.buffers = std::move(buffers);
  return trace;
}

TEST(MemoryUseTest, NamesTheThreeLargestOfTheFullestMoment) {
  StepTrace trace = traceOf({{3 * mib, true, {0}, "w", "m.mlir:2:5"},
                             {mib, false, {0, 2}, "a", "m.mlir:4:3"},
                             // The largest, but alone.
                             {6 * mib, false, {4}, "late", "m.mlir:9:3"},
                             {7 * mib, false, {2, 3}, "scores", "m.mlir:6:3"},
                             {2 * mib, false, {1, 2}, "", ""},
                             {9 * mib, false, {}, "unused", ""}});
  EXPECT_THAT(buffersAtPeak(trace), ElementsAre(3, 0, 4, 1));
  EXPECT_EQ(largestConsumers(trace),
            "scores 7.0 MiB (m.mlir:6:3), w 3.0 MiB (m.mlir:2:5), an unnamed "
            "value 2.0 MiB");
}

TEST(MemoryUseTest, ALifeLastsFromTheFirstToTheLastUser) {
  // In use at command 2 though no command there touches it.
  StepTrace trace = traceOf(
      {{mib, false, {0, 4}, "long", ""}, {2 * mib, false, {2}, "short", ""}});
  EXPECT_THAT(buffersAtPeak(trace), ElementsAre(1, 0));
}

TEST(MemoryUseTest, EqualOnesKeepTheirOrder) {
  StepTrace trace = traceOf({{mib, true, {}, "a", ""},
                             {mib, true, {}, "b", ""},
                             {mib, true, {}, "c", ""},
                             {mib, true, {}, "d", ""}});
  EXPECT_EQ(largestConsumers(trace), "a 1.0 MiB, b 1.0 MiB, c 1.0 MiB");
}

TEST(MemoryUseTest, NothingIsNothing) {
  EXPECT_EQ(largestConsumers(StepTrace()), "");
  // Arguments of a program without commands are there all the same.
  StepTrace empty;
  empty.buffers = {{mib, true, {}, "x", "m.mlir:1:1"}};
  EXPECT_EQ(largestConsumers(empty), "x 1.0 MiB (m.mlir:1:1)");
}

} // namespace
