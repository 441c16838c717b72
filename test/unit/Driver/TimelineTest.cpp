/// Timelines: every command of every rank once, in order, as valid JSON.
#include "tpsp/Runtime/Driver/Timeline.h"

#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Commands.h"
#include "tpsp/Runtime/World.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace tpsp::rt;
using nlohmann::json;

namespace {

constexpr int64_t numCommands = 6;

Manifest makeManifest() {
  Manifest manifest;
  manifest.program = "test";
  manifest.mesh = {{"dp", 2}, {"tp", 2}};
  manifest.commands = numCommands;
  manifest.arenaBytes = 4096;
  ManifestCollective row;
  row.kind = "all_gather";
  row.axes = {"tp"};
  row.bytes = 64;
  row.commands = {3};
  manifest.collectives = {row};
  return manifest;
}

/// Kernels that take some time on stream 0, an all-gather on stream 1.
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
      commands.push_back({id, id == 3 ? 1 : 0, params.data(),
                          int64_t(params.size()), buffers, id == 3 ? 2 : 1,
                          nullptr, 0, id == 3 ? nullptr : +work,
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
  int64_t buffers[2] = {0, 512};
  std::vector<tpsp_rt_command> commands;
};

TEST(Timeline, HasTheLastStepOfEveryRank) {
  registerBuiltinBackends();
  Manifest manifest = makeManifest();
  Timeline timeline(manifest);
  TestPlan plan;
  WorldConfig config;
  config.mesh = manifest.mesh;
  config.arenaBytes = manifest.arenaBytes;
  config.observer = &timeline;
  std::unique_ptr<World> world;
  Status status = World::create(config, world);
  for (int step = 0; step < 2 && status.ok(); ++step) {
    timeline.begin();
    status = world->run([&](Rank &rank) { return plan.step(rank); });
  }
  ASSERT_TRUE(status.ok()) << status.message();

  json trace = json::parse(timeline.toJson(), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  std::map<std::pair<int64_t, int64_t>, double> ends;
  std::map<int64_t, std::vector<int64_t>> ids;
  std::map<std::string, int> metadata;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      ++metadata[event["args"]["name"]];
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    int64_t rank = event["pid"], stream = event["tid"],
            id = event["args"]["id"];
    ids[rank].push_back(id);
    EXPECT_EQ(stream, id == 3 ? 1 : 0);
    double begin = event["ts"], duration = event["dur"];
    double &end = ends[{rank, stream}];
    EXPECT_GE(begin, end - 1e-3);
    EXPECT_GE(duration, 0);
    end = begin + duration;
    if (id != 3)
      continue;
    EXPECT_EQ(event["name"], "all_gather %x");
    EXPECT_EQ(event["args"]["command"], "all_gather %x at m.mlir:1:2");
    EXPECT_EQ(event["args"]["kind"], "all_gather");
    EXPECT_EQ(event["args"]["axes"], json({"tp"}));
    EXPECT_EQ(event["args"]["bytes"], 64);
  }
  ASSERT_EQ(ids.size(), 4u);
  for (const auto &[rank, list] : ids)
    EXPECT_EQ(list, (std::vector<int64_t>{0, 1, 2, 3, 4, 5})) << rank;
  EXPECT_EQ(metadata["rank 3: dp=1 tp=1"], 1);
  EXPECT_EQ(metadata["compute"], 4);
  EXPECT_EQ(metadata["communication 1"], 4);
}

TEST(Timeline, OfNothingIsValid) {
  Manifest manifest = makeManifest();
  json trace = json::parse(Timeline(manifest).toJson(), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  EXPECT_TRUE(trace["traceEvents"].empty());
}

} // namespace
