/// Streams run concurrently and keep the order of their events; a failure on
/// one ends the run.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr int64_t arenaBytes = 4096;

Params gather(int64_t chunk = 4) {
  ShardCommand c;
  c.axes = {0};
  c.chunk = chunk;
  return c.encode();
}

Params event(int64_t number) {
  EventCommand c;
  c.event = number;
  return c.encode();
}

/// Shared by the running test and the kernels below, which have no arguments of
/// their own.
std::atomic<bool> signalled{false};

void signalTest(void *const *, const int64_t *, int64_t, int64_t) {
  signalled = true;
}

/// Bounded, in case the signal never comes.
bool waitForSignal() {
  for (int i = 0; i < 10000 && !signalled; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return signalled;
}

void waitForTest(void *const *, const int64_t *, int64_t, int64_t) {
  waitForSignal();
}

void sleepLong(void *const *, const int64_t *, int64_t, int64_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

/// Writes 7 after a delay.
void writeLate(void *const *buffers, const int64_t *, int64_t, int64_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  *static_cast<int64_t *>(buffers[0]) = 7;
}

/// second = first + 1
void addOne(void *const *buffers, const int64_t *, int64_t, int64_t) {
  *static_cast<int64_t *>(buffers[1]) = *static_cast<int64_t *>(buffers[0]) + 1;
}

/// first = 3 first + 1. The value after a thousand of them depends on their
/// order.
void chain(void *const *buffers, const int64_t *, int64_t, int64_t) {
  auto *value = static_cast<uint64_t *>(buffers[0]);
  *value = 3 * *value + 1;
}

const bool haveTwins = addSpeakingTwin(signalTest, "test_signal") &&
                       addSpeakingTwin(waitForTest, "test_wait") &&
                       addDeviceTwin(sleepLong, "test_sleep_long") &&
                       addDeviceTwin(writeLate, "test_write_late") &&
                       addDeviceTwin(addOne, "test_add_one") &&
                       addDeviceTwin(chain, "test_chain");

class StreamTest : public ConformanceTest {
  const char *testedCall() const override { return "streams"; }

protected:
  StreamTest() { signalled = false; }

  WorldConfig settings(const Mesh &mesh, double timeout = 30) const {
    WorldConfig result = config(mesh, arenaBytes);
    result.numStreams = 3;
    result.timeoutSeconds = timeout;
    return result;
  }

  Status runOnAll(const Plan &plan, const WorldConfig &settings) {
    auto world = makeWorld(settings);
    return world->run([&](Rank &rank) { return plan.step(rank); });
  }

  static const Params kernel;
};

const Params StreamTest::kernel = KernelCommand().encode();

/// Rank 1 reaches the collective only after rank 0 has run a kernel that rank 0
/// issued after the collective.
TEST_P(StreamTest, ACollectiveWaitsBesideTheComputation) {
  if (skips("orders of issue that differ") ||
      skips("kernels that speak to the test"))
    return;
  Plan first, second;
  first.on(1).add(tpsp_rt_all_gather, gather(), {0, 256}, "%gathered");
  first.on(0).add(tpsp_rt_kernel, kernel, {}, "%signal", signalTest);
  second.on(1).add(tpsp_rt_all_gather, gather(), {0, 256}, "%gathered");
  auto world = makeWorld(settings({{"x", 2}}));
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 0)
      return first.step(rank);
    EXPECT_TRUE(waitForSignal());
    return second.step(rank);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Two streams communicate over one group, first one on rank 0 and first the
/// other on rank 1.
TEST_P(StreamTest, CollectivesOfDifferentStreamsDoNotWaitForEachOther) {
  if (skips("orders of issue that differ"))
    return;
  Plan plans[2];
  for (int64_t rank : {0, 1})
    for (int64_t turn : {0, 1}) {
      int64_t stream = 1 + (rank + turn) % 2;
      plans[rank].on(stream).add(tpsp_rt_all_gather, gather(4 * stream),
                                 {512 * stream, 1024 + 1024 * stream});
    }
  auto world = makeWorld(settings({{"x", 2}}));
  Status status =
      world->run([&](Rank &rank) { return plans[rank.number()].step(rank); });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(StreamTest, EventsOrderStreamsInBothDirections) {
  for (auto [from, to] : {std::pair(1, 0), {0, 1}, {1, 2}, {2, 1}}) {
    Plan plan;
    plan.on(from).add(tpsp_rt_kernel, kernel, {0}, "%late", writeLate);
    plan.add(tpsp_rt_event_record, event(3), {});
    plan.on(to).add(tpsp_rt_event_wait, event(3), {});
    plan.add(tpsp_rt_kernel, kernel, {0, 8}, "%next", addOne);
    auto world = makeWorld(settings({}));
    Status status = world->run([&, from = from, to = to](Rank &rank) -> Status {
      // The second step must not accept the event that the first step recorded.
      for (int step = 0; step < 2; ++step) {
        int64_t values[2] = {0, 0};
        if (Status s = rank.write(0, values, sizeof values); !s.ok())
          return s;
        if (Status s = plan.step(rank); !s.ok())
          return s;
        if (Status s = rank.read(0, values, sizeof values); !s.ok())
          return s;
        EXPECT_EQ(values[1], 8) << from << " to " << to << ", step " << step;
      }
      return {};
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_P(StreamTest, AStreamKeepsItsOrderHoweverFarItIsBehind) {
  Plan plan;
  plan.on(1).add(tpsp_rt_kernel, kernel, {}, "%late", sleepLong);
  uint64_t value = 1, want = 1;
  for (int i = 0; i < 1000; ++i, want = 3 * want + 1)
    plan.add(tpsp_rt_kernel, kernel, {0}, "%chain", chain);
  auto world = makeWorld(settings({}));
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = rank.write(0, &value, sizeof value); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return rank.read(0, &value, sizeof value);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(value, want);
}

/// No event orders a step's streams against the next step's.
TEST_P(StreamTest, AStepBeginsWhenTheLastHasEnded) {
  Plan plan;
  plan.on(0).add(tpsp_rt_kernel, kernel, {0, 8}, "%read", addOne);
  plan.on(1).add(tpsp_rt_kernel, kernel, {16}, "%late", writeLate);
  Plan reader;
  reader.add(tpsp_rt_kernel, kernel, {16, 24}, "%read", addOne);
  int64_t got = 0;
  auto world = makeWorld(settings({}));
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = plan.step(rank); !s.ok())
      return s;
    if (Status s = reader.step(rank); !s.ok())
      return s;
    return rank.read(24, &got, sizeof got);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(got, 8);
}

TEST_P(StreamTest, WaitingForWhatIsNotRecordedIsRefused) {
  Plan never, later;
  never.on(1).add(tpsp_rt_event_wait, event(1), {}, "%wait");
  later.on(1).add(tpsp_rt_event_wait, event(1), {}, "%wait");
  later.on(0).add(tpsp_rt_event_record, event(1), {}, "%record");
  for (const Plan *plan : {&never, &later}) {
    Status status = runOnAll(*plan, settings({}));
    EXPECT_EQ(status.code(), TPSP_RT_INVALID);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("%wait"), HasSubstr("waits for event 1"),
                      HasSubstr("nothing has recorded")));
  }
}

TEST_P(StreamTest, StreamsAndEventsHaveNumbersOfTheWorld) {
  Plan stream, record, wait;
  stream.on(3).add(tpsp_rt_kernel, kernel, {}, "%bad", signalTest);
  record.on(1).add(tpsp_rt_event_record, event(4), {}, "%bad");
  wait.on(1).add(tpsp_rt_event_wait, event(4), {}, "%bad");
  Status status = runOnAll(stream, settings({}));
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              HasSubstr("%bad: stream 3 of a world with 3 of them"));
  EXPECT_FALSE(signalled);
  for (const Plan *plan : {&record, &wait}) {
    status = runOnAll(*plan, settings({}));
    EXPECT_EQ(status.code(), TPSP_RT_INVALID);
    EXPECT_THAT(status.message(),
                HasSubstr("%bad: event 4 of a world with 4 of them"));
  }
}

/// Rank 0 waits on both streams for collectives that cannot happen.
TEST_P(StreamTest, AFailureOnAStreamEndsTheRun) {
  Plan small, large;
  for (auto [plan, chunk] : {std::pair(&small, 4), {&large, 8}}) {
    plan->on(1).add(tpsp_rt_all_gather, gather(chunk), {0, 256}, "%x");
    plan->add(tpsp_rt_event_record, event(0), {}, "%record");
    plan->on(2).add(tpsp_rt_event_wait, event(0), {}, "%wait 2");
    plan->on(0).add(tpsp_rt_event_wait, event(0), {}, "%wait 0");
    plan->add(tpsp_rt_kernel, kernel, {}, "%never", signalTest);
  }
  // Only the failure ends the waits.
  auto world = makeWorld(settings({{"x", 2}}, /*timeout=*/1e6));
  Status status = world->run([&](Rank &rank) {
    return (rank.number() == 0 ? small : large).step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("%x: rank"), HasSubstr("calls all_gather")));
  EXPECT_FALSE(signalled);
}

TEST_P(StreamTest, AFailureOfTheRankEndsItsStreams) {
  Plan plan;
  plan.on(1).add(tpsp_rt_all_gather, gather(), {0, 256}, "%x");
  plan.add(tpsp_rt_kernel, kernel, {}, "%never", signalTest);
  auto world = makeWorld(settings({{"x", 2}}));
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 1)
      return {TPSP_RT_INTERNAL, "the root cause"};
    return plan.step(rank);
  });
  EXPECT_EQ(status.message(), "rank 1: the root cause");
  EXPECT_FALSE(signalled);
}

