/// Timelines: every command of every rank once, in order, as valid JSON.
#include "tpsp/Runtime/Driver/Pictures/Timeline.h"

#include "Runtime/Driver/Files/EnumJson.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Pictures/ChromeTrace.h"
#include "tpsp/Runtime/World.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <map>
#include <thread>

using namespace tpsp;
using namespace tpsp::rt;
using nlohmann::json;

namespace {

constexpr int64_t numCommands = 6;

Plan makePlan() {
  Plan plan;
  plan.program = "test";
  plan.mesh = {{"dp", 2}, {"tp", 2}};
  for (int64_t id = 0; id < numCommands; ++id) {
    PlanCommand &command = plan.commands.emplace_back();
    command.call = id == 3 ? "all_gather" : "kernel \"\xff\"";
    command.location = id == 3 ? "m.mlir:1:2" : "m.mlir:3:4";
  }
  PlanCommand &gather = plan.commands[3];
  gather.kind = CommandKind::Collective;
  gather.value = "%x";
  gather.collective.row = 0;
  plan.numStreams = 2;
  plan.arenaBytes = 4096;
  LedgerRow row;
  row.kind = CollectiveKind::AllGather;
  row.axes = {"tp"};
  row.bytes = 64;
  row.commands = {3};
  plan.ledger = {row};
  return plan;
}

/// A plan of kernels that take some time on stream 0, and an all-gather on
/// stream 1.
struct TestPlan {
  TestPlan() {
    ShardCommand gather;
    gather.axes = {1};
    gather.chunk = 16;
    gatherParams = gather.encode();
    kernelParams = KernelCommand().encode();
    auto work = [](void *const *buffers, const int64_t *, int64_t, int64_t) {
      auto *values = static_cast<volatile float *>(buffers[0]);
      for (int i = 0; i < 10000; ++i)
        values[0] = values[0] + 1;
    };
    for (int64_t id = 0; id < numCommands; ++id) {
      const Params &params = id == 3 ? gatherParams : kernelParams;
      commands.push_back(
          {id, id == 3 ? 1 : 0, params.data(), int64_t(params.size()),
           id == 3 ? buffers : kernelBuffers, id == 3 ? 2 : 1, nullptr, 0,
           nullptr, 0, id == 3 ? nullptr : +work, nullptr,
           id == 3 ? "all_gather %x at m.mlir:1:2"
                   : "kernel \"\xff\" at m.mlir:3:4"});
    }
  }
  Status step(Rank &rank) const {
    for (const tpsp_rt_command &command : commands) {
      tpsp_rt_status code = command.kernel
                                ? tpsp_rt_kernel(rank.handle(), &command)
                                : tpsp_rt_all_gather(rank.handle(), &command);
      if (Status s = rank.result(code); !s.ok())
        return s;
    }
    return {};
  }

