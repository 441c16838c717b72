/// Kernels, events, and the order of commands.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include <gmock/gmock.h>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::HasSubstr;

namespace {

/// y[i] = 2 x[i] + positions[0] + positions[1] / 1000, one element for each
/// item.
void affine(void *const *buffers, const int64_t *positions, int64_t begin,
            int64_t end) {
  auto *x = static_cast<const double *>(buffers[0]);
  auto *y = static_cast<double *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i] + positions[0] + positions[1] / 1000.0;
}

/// Counts how often each item is done.
void count(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *counts = static_cast<int64_t *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

/// y = 2 x, on a GPU through a block's shared memory. The kernel has 2 KiB, and
/// its launch requests just less than 48 KiB.
void doubleInRows(void *const *buffers, const int64_t *, int64_t begin,
                  int64_t end) {
  auto *x = static_cast<const double *>(buffers[0]);
  auto *y = static_cast<double *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i];
}

const bool haveTwins =
    addDeviceTwin(affine, "test_affine") &&
    addDeviceTwin(count, "test_count") &&
    addDeviceTwin(doubleInRows, "test_double_in_rows", 47 << 10);

class KernelTest : public ConformanceTest {
  const char *testedCall() const override { return "kernel"; }
};

TEST_P(KernelTest, KnowsItsBuffersAndPositions) {
  for (const Mesh &mesh : testMeshes())
    for (const auto &axes : axisLists(mesh)) {
      SCOPED_TRACE(describe(mesh, axes));
      KernelCommand c;
      c.grid = 37;
      c.positions = {{64, axes, 2, 7}, {5, {}, 0, 3}};
      Plan plan;
      plan.add(tpsp_rt_kernel, c.encode(), {512, 64}, "%y", affine);
      auto world = makeWorld(config(mesh, 1024));
      ASSERT_NE(world, nullptr);
      std::vector<double> x = randomValues(TPSP_RT_F64, 37, random);
      Status status = world->run([&](Rank &rank) -> Status {
        if (Status s = poison(rank, 1024); !s.ok())
          return s;
        if (Status s = rank.write(512, x.data(), 37 * 8); !s.ok())
          return s;
        if (Status s = plan.step(rank); !s.ok())
          return s;
        double y[37];
        if (Status s = rank.read(64, y, sizeof y); !s.ok())
          return s;
        auto group = groupOf(mesh, rank.number(), axes);
        auto self = std::find(group.begin(), group.end(), rank.number());
        // The shard is two places further around the ring; its element is the
        // seventh.
        int64_t shard = (self - group.begin() + 2) % int64_t(group.size());
        for (int i = 0; i < 37; ++i)
          EXPECT_EQ(y[i], 2 * x[i] + (64.0 * shard + 7) + 3 / 1000.0) << i;
        return {};
      });
      ASSERT_TRUE(status.ok()) << status.message();
    }
}

TEST_P(KernelTest, DoesEveryItemOnce) {
  for (int64_t grid : {0, 1, 2, 3, 7, 100}) {
    KernelCommand c;
    c.grid = grid;
    Plan plan;
    plan.add(tpsp_rt_kernel, c.encode(), {0}, "%n", count);
    auto world = makeWorld(config({}, 1024));
    ASSERT_NE(world, nullptr);
    std::vector<int64_t> counts(128, 0);
    Status status = world->run([&](Rank &rank) -> Status {
      if (Status s = rank.write(0, counts.data(), 1024); !s.ok())
        return s;
      for (int step = 0; step < 3; ++step)
        if (Status s = plan.step(rank); !s.ok())
          return s;
      return rank.read(0, counts.data(), 1024);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < 128; ++i)
      EXPECT_EQ(counts[i], i < grid ? 3 : 0) << "item " << i << " of " << grid;
  }
}

TEST_P(KernelTest, MemoryOfABlockBesideThatOfTheLaunch) {
  KernelCommand c;
  c.grid = 37;
  Plan plan;
  plan.add(tpsp_rt_kernel, c.encode(), {512, 0}, "%y", doubleInRows);
  auto world = makeWorld(config({}, 1024));
  ASSERT_NE(world, nullptr);
  std::vector<double> x = randomValues(TPSP_RT_F64, 37, random), y(37);
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = rank.write(512, x.data(), 37 * 8); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return rank.read(0, y.data(), 37 * 8);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], 2 * x[i]) << i;
}

class EventTest : public ConformanceTest {
  const char *testedCall() const override { return "event_wait"; }

protected:
  Params event(int64_t number) {
    EventCommand c;
    c.event = number;
    return c.encode();
  }

  Status runSteps(const std::vector<const Plan *> &steps) {
    auto world = makeWorld(config({{"x", 2}}, 64));
    return world->run([&](Rank &rank) -> Status {
      for (const Plan *step : steps)
        if (Status s = step->step(rank); !s.ok())
          return s;
      return {};
    });
  }
};

TEST_P(EventTest, RecordThenWaitEveryStep) {
  Plan plan;
  plan.add(tpsp_rt_event_record, event(3), {});
  plan.add(tpsp_rt_event_wait, event(3), {});
  plan.add(tpsp_rt_event_wait, event(3), {});
  Status status = runSteps({&plan, &plan});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(EventTest, WaitingForNothingIsInvalid) {
  Plan plan;
  plan.add(tpsp_rt_event_record, event(1), {});
  plan.add(tpsp_rt_event_wait, event(2), {}, "%late");
  Status status = runSteps({&plan});
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(), HasSubstr("%late: waits for event 2"));
}

TEST_P(EventTest, LastStepsRecordDoesNotCount) {
  Plan records, waits;
  records.add(tpsp_rt_event_record, event(0), {});
  waits.add(tpsp_rt_event_wait, event(0), {});
  EXPECT_EQ(runSteps({&records, &waits}).code(), TPSP_RT_INVALID);
}

TEST_P(EventTest, UnknownEventIsInvalid) {
  Plan plan;
  plan.add(tpsp_rt_event_record, event(4), {});
  EXPECT_THAT(runSteps({&plan}).message(),
              HasSubstr("event 4 of a world with 4"));
}

std::string nameOf(const testing::TestParamInfo<BackendCase> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Backends, KernelTest,
                         testing::ValuesIn(conformingBackends()), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, EventTest,
                         testing::ValuesIn(conformingBackends()), nameOf);

} // namespace
