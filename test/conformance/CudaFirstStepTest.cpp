/// Tests the loads and allocations of the CUDA backend while commands run for
/// the first time, on fakes.
#include "CudaOnDoubles.h"

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::HasSubstr;

namespace {

constexpr const char *stuck = "work that waits for a collective";

/// An all-gather of `bytes` bytes on every rank. A part is dense at its source.
/// In the result it has more runs than the backend sends in a call each.
ShardCommand gatherOf(int64_t bytes) {
  ShardCommand gather;
  gather.dtype = TPSP_RT_F32;
  gather.axes = {0};
  gather.outer = 16;
  gather.chunk = bytes / 64;
  return gather;
}

/// Nothing is loaded or allocated while the driver may wait for a collective
/// that only another rank can end.
TEST_F(CudaOnDoublesTest, NothingIsLoadedOrAllocatedBehindCollectives) {
  AllToAllCommand exchange;
  exchange.axes = {0};
  exchange.a = 2, exchange.gather = 3, exchange.b = 2, exchange.scatter = 2;
  PermuteCommand permute;
  permute.axes = {0};
  permute.source = {1, 0};
  permute.count = 5, permute.runs = 2;
  permute.sourcePitch = 6, permute.targetPitch = 8;
  const std::pair<EntryPoint, Params> firsts[] = {
      {tpsp_rt_all_gather, gatherOf(512).encode()},
      {tpsp_rt_reduce_scatter, gatherOf(512).encode()},
      {tpsp_rt_all_to_all, exchange.encode()},
      {tpsp_rt_permute, permute.encode()}};
  for (const auto &[call, params] : firsts) {
    SCOPED_TRACE(testing::Message() << &params - &firsts[0].second);
    Plan plan;
    plan.add(call, params, {at(0), at(4)}, "%first");
    plan.add(tpsp_rt_all_gather, gatherOf(4096).encode(), {at(8), at(12)});
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(config(2), world).ok());
    forgetCalls();
    Status status = world->run([&](Rank &rank) -> Status {
      if (Status s = fill(rank); !s.ok())
        return s;
      return plan.step(rank);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GT(callsOf("cudaMalloc"), 0);
    EXPECT_EQ(callsOf(stuck), 0);
  }
}

TEST_F(CudaOnDoublesTest, NothingOfEverythingIsLoadedBehindCollectives) {
  forgetCalls();
  std::vector<std::vector<std::byte>> arenas;
  Status status = runEverything(config(2), 2, 1, arenas);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(callsOf(stuck), 0);
}

/// Bytes in use on the thread's GPU.
int64_t usedBytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(inDouble<int(size_t *, size_t *)>("cudaMemGetInfo")(&free, &total),
            0);
  return int64_t(total - free);
}

/// Sets `bytes` to the memory of each rank besides its arena, after a few steps
/// of `plan`.
Status scratchAfter(World &world, const Plan &plan, int64_t arena,
                    std::vector<int64_t> &bytes) {
  bytes.assign(size_t(world.numRanks()), 0);
  return world.run([&](Rank &rank) -> Status {
    for (int step = 0; step < 3; ++step)
      if (Status s = plan.stepOrReplay(rank); !s.ok())
        return s;
    bytes[size_t(rank.number())] = usedBytes() - arena;
    return {};
  });
}

/// Scratch memory is as large as the largest command needs, and a smaller block
/// is freed. A recorded step keeps its block.
TEST_F(CudaOnDoublesTest, ScratchMemoryIsWhatIsWanted) {
  constexpr int64_t mib = 1 << 20, arena = 48 * mib;
  for (GraphUse graphs : {GraphUse::Off, GraphUse::On}) {
    WorldConfig settings = config(2, arena);
    settings.cuda.graphs = graphs;
    Plan first, second;
    first.add(tpsp_rt_all_gather, gatherOf(2 * mib).encode(), {0, 8 * mib});
    first.add(tpsp_rt_all_gather, gatherOf(3 * mib).encode(), {0, 16 * mib});
    second.add(tpsp_rt_all_gather, gatherOf(4 * mib).encode(), {0, 24 * mib});
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(settings, world).ok());
    std::vector<int64_t> bytes;
    ASSERT_TRUE(scratchAfter(*world, first, arena, bytes).ok());
    EXPECT_THAT(bytes, testing::Each(6 * mib));
    ASSERT_TRUE(scratchAfter(*world, second, arena, bytes).ok());
    bool isNamed = graphs == GraphUse::On;
    EXPECT_THAT(bytes, testing::Each((isNamed ? 6 + 8 : 8) * mib));
    ASSERT_TRUE(scratchAfter(*world, first, arena, bytes).ok());
    EXPECT_THAT(bytes, testing::Each((isNamed ? 6 + 8 : 8) * mib));
  }
}

TEST_F(CudaOnDoublesTest, AnOldNcclForSeveralStreams) {
  auto setVersion = [](int version) {
    inDouble<void(int)>("tpspDoubleSetNcclVersion")(version);
  };
  setVersion(22509);
  WorldConfig settings = config(2);
  Status status = createOnly(settings);
  EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
  EXPECT_THAT(status.message(),
              HasSubstr("libnccl.so.2 is 2.25.9, and collectives on several "
                        "streams need 2.26 or newer; install that, or run with "
                        "--overlap off"));
  settings.numStreams = 1;
  EXPECT_TRUE(createOnly(settings).ok());
  // One rank does not use NCCL, so its version does not matter.
  EXPECT_TRUE(createOnly(config(1)).ok());
  setVersion(22600);
  EXPECT_TRUE(createOnly(config(2)).ok());
  setVersion(0);
}

} // namespace
