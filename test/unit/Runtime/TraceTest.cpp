/// The trace backend prints each call in a form that tests can compare.
#include "tpsp/Abi/Commands.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/World.h"

#include <gmock/gmock.h>

#include <cstdio>

using namespace tpsp::rt;

namespace {

tpsp_rt_command makeCommand(const Params &params,
                            const std::vector<int64_t> &buffers,
                            const char *name, int64_t id, int64_t stream = 0) {
  return {id,
          stream,
          params.data(),
          int64_t(params.size()),
          buffers.data(),
          int64_t(buffers.size()),
          nullptr,
          0,
          nullptr,
          0,
          nullptr,
          nullptr,
          name};
}

std::string contents(std::FILE *file) {
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;)
    text += char(c);
  return text;
}

/// Runs `body` on a 2x2 mesh and returns the printed text.
std::string trace(bool allRanks, const std::function<Status(Rank &)> &body) {
  registerBuiltinBackends();
  std::FILE *file = std::tmpfile();
  WorldConfig config;
  config.backend = "trace";
  config.mesh = {{"dp", 2}, {"tp", 2}};
  config.arenaBytes = int64_t(1) << 50; // More memory than any machine has.
  config.numStreams = 2;
  config.numEvents = 4;
  config.traceOutput = file;
  config.traceAllRanks = allRanks;
  std::unique_ptr<World> world;
  Status status = World::create(config, world);
  EXPECT_TRUE(status.ok()) << status.message();
  if (status.ok())
    status = world->run(body);
  EXPECT_TRUE(status.ok()) << status.message();
  std::string text = contents(file);
  std::fclose(file);
  return text;
}

void doNothing(void *const *, const int64_t *, int64_t, int64_t) {}

/// Pitches are printed if there are any. Buffers are the rank's own tiles.
TEST(Trace, PrintsTiles) {
  ShardCommand shard;
  shard.axes = {1};
  shard.outer = 2, shard.chunk = 512, shard.pitch = 2048;
  PermuteCommand permute;
  permute.axes = {1};
  permute.source = {1, 0};
  permute.count = 32, permute.runs = 3;
  permute.sourcePitch = 32, permute.targetPitch = 64;
  std::vector<int64_t> tiles = {1, 1, 128, 1, 1};
  std::string text = trace(/*allRanks=*/true, [&](Rank &rank) -> Status {
    Params gather = shard.encode(), move = permute.encode();
    std::vector<int64_t> buffers = {0, 65536};
    tpsp_rt_command first = makeCommand(gather, buffers, "%g", 0, 1);
    tpsp_rt_command second = makeCommand(move, buffers, "%p", 1, 1);
    second.tiles = tiles.data();
    second.num_tiles = int64_t(tiles.size());
    EXPECT_EQ(tpsp_rt_all_gather(rank.handle(), &first), TPSP_RT_OK);
    EXPECT_EQ(tpsp_rt_permute(rank.handle(), &second), TPSP_RT_OK);
    return {};
  });
  using testing::HasSubstr;
  EXPECT_THAT(text, HasSubstr("rank 0 stream 1 all_gather axes=tp outer=2 "
                              "chunk=512 pitch=2048 f32 src@0 dst@65536 "
                              "\"%g\"\n"));
  // Tile 1, counted from the rank's own, is the second for tp rank 0 and the
  // first for tp rank 1.
  const char *moved = " stream 1 permute axes=tp source=1,0 count=32 runs=3 "
                      "pitch=32->64 f32 src@0 dst@";
  for (int rank : {0, 1, 2, 3})
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(rank) + moved +
                                (rank % 2 ? "65536" : "65664") + " \"%p\"\n"));
}