TEST_P(StreamTest, ATimeoutOnAStreamNamesTheMissingRank) {
  Plan all, before;
  before.on(0).add(tpsp_rt_kernel, kernel, {}, "%before", signalTest);
  all.on(1).add(tpsp_rt_all_gather, gather(), {0, 256}, "%gathered");
  auto world = makeWorld(settings({{"x", 2}}, 0.2));
  Status status = world->run([&](Rank &rank) {
    return (rank.number() == 1 ? before : all).step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(status.message(),
              HasSubstr("rank 0: %gathered: waited 0.2 s for rank 1 "
                        "(last issued kernel \"%before\")"));
}

/// A rank that has issued the collective may still be running earlier commands.
TEST_P(StreamTest, ATimeoutSaysWhatTheMissingStreamIsAt) {
  if (skips("streams while commands are new") ||
      skips("kernels that speak to the test"))
    return;
  Plan plan;
  plan.on(1).add(tpsp_rt_kernel, kernel, {}, "%stuck", waitForTest);
  plan.add(tpsp_rt_all_gather, gather(), {0, 256}, "%gathered");
  plan.on(0).add(tpsp_rt_slice, gather(), {512, 1024}, "%last");
  Plan direct;
  direct.on(1).add(tpsp_rt_all_gather, gather(), {0, 256}, "%gathered");
  auto world = makeWorld(settings({{"x", 2}}, 0.2));
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 1)
      return plan.step(rank);
    Status s = direct.step(rank);
    // The read returns when the stream has failed.
    float unused;
    if (s.ok())
      s = rank.read(0, &unused, sizeof unused);
    signalled = true;
    return s;
  });
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(status.message(),
              HasSubstr("for rank 1 (last issued slice \"%last\"; stream 1 is "
                        "at kernel \"%stuck\")"));
}

INSTANTIATE_TEST_SUITE_P(Backends, StreamTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
