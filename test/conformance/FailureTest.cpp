/// Missing, failing and disagreeing ranks, and wrong commands. Nothing may
/// hang, or be written where it must not be.
#include "ConformanceWorld.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr int64_t arenaBytes = 4096;

Params shard(int64_t outer, int64_t chunk, std::vector<int64_t> axes = {0}) {
  ShardCommand c;
  c.outer = outer;
  c.chunk = chunk;
  c.axes = std::move(axes);
  return c.encode();
}

Params allReduce(std::vector<int64_t> counts) {
  AllReduceCommand c;
  c.axes = {0};
  c.counts = std::move(counts);
  return c.encode();
}

class FailureTest : public ConformanceTest {
  const char *testedCall() const override { return "failures"; }

protected:
  /// Runs one step of one command on one rank.
  Status runOne(EntryPoint call, Params params, std::vector<int64_t> buffers,
                tpsp_rt_kernel_function kernel = nullptr) {
    Plan plan;
    plan.add(call, std::move(params), std::move(buffers), "%bad", kernel);
    auto world = makeWorld(config({{"x", 1}, {"y", 1}}, arenaBytes));
    return world->run([&](Rank &rank) { return plan.step(rank); });
  }

  void expectInvalid(const Status &status, const std::string &what) {
    EXPECT_EQ(status.code(), TPSP_RT_INVALID);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("%bad: "), HasSubstr(what)));
  }
};

TEST_P(FailureTest, MissingRankEndsInATimeoutThatNamesIt) {
  Plan early, late;
  early.add(tpsp_rt_slice, shard(1, 4), {0, 256}, "%before");
  late.add(tpsp_rt_all_gather, shard(1, 4), {0, 256}, "%gathered");
  WorldConfig settings = config({{"x", 4}}, arenaBytes);
  settings.timeoutSeconds = 0.2;
  auto world = makeWorld(settings);
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = early.step(rank); !s.ok())
      return s;
    return rank.number() == 2 ? Status() : late.step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("%gathered: waited 0.2 s for rank 2"),
                    HasSubstr("last issued slice \"%before\""),
                    Not(HasSubstr("rank 3 ("))));
}

TEST_P(FailureTest, TimeoutNamesAllMissingRanks) {
  Plan plan;
  plan.add(tpsp_rt_all_reduce, allReduce({4}), {0, 0}, "%sum");
  WorldConfig settings = config({{"x", 4}}, arenaBytes);
  settings.timeoutSeconds = 0.1;
  auto world = makeWorld(settings);
  Status status = world->run([&](Rank &rank) -> Status {
    return rank.number() % 2 ? Status() : plan.step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("rank 1 (has issued nothing)"),
                    HasSubstr("rank 3 (has issued nothing)")));
}

TEST_P(FailureTest, AFailingRankAbortsTheOthersAtOnce) {
  Plan plan;
  plan.add(tpsp_rt_all_reduce, allReduce({4}), {0, 0}, "%sum");
  WorldConfig settings = config({{"x", 4}}, arenaBytes);
  settings.timeoutSeconds = 1e6; // Only the failure ends the wait.
  auto world = makeWorld(settings);
  std::vector<tpsp_rt_status> codes(4, TPSP_RT_OK);
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return {TPSP_RT_INTERNAL, "the root cause"};
    }
    Status result = plan.step(rank);
    codes[rank.number()] = result.code();
    return result;
  });
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
  EXPECT_EQ(status.message(), "rank 1: the root cause");
  for (int r : {0, 2, 3})
    EXPECT_EQ(codes[r], TPSP_RT_ABORTED) << "rank " << r;
}

TEST_P(FailureTest, CommandsAfterAnAbortAreNotRun) {
  Plan plan;
  plan.add(tpsp_rt_slice, shard(1, 4), {0, 256});
  auto world = makeWorld(config({{"x", 2}}, arenaBytes));
  Status ending;
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 1)
      return {TPSP_RT_INTERNAL, "no"};
    // Bounded, in case the abort never comes.
    for (int i = 0; i < 5000 && ending.ok(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ending = plan.step(rank);
    }
    return ending;
  });
  EXPECT_EQ(ending.code(), TPSP_RT_ABORTED);
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
}

TEST_P(FailureTest, DifferentSizesAreNamedOnBothSides) {
  if (skips("what others call"))
    return;
  Plan small, large;
  small.add(tpsp_rt_all_gather, shard(1, 4), {0, 256}, "%small");
  large.add(tpsp_rt_all_gather, shard(1, 8), {0, 256}, "%large");
  auto world = makeWorld(config({{"x", 2}}, arenaBytes));
  Status status = world->run([&](Rank &rank) {
    return (rank.number() == 0 ? small : large).step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("chunk=4"), HasSubstr("chunk=8"),
                    HasSubstr("\"%small\""), HasSubstr("\"%large\"")));
}

TEST_P(FailureTest, ADisagreementNamesTheOtherRank) {
  Plan small, large;
  small.add(tpsp_rt_all_gather, shard(1, 4), {0, 256}, "%small");
  large.add(tpsp_rt_all_gather, shard(1, 8), {0, 256}, "%large");
  auto world = makeWorld(config({{"x", 2}}, arenaBytes));
  Status status = world->run([&](Rank &rank) {
    return (rank.number() == 0 ? small : large).step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"),
                    HasSubstr("calls all_gather axes=x outer=1 chunk=")));
}