/// Each micro-batch has its own part of a buffer.
TEST(Trace, MicroBatchesHaveTheirOwnParts) {
  KernelCommand kernel;
  kernel.grid = 4;
  EXPECT_EQ((PartStart{8, {1}, 0, 3, 2}.of(1, 4, /*batch=*/5)), 8 + 3 + 10);
  Params params = kernel.encode();
  std::vector<int64_t> buffers = {0, 4096}, slots = {1, 256, -1};
  static tpsp_rt_command command;
  command = makeCommand(params, buffers, "%k", 0);
  command.slots = slots.data();
  command.num_slots = int64_t(slots.size());
  command.kernel = doNothing;
  tpsp::Plan plan;
  plan.segments = {{"prologue"}, {"micro-batch", tpsp::SegmentRuns::Each}};
  plan.microBatches = 3;
  auto issue = [](tpsp_rt_rank *rank, int64_t segment) -> tpsp_rt_status {
    return segment == 1 ? tpsp_rt_kernel(rank, &command) : TPSP_RT_OK;
  };
  // The second step finds the calls of the first.
  std::string text = trace(/*allRanks=*/false, [&](Rank &rank) -> Status {
    for (int step = 0; step < 2; ++step)
      if (Status s = rank.step(issue, plan); !s.ok())
        return s;
    return {};
  });
  std::string expected;
  for (int step = 0; step < 2; ++step)
    for (const char *place : {"4096", "4352", "4608"})
      expected += std::string("@") + place + " ";
  std::string found;
  for (size_t at = 0; (at = text.find("@4", at)) != std::string::npos; ++at)
    found += text.substr(at, 5) + " ";
  EXPECT_EQ(found, expected) << text;
}

/// A part outside the arena is refused.
TEST(Trace, PartsMustLieInTheArena) {
  Params params = KernelCommand().encode();
  std::vector<int64_t> buffers = {0};
  for (std::vector<int64_t> slots : {std::vector<int64_t>{1, 64, -1},
                                     {0, -64, -1},
                                     {0, int64_t(1) << 60, -1},
                                     {0, 64, 3}, // there is no such pool
                                     {0, 64}})
    trace(/*allRanks=*/false, [&](Rank &rank) -> Status {
      tpsp_rt_command command = makeCommand(params, buffers, "%k", 0);
      command.slots = slots.data();
      command.num_slots = int64_t(slots.size());
      command.kernel = doNothing;
      EXPECT_EQ(tpsp_rt_kernel(rank.handle(), &command), TPSP_RT_INVALID);
      return {};
    });
}

TEST(Trace, PrintsEveryCall) {
  MatmulCommand matmul;
  matmul.m = 512, matmul.n = 1024, matmul.k = 4096;
  matmul.lda = 4096, matmul.ldb = 4096, matmul.ldc = 1024;
  matmul.transposeB = true;
  matmul.batch = {{2, 1, 1, 1}, {3, 1, 1, 1}};
  KernelCommand kernel;
  kernel.grid = 16;
  kernel.positions = {{64, {1}}, {8, {}}};
  ShardCommand shard;
  shard.dtype = TPSP_RT_BF16;
  shard.axes = {1};
  shard.outer = 2, shard.chunk = 512;
  AllReduceCommand reduce;
  reduce.axes = {0, 1};
  reduce.reduction = TPSP_RT_MAX;
  reduce.counts = {8, 16};
  AllToAllCommand exchange;
  exchange.axes = {0};
  exchange.gather = 4, exchange.scatter = 8, exchange.c = 16;
  PermuteCommand permute;
  permute.axes = {1};
  permute.count = 32;
  permute.source = {1, 0};
  EventCommand event;
  event.event = 2;

  std::string text = trace(/*allRanks=*/false, [&](Rank &rank) -> Status {
    auto issue = [&, id = int64_t(0)](auto call, const Params &params,
                                      const std::vector<int64_t> &buffers,
                                      int64_t stream = 0) mutable {
      tpsp_rt_command command =
          makeCommand(params, buffers, "%x", id++, stream);
      command.kernel = doNothing;
      EXPECT_EQ(call(rank.handle(), &command), TPSP_RT_OK)
          << tpsp_rt_last_error(rank.handle());
    };
    issue(tpsp_rt_matmul, matmul.encode(), {0, 8192, 65536});
    issue(tpsp_rt_kernel, kernel.encode(), {0, 64});
    issue(tpsp_rt_slice, shard.encode(), {0, 8192});
    issue(tpsp_rt_event_record, event.encode(), {});
    issue(tpsp_rt_event_wait, event.encode(), {}, 1);
    issue(tpsp_rt_all_gather, shard.encode(), {0, 8192}, 1);
    issue(tpsp_rt_reduce_scatter, shard.encode(), {0, 8192}, 1);
    issue(tpsp_rt_all_reduce, reduce.encode(), {0, 0, 64, 128});
    issue(tpsp_rt_all_to_all, exchange.encode(), {0, 8192});
    issue(tpsp_rt_permute, permute.encode(), {0, 8192});
    return {};
  });
  EXPECT_EQ(
      text,
      R"(rank 0 stream 0 matmul m=512 n=1024 k=4096 transposeB batch=2x3 f32 A@0 B@8192 C@65536 "%x"
rank 0 stream 0 kernel grid=16 positions=0,0 @0 @64 "%x"
rank 0 stream 0 slice axes=tp outer=2 chunk=512 bf16 src@0 dst@8192 "%x"
rank 0 stream 0 event_record event=2 "%x"
rank 0 stream 1 event_wait event=2 "%x"
rank 0 stream 1 all_gather axes=tp outer=2 chunk=512 bf16 src@0 dst@8192 "%x"
rank 0 stream 1 reduce_scatter axes=tp sum outer=2 chunk=512 bf16 src@0 dst@8192 "%x"
rank 0 stream 0 all_reduce axes=dp,tp max counts=8,16 f32 src@0 dst@0 src@64 dst@128 "%x"
rank 0 stream 0 all_to_all axes=dp gather-first a=1 gather=4 b=1 scatter=8 c=16 f32 src@0 dst@8192 "%x"
rank 0 stream 0 permute axes=tp source=1,0 count=32 f32 src@0 dst@8192 "%x"
)");
}

