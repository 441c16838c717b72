/// Tests attention of the CUDA backend on a fake of cuDNN.
#include "CudaOnDoubles.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <map>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

namespace {

constexpr const char *cudnnCalls[] = {"cudnnCreate",
                                      "cudnnSetStream",
                                      "cudnnBackendCreateDescriptor",
                                      "cudnnBackendSetAttribute",
                                      "cudnnBackendGetAttribute",
                                      "cudnnBackendFinalize",
                                      "cudnnBackendExecute"};

/// Attention with four heads of queries and two of keys.
AttentionGradientCommand makeAttention() {
  AttentionGradientCommand c;
  c.dtype = TPSP_RT_BF16;
  c.heads = 2, c.groups = 2;
  c.queries = 8, c.keys = 8, c.features = 8, c.valueFeatures = 8;
  c.scale = 0.25;
  c.causal = c.keepsStatistic = true;
  c.q = c.o = {256, 128, 64, 8};
  c.k = c.v = {128, 64, 0, 8};
  return c;
}

/// Runs `layers` times the same attention with its gradients.
Status runAttention(const WorldConfig &config, int steps,
                    std::vector<std::vector<std::byte>> &arenas,
                    int layers = 1) {
  AttentionGradientCommand gradient = makeAttention();
  Params params = gradient.AttentionCommand::encode();
  Plan plan;
  for (int i = 0; i < layers; ++i) {
    plan.on(0).add(tpsp_rt_attention, params,
                   {at(0), at(1), at(2), at(3), at(4)}, "%attention");
    plan.add(tpsp_rt_event_record, EventCommand{0}.encode(), {}, "%record");
    plan.on(1).add(tpsp_rt_event_wait, EventCommand{0}.encode(), {}, "%wait");
    plan.add(tpsp_rt_attention_gradient, gradient.encode(),
             {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)},
             "%gradient");
    plan.add(tpsp_rt_event_record, EventCommand{1}.encode(), {}, "%record");
    plan.on(0).add(tpsp_rt_event_wait, EventCommand{1}.encode(), {}, "%wait");
  }
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  arenas.assign(1, {});
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    for (int step = 0; step < steps; ++step)
      if (Status s = plan.stepOrReplay(rank); !s.ok())
        return s;
    return snapshot(rank, arenaBytes, arenas[0]);
  });
}

/// Single commands and replayed steps give the same bits, on two streams.
TEST_F(CudaOnDoublesTest, AttentionIsCaptured) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  std::vector<std::vector<std::byte>> eager, replayed;
  WorldConfig settings = config(1);
  settings.cuda.graphs = GraphUse::Off;
  Status status = runAttention(settings, 4, eager);
  ASSERT_TRUE(status.ok()) << status.message();
  settings.cuda.graphs = GraphUse::On;
  settings.warn = [](const std::string &text) { ADD_FAILURE() << text; };
  forgetCalls();
  status = runAttention(settings, 4, replayed);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(callsOf("cudaGraphLaunch"), 3);
  // Forward and backward, in the first step and in the capture.
  EXPECT_EQ(callsOf("cudnnBackendExecute"), 4);
  EXPECT_TRUE(eager == replayed);
}

TEST_F(CudaOnDoublesTest, EqualAttentionIsBuiltOnce) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  std::vector<std::vector<std::byte>> arenas;
  WorldConfig settings = config(1);
  settings.cuda.graphs = GraphUse::Off;
  int finalized[2];
  for (int layers : {1, 3}) {
    forgetCalls();
    ASSERT_TRUE(runAttention(settings, 1, arenas, layers).ok());
    EXPECT_EQ(callsOf("cudnnBackendExecute"), 2 * layers);
    // Each execution finalizes one pack of arguments, which is not counted.
    finalized[layers / 2] = callsOf("cudnnBackendFinalize") - 2 * layers;
  }
  EXPECT_EQ(finalized[0], finalized[1]);
}

/// Runs a forward command on the same data on all ranks; `arenas` is by rank.
/// Keys and values begin `skipped` bytes later.
Status runForward(const WorldConfig &config, const AttentionCommand &command,
                  std::vector<std::vector<std::byte>> &arenas,
                  int64_t skipped = 0) {
  Plan plan;
  plan.add(tpsp_rt_attention, command.encode(),
           {at(0), at(1) + skipped, at(2) + skipped, at(3), at(4)},
           "%attention");
  std::mt19937 random(7);
  std::vector<std::byte> bytes =
      toBytes(TPSP_RT_BF16, randomValues(TPSP_RT_BF16, arenaBytes / 2, random));
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  return world->run([&](Rank &rank) -> Status {
    if (Status s = rank.write(0, bytes.data(), arenaBytes); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, arenaBytes, arenas[size_t(rank.number())]);
  });
}