  Params gatherParams, kernelParams;
  // Nothing orders the kernels and the gather.
  int64_t buffers[2] = {0, 512}, kernelBuffers[1] = {1024};
  std::vector<tpsp_rt_command> commands;
};

std::string jsonOf(const Timeline &timeline, const Plan &plan) {
  StepTrace trace = emptyTrace(std::make_shared<Plan>(plan));
  timeline.fill(trace);
  return toChromeJson(trace);
}

TEST(Timeline, HasTheLastStepOfEveryRank) {
  registerBuiltinBackends();
  Plan plan = makePlan();
  Timeline timeline(plan);
  TestPlan commands;
  WorldConfig config;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.numStreams = plan.numStreams;
  config.observer = &timeline;
  std::unique_ptr<World> world;
  Status status = World::create(config, world);
  for (int step = 0; step < 2 && status.ok(); ++step) {
    timeline.begin();
    status = world->run([&](Rank &rank) { return commands.step(rank); });
  }
  ASSERT_TRUE(status.ok()) << status.message();

  json trace = json::parse(jsonOf(timeline, plan), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  std::map<std::pair<int64_t, int64_t>, double> ends;
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> ids;
  std::map<std::string, int> metadata;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      ++metadata[event["args"]["name"]];
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    int64_t rank = event["pid"], stream = event["tid"],
            id = event["args"]["id"];
    ids[{rank, stream}].push_back(id);
    EXPECT_EQ(stream, id == 3 ? 1 : 0);
    double begin = event["ts"], duration = event["dur"];
    double &end = ends[{rank, stream}];
    EXPECT_GE(begin, end - 1e-3);
    EXPECT_GE(duration, 0);
    end = begin + duration;
    if (id != 3)
      continue;
    EXPECT_EQ(event["name"], "all_gather %x");
    EXPECT_EQ(event["args"]["location"], "m.mlir:1:2");
    EXPECT_EQ(event["args"]["kind"], "all_gather");
    EXPECT_EQ(event["args"]["axes"], json({"tp"}));
    // The event has the same facts as a report's collective.
    json said = {{"id", 3}, {"location", "m.mlir:1:2"}};
    LedgerRow::visitFacts(
        plan.ledger.front(),
        [&](const char *name, const auto &fact) { said[name] = fact; });
    EXPECT_EQ(event["args"], said);
    EXPECT_EQ(said["bytes"], 64);
  }
  ASSERT_EQ(ids.size(), 8u);
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ((ids[{rank, 0}]), (std::vector<int64_t>{0, 1, 2, 4, 5})) << rank;
    EXPECT_EQ((ids[{rank, 1}]), (std::vector<int64_t>{3})) << rank;
  }
  EXPECT_EQ(metadata["rank 3: dp=1 tp=1"], 1);
  EXPECT_EQ(metadata["compute"], 4);
  EXPECT_EQ(metadata["communication 1"], 4);
}

std::atomic<bool> computed{false};

/// An event of another stream has the time in which its command ran, not the
/// time in which it was issued.
TEST(Timeline, HasWhenACommandRan) {
  registerBuiltinBackends();
  Plan plan;
  plan.commands.resize(2);
  plan.numStreams = 2;
  Timeline timeline(plan);
  Params params = KernelCommand().encode();
  auto kernel = [&](int64_t id, int64_t stream, tpsp_rt_kernel_function body) {
    return tpsp_rt_command{
        id,      stream, params.data(), int64_t(params.size()),
        nullptr, 0,      nullptr,       0,
        nullptr, 0,      body,          nullptr,
        ""};
  };
  tpsp_rt_command commands[] = {
      kernel(0, 1,
             [](void *const *, const int64_t *, int64_t, int64_t) {
               for (int i = 0; i < 5000 && !computed; ++i)
                 std::this_thread::sleep_for(std::chrono::milliseconds(1));
             }),
      kernel(1, 0, [](void *const *, const int64_t *, int64_t, int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        computed = true;
      })};
  WorldConfig config;
  config.numStreams = 2;
  config.observer = &timeline;
  std::unique_ptr<World> world;
  ASSERT_TRUE(World::create(config, world).ok());
  timeline.begin();
  Status status = world->run([&](Rank &rank) -> Status {
    for (const tpsp_rt_command &command : commands)
      if (Status s = rank.result(tpsp_rt_kernel(rank.handle(), &command));
          !s.ok())
        return s;
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.message();
  json trace = json::parse(jsonOf(timeline, plan));
  double ends[2] = {}, begins[2] = {};
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == "X") {
      int64_t id = event["args"]["id"];
      begins[id] = event["ts"];
      ends[id] = begins[id] + double(event["dur"]);
    }
  EXPECT_LT(begins[0], ends[1]);
  EXPECT_GT(ends[0], begins[1]);
  EXPECT_GT(ends[0] - begins[0], 0);
}

TEST(Timeline, OfNothingIsValid) {
  Plan plan = makePlan();
  json trace = json::parse(jsonOf(Timeline(plan), plan), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  for (const json &event : trace["traceEvents"])
    EXPECT_EQ(event["ph"], "M"); // the ranks' names
}

} // namespace
