/// The CUDA backend with a rank in each process: which GPU each takes, and how
/// NCCL's id is sent. The processes are threads here, each with a world and a
/// transport of its own. The tests run on fakes of CUDA's libraries and are
/// skipped without them.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"
#include "PostTransport.h"

#include "tpsp/Abi/ElementType.h"

#include <gmock/gmock.h>

#include <thread>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::HasSubstr;

namespace {

class CudaProcessesTest : public testing::Test {
protected:
  void SetUp() override {
    if (!isOnDoubles())
      GTEST_SKIP() << "CUDA's libraries are not fakes";
  }

  /// Calls body(world, rank) in each "process" and returns the statuses by
  /// rank.
  template <typename Body>
  std::vector<Status> run(int64_t ranks, const Body &body) {
    Post post;
    post.ranks = ranks;
    std::vector<Status> results(static_cast<size_t>(ranks));
    std::vector<std::thread> processes;
    for (int64_t rank = 0; rank < ranks; ++rank)
      processes.emplace_back([&, rank] {
        PostTransport transport(post, rank);
        WorldConfig config;
        config.backend = "cuda";
        config.mesh = {{"x", ranks}};
        config.arenaBytes = 4096;
        config.timeoutSeconds = 2;
        config.transport = &transport;
        std::unique_ptr<World> world;
        Status &result = results[size_t(rank)];
        result = World::create(config, world);
        if (result.ok())
          result = body(*world, rank);
        if (!result.ok())
          transport.abort();
      });
    for (std::thread &process : processes)
      process.join();
    return results;
  }
};

Params reduceOf(int64_t count) {
  AllReduceCommand reduce;
  reduce.dtype = TPSP_RT_F64;
  reduce.axes = {0};
  reduce.counts = {count};
  return reduce.encode();
}

TEST_F(CudaProcessesTest, EachHasAGpuAndTheyAddUp) {
  ASSERT_STREQ(cudaProblem(3), "");
  Plan plan;
  plan.add(tpsp_rt_all_reduce, reduceOf(7), {0, 0}, "%sum");
  std::vector<Status> results =
      run(3, [&](World &world, int64_t number) -> Status {
        return world.run([&](Rank &rank) -> Status {
          std::vector<double> values(7);
          for (int step = 0; step < 3; ++step) {
            for (size_t i = 0; i < 7; ++i)
              values[i] = double(i) + 10.0 * double(number) + 100 * step;
            if (Status s = rank.write(0, values.data(), 56); !s.ok())
              return s;
            if (Status s = plan.stepOrReplay(rank); !s.ok())
              return s;
            if (Status s = rank.read(0, values.data(), 56); !s.ok())
              return s;
            for (size_t i = 0; i < 7; ++i)
              EXPECT_EQ(values[i], 3.0 * double(i) + 30 + 300 * step);
          }
          return {};
        });
      });
  for (const Status &status : results)
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CudaProcessesTest, TwoOnOneGpuAreRefused) {
  ASSERT_STREQ(cudaProblem(2), "");
  std::vector<Status> results =
      run(3, [](World &, int64_t) -> Status { return {}; });
  bool isSaid = false;
  for (const Status &status : results) {
    EXPECT_FALSE(status.ok());
    // The rank that finds out first ends the others' exchanges.
    isSaid = isSaid || (status.code() == TPSP_RT_UNSUPPORTED &&
                        status.message().find("ranks 0 and 2 are processes on "
                                              "one GPU") != std::string::npos);
  }
  EXPECT_TRUE(isSaid);
}

TEST_F(CudaProcessesTest, DifferentCallsAreNoticed) {
  ASSERT_STREQ(cudaProblem(2), "");
  Plan plans[2];
  plans[0].add(tpsp_rt_all_reduce, reduceOf(7), {0, 0}, "%sum");
  plans[1].add(tpsp_rt_all_reduce, reduceOf(8), {0, 0}, "%sum");
  std::vector<Status> results =
      run(2, [&](World &world, int64_t number) -> Status {
        return world.run([&](Rank &rank) { return plans[number].step(rank); });
      });
  bool isNamed = false;
  for (const Status &status : results) {
    EXPECT_FALSE(status.ok());
    isNamed = isNamed || status.message().find("calls something else") !=
                             std::string::npos;
  }
  EXPECT_TRUE(isNamed);
}

TEST_F(CudaProcessesTest, AMissingProcessEndsInATimeoutThatNamesIt) {
  ASSERT_STREQ(cudaProblem(2), "");
  Plan plan;
  plan.add(tpsp_rt_all_reduce, reduceOf(7), {0, 0}, "%sum");
  std::vector<Status> results =
      run(2, [&](World &world, int64_t number) -> Status {
        return world.run([&](Rank &rank) -> Status {
          if (number == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(2300));
          return number == 1 ? Status() : plan.step(rank);
        });
      });
  EXPECT_EQ(results[0].code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(results[0].message(), HasSubstr("%sum: waited 2.0 s for rank 1"));
}

} // namespace