/// Each rank's mask begins where its own queries do.
TEST_F(CudaOnDoublesTest, RanksThatDivideTheQueries) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  AttentionCommand command = makeAttention();
  command.queries = 4;
  command.q = command.o = {128, 64, 32, 8};
  const PartStart rising = {/*stride=*/2, {0}}, falling = {-2, {0}, 0, 4};
  for (const PartStart &start : {rising, falling}) {
    command.queryStart = start;
    std::vector<std::vector<std::byte>> together(3), alone(1);
    Status status = runForward(config(3), command, together);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t rank = 0; rank < 3; ++rank) {
      command.queryStart = {0, {}, 0, start.of(rank, 3)};
      status = runForward(config(1), command, alone);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(alone[0] == together[size_t(rank)]) << "rank " << rank;
      EXPECT_EQ(rank == 0, alone[0] == together[0]);
    }
  }
}

/// A graph has no keys before the sequence, and its mask ends at the last key.
TEST_F(CudaOnDoublesTest, KeysBeforeTheSequenceAreLeftOut) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  AttentionCommand command = makeAttention();
  command.queries = 5, command.window = 4;
  command.q = command.o = {160, 80, 40, 8};
  command.k = command.v = {128, 8, 0, 16};
  for (int64_t start : {0, 2, 3, 15}) {
    command.queryStart.offset = start;
    command.hasLastKeys = true;
    std::vector<std::vector<std::byte>> last(1), first(1);
    Status status = runForward(config(1), command, last);
    ASSERT_TRUE(status.ok()) << status.message();
    AttentionCommand same = command;
    same.hasLastKeys = false;
    int64_t before = std::max<int64_t>(3 - start, 0);
    same.keys = 8 - before;
    same.queryStart.offset = 3 - before;
    status = runForward(config(1), same, first,
                        before * same.k.row * elementBytes(same.dtype));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(last[0] == first[0]) << "start " << start;
  }
}

TEST_F(CudaOnDoublesTest, AttentionThatIsNotAligned) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  Plan plan;
  plan.add(tpsp_rt_attention, makeAttention().AttentionCommand::encode(),
           {at(0), at(1) + 8, at(2), at(3), at(4)}, "%attention");
  std::unique_ptr<World> world;
  ASSERT_TRUE(World::create(config(1), world).ok());
  Status status = world->run([&](Rank &rank) { return plan.step(rank); });
  EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("%attention: cuDNN wants attention's tensors at "
                              "multiples of 16 bytes, and buffer 1 is at"),
                    HasSubstr("--attention rows")));
}

/// Without queries the gradients of keys and values are zero.
TEST_F(CudaOnDoublesTest, AttentionWithoutQueries) {
  AttentionGradientCommand command = makeAttention();
  command.queries = 0;
  Plan plan;
  plan.add(tpsp_rt_attention_gradient, command.encode(),
           {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)},
           "%gradient");
  std::unique_ptr<World> world;
  ASSERT_TRUE(World::create(config(1), world).ok());
  std::vector<std::byte> after;
  Status status = world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, arenaBytes, after);
  });
  if (!hasCudnn()) {
    EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
    return;
  }
  ASSERT_TRUE(status.ok()) << status.message();
  for (int64_t slot : {7, 8}) {
    auto zeros = after.begin() + at(slot);
    EXPECT_EQ(std::count(zeros, zeros + 256, std::byte(0)), 256);
    EXPECT_LT(std::count(zeros + 256, zeros + 512, std::byte(0)), 128);
  }
}
/// Every call of cuDNN fails once. cudnn-frontend may go on after a failure,
/// because it asks two heuristics and tries every plan.
TEST_F(CudaOnDoublesTest, EveryCallOfCudnnMayFail) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  std::vector<std::vector<std::byte>> want, got;
  WorldConfig settings = config(1);
  settings.warn = [](const std::string &) {};
  forgetCalls();
  Status status = runAttention(settings, 3, want);
  ASSERT_TRUE(status.ok()) << status.message();
  std::map<std::string, int> counts;
  for (const char *call : cudnnCalls)
    EXPECT_GT(counts[call] = callsOf(call), 0) << call;
  int refused = 0;
  for (const char *call : cudnnCalls)
    for (int occurrence : occurrencesOf(counts[call])) {
      SCOPED_TRACE(std::string(call) + " number " + std::to_string(occurrence));
      failCall(call, occurrence);
      status = runAttention(settings, 3, got);
      EXPECT_TRUE(hasFailed());
      EXPECT_EQ(liveObjects(), before) << status.message();
      if (status.ok()) {
        EXPECT_TRUE(got == want);
        continue;
      }
      ++refused;
      EXPECT_THAT(status.message(), AllOf(HasSubstr("rank 0: %"),
                                          AnyOf(HasSubstr(" failed: "),
                                                HasSubstr("has no such"))));
    }
  EXPECT_GE(refused, 8);
}

TEST_F(CudaOnDoublesTest, AFailureOfCudnnNamesTheCommand) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  std::vector<std::vector<std::byte>> arenas;
  failCall("cudnnBackendExecute", 2);
  Status status = runAttention(config(1), 1, arenas);
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("rank 0: %gradient: cuDNN's execute failed: "),
                    HasSubstr("cudnnBackendExecute was to fail"),
                    HasSubstr("CUDNN_STATUS_EXECUTION_FAILED")));
}

} // namespace
