/// Collectives between commands that overwrite what they read.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include <algorithm>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

/// Adds one to 8-byte elements, a thousand for each item.
void increment(void *const *buffers, const int64_t *, int64_t begin,
               int64_t end) {
  auto *values = static_cast<int64_t *>(buffers[0]);
  for (int64_t i = begin * 1000; i < end * 1000; ++i)
    ++values[i];
}

const bool haveTwins = addDeviceTwin(increment, "test_increment");

/// When a collective has returned, its source may be overwritten: no other rank
/// still reads it. Every element of a rank's source is 1000 * rank + the number
/// of increments so far, and each collective sits between two increments.
class SourceReuseTest : public ConformanceTest {
protected:
  static constexpr int64_t ranks = 4, chunk = 10000, count = ranks * chunk;
  static constexpr int64_t bytes = count * 8;

  SourceReuseTest() {
    KernelCommand kernel;
    kernel.grid = count / 1000;
    ShardCommand gather, scatter;
    gather.dtype = scatter.dtype = TPSP_RT_I64;
    gather.axes = scatter.axes = {0};
    gather.chunk = count;
    scatter.chunk = chunk;
    AllReduceCommand reduce;
    reduce.dtype = TPSP_RT_I64;
    reduce.axes = {0};
    reduce.counts = {count};
    AllToAllCommand exchange;
    exchange.dtype = TPSP_RT_I64;
    exchange.axes = {0};
    exchange.scatter = chunk;
    PermuteCommand permute;
    permute.dtype = TPSP_RT_I64;
    permute.axes = {0};
    permute.count = count;
    permute.source = {1, 2, 3, 0};
    auto add = [&](EntryPoint call, const Params &params, int64_t offset) {
      plan.add(call, params, {0, offset});
      plan.add(tpsp_rt_kernel, kernel.encode(), {0}, "%next", increment);
    };
    add(tpsp_rt_reduce_scatter, scatter.encode(), bytes);
    add(tpsp_rt_all_reduce, reduce.encode(), 2 * bytes);
    add(tpsp_rt_all_to_all, exchange.encode(), 3 * bytes);
    add(tpsp_rt_permute, permute.encode(), 4 * bytes);
    add(tpsp_rt_all_gather, gather.encode(), 5 * bytes);
  }

  static Status expectAll(Rank &rank, int64_t offset, int64_t elements,
                          int64_t value, const char *what) {
    std::vector<int64_t> got(elements);
    if (Status s = rank.read(offset, got.data(), elements * 8); !s.ok())
      return s;
    if (std::count(got.begin(), got.end(), value) == elements)
      return {};
    return {TPSP_RT_INTERNAL, std::string("wrong result of ") + what};
  }

  /// Runs step `step` and checks the five results.
  Status checkStep(Rank &rank, int64_t step) {
    if (Status s = plan.step(rank); !s.ok())
      return s;
    int64_t at = 5 * step, self = rank.number();
    constexpr int64_t sum = 1000 * (0 + 1 + 2 + 3);
    Status status = expectAll(rank, bytes, chunk, sum + ranks * at, "scatter");
    if (status.ok())
      status = expectAll(rank, 2 * bytes, count, sum + ranks * (at + 1), "sum");
    for (int64_t q = 0; q < ranks && status.ok(); ++q)
      status = expectAll(rank, 3 * bytes + q * chunk * 8, chunk,
                         1000 * q + at + 2, "all_to_all");
    if (status.ok())
      status = expectAll(rank, 4 * bytes, count,
                         1000 * ((self + 1) % ranks) + at + 3, "permute");
    for (int64_t q = 0; q < ranks && status.ok(); ++q)
      status = expectAll(rank, (5 + q) * bytes, count, 1000 * q + at + 4,
                         "all_gather");
    return status;
  }

  Plan plan;
};

TEST_P(SourceReuseTest, SourcesMayBeOverwrittenAtOnce) {
  auto world = makeWorld(config({{"x", ranks}}, (5 + ranks) * bytes));
  ASSERT_NE(world, nullptr);
  Status status = world->run([&](Rank &rank) -> Status {
    std::vector<int64_t> start(count, 1000 * rank.number());
    if (Status s = rank.write(0, start.data(), bytes); !s.ok())
      return s;
    for (int64_t step = 0; step < 20; ++step)
      if (Status s = checkStep(rank, step); !s.ok())
        return s;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Backends, SourceReuseTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