TEST(Trace, RanksPrintInOrderWhenAsked) {
  KernelCommand kernel;
  kernel.positions = {{10, {1, 0}}};
  Params params = kernel.encode();
  std::string text = trace(/*allRanks=*/true, [&](Rank &rank) -> Status {
    tpsp_rt_command command = makeCommand(params, {}, "", 0);
    command.kernel = doNothing;
    return rank.result(tpsp_rt_kernel(rank.handle(), &command));
  });
  EXPECT_EQ(text, R"(rank 0 stream 0 kernel grid=1 positions=0 "kernel"
rank 1 stream 0 kernel grid=1 positions=20 "kernel"
rank 2 stream 0 kernel grid=1 positions=10 "kernel"
rank 3 stream 0 kernel grid=1 positions=30 "kernel"
)");
}

Status attendFrom(Rank &rank, const PartStart &start) {
  AttentionCommand attention;
  attention.queries = attention.keys = 6;
  attention.causal = true;
  attention.queryStart = start;
  attention.q = attention.k = attention.v = attention.o = {6, 6, 6, 1};
  Params params = attention.encode();
  std::vector<int64_t> buffers = {0, 64, 128, 192};
  tpsp_rt_command command = makeCommand(params, buffers, "", 0);
  return rank.result(tpsp_rt_attention(rank.handle(), &command));
}

/// Attention with a mask prints where each rank's queries start, in the order
/// of ranks or in the opposite order.
TEST(Trace, RanksSayWhereTheirQueriesStart) {
  for (PartStart start : {PartStart{6, {0, 1}}, PartStart{-6, {0, 1}, 0, 18}}) {
    std::string text = trace(
        /*allRanks=*/true, [&](Rank &rank) { return attendFrom(rank, start); });
    for (int64_t rank : {0, 1, 2, 3}) {
      int64_t first = start.stride > 0 ? 6 * rank : 18 - 6 * rank;
      std::string line = "rank " + std::to_string(rank) + " stream 0 attention";
      size_t at = text.find(line);
      ASSERT_NE(at, std::string::npos) << text;
      EXPECT_NE(text.substr(at, text.find('\n', at) - at)
                    .find(" causal start=" + std::to_string(first) + " f32"),
                std::string::npos)
          << text;
    }
  }
}

/// The last rank's queries would start before the first query.
TEST(Trace, NoQueriesStartBeforeTheFirst) {
  Status last;
  trace(/*allRanks=*/true, [&](Rank &rank) -> Status {
    Status status = attendFrom(rank, {-6, {0, 1}, 0, 17});
    if (rank.number() == 3)
      last = status;
    return {};
  });
  EXPECT_EQ(last.code(), TPSP_RT_INVALID);
  EXPECT_NE(last.message().find("a part that starts at position -1"),
            std::string::npos)
      << last.message();
}

TEST(Trace, HasNoMemory) {
  trace(/*allRanks=*/false, [&](Rank &rank) -> Status {
    EXPECT_EQ(rank.hostAddress(0), nullptr);
    int64_t value = 7;
    if (Status s = rank.write(0, &value, sizeof value); !s.ok())
      return s;
    if (Status s = rank.read(0, &value, sizeof value); !s.ok())
      return s;
    EXPECT_EQ(value, 0);
    return {};
  });
}

} // namespace
