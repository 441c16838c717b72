#include "tpsp/Runtime/World.h"
#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <thread>

using namespace tpsp;
using namespace tpsp::rt;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

namespace {

class WorldTest : public testing::Test {
protected:
  WorldTest() { registerBuiltinBackends(); }

  void start(const WorldConfig &config) {
    Status status = World::create(config, world);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  static std::string refusal(const WorldConfig &config) {
    std::unique_ptr<World> none;
    Status status = World::create(config, none);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(none, nullptr);
    return status.message();
  }

  std::unique_ptr<World> world;
};

WorldConfig makeConfig(std::vector<MeshAxis> mesh, int64_t arenaBytes = 4096) {
  WorldConfig config;
  config.mesh = std::move(mesh);
  config.arenaBytes = arenaBytes;
  return config;
}

TEST_F(WorldTest, EveryRankRunsOnItsOwnThreadAgainAndAgain) {
  start(makeConfig({{"dp", 2}, {"tp", 3}}));
  EXPECT_EQ(world->numRanks(), 6);
  std::vector<std::thread::id> first(6), second(6);
  for (auto *ids : {&first, &second}) {
    Status status = world->run([&](Rank &rank) -> Status {
      (*ids)[rank.number()] = std::this_thread::get_id();
      EXPECT_EQ(rank.coordinate(0), rank.number() / 3);
      EXPECT_EQ(rank.coordinate(1), rank.number() % 3);
      return {};
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[5]);
}

TEST_F(WorldTest, MemoryBelongsToTheRank) {
  start(makeConfig({{"tp", 2}}));
  Status status = world->run([&](Rank &rank) -> Status {
    int64_t mine = 100 + rank.number(), back = 0;
    if (Status s = rank.write(8, &mine, sizeof mine); !s.ok())
      return s;
    if (Status s = rank.read(8, &back, sizeof back); !s.ok())
      return s;
    EXPECT_EQ(back, mine);
    EXPECT_EQ(*static_cast<int64_t *>(rank.hostAddress(8)), mine);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(rank.hostAddress(0)) % 64, 0u);
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WorldTest, ReadsAndWritesStayInTheArena) {
  start(makeConfig({}, 64));
  Status status = world->run([&](Rank &rank) -> Status {
    char bytes[65] = {};
    EXPECT_TRUE(rank.write(0, bytes, 64).ok());
    EXPECT_TRUE(rank.write(64, bytes, 0).ok());
    EXPECT_THAT(rank.write(1, bytes, 64).message(),
                HasSubstr("write of 64 bytes at byte 1 of an arena of 64"));
    EXPECT_FALSE(rank.read(-1, bytes, 1).ok());
    EXPECT_FALSE(rank.read(0, bytes, -1).ok());
    EXPECT_FALSE(rank.read(INT64_MAX, bytes, INT64_MAX).ok());
    EXPECT_NE(rank.hostAddress(64), nullptr);
    EXPECT_EQ(rank.hostAddress(65), nullptr);
    EXPECT_EQ(rank.hostAddress(-1), nullptr);
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WorldTest, LargeArenasAreAlignedAndNotTouched) {
  auto residentPages = [] {
    std::ifstream file("/proc/self/statm");
    int64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident;
  };
  int64_t before = residentPages();
  start(makeConfig({{"tp", 2}}, int64_t(256) << 20));
  EXPECT_LT(residentPages() - before, (int64_t(16) << 20) / 4096);
  Status status = world->run([&](Rank &rank) -> Status {
    auto address = reinterpret_cast<uintptr_t>(rank.hostAddress(0));
    EXPECT_EQ(address % (2 << 20), 0u);
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WorldTest, FirstRealFailureWins) {
  start(makeConfig({{"tp", 4}}));
  Status status = world->run([&](Rank &rank) -> Status {
    if (rank.number() == 2)
      return {TPSP_RT_INTERNAL, "it broke"};
    return {TPSP_RT_ABORTED, "a consequence"};
  });
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
  EXPECT_EQ(status.message(), "rank 2: it broke");
}

TEST_F(WorldTest, ThrownExceptionsAreFailures) {
  start(makeConfig({{"tp", 2}}));
  Status status =
      world->run([](Rank &) -> Status { throw std::runtime_error("thrown"); });
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
  EXPECT_THAT(status.message(), HasSubstr("thrown"));
}

TEST_F(WorldTest, AFailedWorldRefusesToRun) {
  start(makeConfig({{"tp", 2}}));
  std::atomic<int> calls{0};
  auto fail = [&](Rank &) -> Status {
    ++calls;
    return {TPSP_RT_INTERNAL, "no"};
  };
  EXPECT_FALSE(world->run(fail).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(world->run(fail).message(), HasSubstr("create a new world"));
  EXPECT_EQ(calls, 2);
}

TEST_F(WorldTest, RefusesWhatCannotBe) {
  WorldConfig config = makeConfig({});
  config.backend = "abacus";
  EXPECT_EQ(refusal(config), "no backend 'abacus'; there are: cpu, trace");
  EXPECT_THAT(refusal(makeConfig({{"tp", -1}})), HasSubstr("size -1"));
  EXPECT_THAT(refusal(makeConfig({}, -5)), HasSubstr("arenaBytes = -5"));
  for (int64_t streams : {0, 65}) {
    config = makeConfig({});
    config.numStreams = streams;
    EXPECT_THAT(refusal(config),
                HasSubstr("numStreams = " + std::to_string(streams)));
  }
  config = makeConfig({});
  config.timeoutSeconds = 0;
  EXPECT_THAT(refusal(config), HasSubstr("timeoutSeconds = 0"));
}

TEST_F(WorldTest, RefusesMoreMemoryThanThereIs) {
  // 4 x 1 PiB, and a product that overflows int64_t.
  EXPECT_THAT(refusal(makeConfig({{"tp", 4}}, int64_t(1) << 50)),
              AllOf(HasSubstr("need 4194304.00 GiB"), HasSubstr("available")));
  EXPECT_THAT(refusal(makeConfig({{"tp", 4}}, int64_t(1) << 62)),
              HasSubstr("available"));
}

TEST_F(WorldTest, BackendsAreListed) {
  EXPECT_THAT(backendNames(), Contains("cpu"));
  EXPECT_THAT(backendNames(), Contains("trace"));
}

} // namespace