TEST_P(FailureTest, DifferentCallsAndTypesAreNamed) {
  if (skips("what others call"))
    return;
  Plan gather, scatter;
  gather.add(tpsp_rt_all_gather, shard(1, 4), {0, 256}, "%g");
  scatter.add(tpsp_rt_reduce_scatter, shard(1, 4), {0, 256}, "%s");
  auto world = makeWorld(config({{"x", 2}}, arenaBytes));
  Status status = world->run([&](Rank &rank) {
    return (rank.number() == 0 ? gather : scatter).step(rank);
  });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("calls all_gather axes=x"),
                    HasSubstr("calls reduce_scatter axes=x")));
}

TEST_P(FailureTest, DifferentAxisOrdersAreNamed) {
  if (skips("what others call"))
    return;
  Plan xy, yx;
  xy.add(tpsp_rt_all_gather, shard(1, 4, {0, 1}), {0, 256}, "%xy");
  yx.add(tpsp_rt_all_gather, shard(1, 4, {1, 0}), {0, 256}, "%yx");
  auto world = makeWorld(config({{"x", 2}, {"y", 2}}, arenaBytes));
  Status status = world->run(
      [&](Rank &rank) { return (rank.number() == 3 ? yx : xy).step(rank); });
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("axes=x,y"), HasSubstr("axes=y,x")));
}

TEST_P(FailureTest, BuffersStayInTheArena) {
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {4096, 0}),
                "buffer 0 (src) is 16 bytes at byte 4096 of an arena of 4096");
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {0, -16}), "buffer 1 (dst)");
  expectInvalid(runOne(tpsp_rt_all_gather, shard(1, 1024), {0, 4}),
                "buffer 1 (dst)");
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {2, 64}), "not aligned");
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {INT64_MAX, 0}), "buffer 0");
  MatmulCommand c;
  c.m = 8, c.n = 8, c.k = 8;
  c.lda = c.ldb = c.ldc = 8;
  c.batch = {{5, 64, 64, 64}};
  expectInvalid(runOne(tpsp_rt_matmul, c.encode(), {0, 1280, 2820}),
                "buffer 2 (C) is 1280 bytes at byte 2820");
  expectInvalid(runOne(tpsp_rt_kernel, KernelCommand().encode(), {5000},
                       [](void *const *, const int64_t *, int64_t, int64_t) {}),
                "byte 5000");
}

TEST_P(FailureTest, DestinationsDoNotOverlap) {
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {0, 8}), "overlap");
  expectInvalid(runOne(tpsp_rt_all_reduce, allReduce({4, 4}), {0, 64, 128, 72}),
                "overlaps another tensor");
  expectInvalid(runOne(tpsp_rt_all_reduce, allReduce({4, 4}), {0, 64, 72, 128}),
                "overlaps another tensor");
  // Sources may overlap.
  EXPECT_TRUE(
      runOne(tpsp_rt_all_reduce, allReduce({4, 4}), {0, 64, 8, 128}).ok());
}

TEST_P(FailureTest, MalformedCommands) {
  expectInvalid(runOne(tpsp_rt_matmul, {}, {}), "malformed parameters");
  expectInvalid(runOne(tpsp_rt_all_gather, {1, 2, 3}, {0, 64}),
                "malformed parameters of all_gather");
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4), {0}),
                "1 buffers; expected 2");
  expectInvalid(runOne(tpsp_rt_slice, shard(1, 4, {2}), {0, 64}),
                "mesh axis 2 of a mesh with 2");
  expectInvalid(runOne(tpsp_rt_kernel, KernelCommand().encode(), {0}),
                "no kernel");
  PermuteCommand permute;
  permute.axes = {0};
  permute.source = {1, 0};
  expectInvalid(runOne(tpsp_rt_permute, permute.encode(), {0, 64}),
                "2 sources for a group of 1");
}

TEST_P(FailureTest, FirstMessageIsKept) {
  Plan bad, worse;
  bad.add(tpsp_rt_matmul, {}, {}, "%first");
  worse.add(tpsp_rt_matmul, {}, {}, "%second");
  auto world = makeWorld(config({}, arenaBytes));
  Status status = world->run([&](Rank &rank) -> Status {
    EXPECT_STREQ(tpsp_rt_last_error(rank.handle()), "");
    EXPECT_FALSE(bad.step(rank).ok());
    EXPECT_FALSE(worse.step(rank).ok());
    EXPECT_THAT(tpsp_rt_last_error(rank.handle()), HasSubstr("%first"));
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

/// Commands of another plan may lie at the addresses of the first plan's.
TEST_P(FailureTest, CommandsAreKnownByContentNotAddressAlone) {
  auto world = makeWorld(config({{"x", 2}}, arenaBytes));
  Status status = world->run([&](Rank &rank) -> Status {
    float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (Status s = rank.write(0, values, sizeof values); !s.ok())
      return s;
    tpsp_rt_command command = {};
    for (int64_t chunk : {1, 2, 4}) {
      Params params = shard(1, chunk);
      int64_t buffers[] = {0, 256};
      command.params = params.data();
      command.num_params = int64_t(params.size());
      command.buffers = buffers;
      command.num_buffers = 2;
      if (Status s = rank.result(tpsp_rt_slice(rank.handle(), &command));
          !s.ok())
        return s;
      float first = -1;
      if (Status s = rank.read(256, &first, sizeof first); !s.ok())
        return s;
      EXPECT_EQ(first, float(rank.number() * chunk));
    }
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Backends, FailureTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
