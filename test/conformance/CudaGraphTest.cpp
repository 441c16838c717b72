/// Recorded steps of the CUDA backend, and the calls that a step makes, on
/// fakes.
#include "CudaOnDoubles.h"

#include "tpsp/Runtime/CommandObserver.h"

#include <atomic>
#include <map>
#include <mutex>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::HasSubstr;

namespace {

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST_F(CudaOnDoublesTest, ReplayedStepsComputeTheSame) {
  for (int64_t ranks : {1, 2}) {
    std::vector<std::vector<std::byte>> eager, replayed;
    WorldConfig settings = config(ranks);
    settings.cuda.graphs = GraphUse::Off;
    forgetCalls();
    Status status = runEverything(settings, ranks, 4, eager);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(callsOf("cudaGraphLaunch"), 0);
    settings.cuda.graphs = GraphUse::On;
    settings.warn = [](const std::string &text) { ADD_FAILURE() << text; };
    std::vector<std::atomic<int>> told(ranks);
    settings.cuda.replayed = [&](int64_t rank, double seconds) {
      EXPECT_GE(seconds, 0);
      ++told[rank];
    };
    status = runEverything(settings, ranks, 4, replayed);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(callsOf("cudaGraphLaunch"), 3 * ranks);
    for (const std::atomic<int> &times : told)
      EXPECT_EQ(times, 3);
    EXPECT_EQ(callsOf("stream of a graph with its priority"), ranks);
    EXPECT_EQ(callsOf("upload by a launch"), 0);
    EXPECT_TRUE(eager == replayed) << ranks << " ranks";
  }
}

TEST_F(CudaOnDoublesTest, RanksThatShareAGpuAreNotCaptured) {
  setDevices(1);
  forgetCalls();
  std::vector<std::vector<std::byte>> arenas;
  Status status = runEverything(config(2), 2, 3, arenas);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(callsOf("cudaStreamBeginCapture"), 0);
}

/// Threads that launch graphs on several GPUs may wait for each other for ever.
TEST_F(CudaOnDoublesTest, ByDefaultSeveralGpusOfAProcessAreNotCaptured) {
  for (int64_t ranks : {1, 2}) {
    WorldConfig settings = config(ranks);
    settings.cuda.graphs = GraphUse::Auto;
    forgetCalls();
    std::vector<std::vector<std::byte>> arenas;
    Status status = runEverything(settings, ranks, 3, arenas);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(callsOf("cudaGraphLaunch"), ranks == 1 ? 2 : 0);
  }
}

TEST_F(CudaOnDoublesTest, AStepThatCannotBeCapturedRunsAsIssued) {
  std::vector<std::vector<std::byte>> want;
  ASSERT_TRUE(runEverything(config(1), 1, 4, want).ok());
  for (const char *call : {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                           "cudaGraphInstantiate", "cudaGraphUpload"}) {
    std::vector<std::string> warnings;
    WorldConfig settings = config(1);
    settings.warn = [&](const std::string &text) { warnings.push_back(text); };
    failCall(call, 1);
    std::vector<std::vector<std::byte>> got;
    Status status = runEverything(settings, 1, 4, got);
    ASSERT_TRUE(status.ok()) << call << ": " << status.message();
    EXPECT_TRUE(hasFailed()) << call;
    EXPECT_TRUE(got == want) << call;
    ASSERT_EQ(warnings.size(), 1u) << call;
    EXPECT_THAT(warnings[0],
                AllOf(HasSubstr("rank 0 runs its steps command by command"),
                      HasSubstr(call)));
  }
}

/// NCCL requires that a collective is captured on all of its ranks or on none.
TEST_F(CudaOnDoublesTest, RanksReplayAllOrNone) {
  std::vector<std::vector<std::byte>> want;
  ASSERT_TRUE(runEverything(config(2), 2, 4, want).ok());
  // A call of either rank fails between the beginning of a capture and its
  // first launch.
  for (const char *call : {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                           "cudaGraphInstantiate", "cudaGraphUpload"}) {
    std::mutex mutex;
    std::vector<std::string> warnings;
    WorldConfig settings = config(2);
    settings.warn = [&](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      warnings.push_back(text);
    };
    forgetCalls();
    failCall(call, 1);
    std::vector<std::vector<std::byte>> got;
    Status status = runEverything(settings, 2, 4, got);
    ASSERT_TRUE(status.ok()) << call << ": " << status.message();
    EXPECT_TRUE(hasFailed()) << call;
    EXPECT_TRUE(got == want) << call;
    EXPECT_EQ(callsOf("cudaGraphLaunch"), 0) << call;
    EXPECT_THAT(warnings,
                testing::UnorderedElementsAre(
                    HasSubstr(call), HasSubstr("another rank could not")))
        << call;
  }
}
//===----------------------------------------------------------------------===//
// Calls of a step
//===----------------------------------------------------------------------===//

TEST_F(CudaOnDoublesTest, LaterStepsAllocateNothing) {
  for (int devices : {1, 2}) {
    setDevices(devices);
    WorldConfig settings = config(2);
    settings.cuda.graphs = GraphUse::Off;
    Plan plan;
    addEverything(plan, 2);
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(settings, world).ok());
    auto step = [&] {
      Status status =
          world->run([&](Rank &rank) { return plan.stepOrReplay(rank); });
      ASSERT_TRUE(status.ok()) << status.message();
    };
    forgetCalls();
    step();
    EXPECT_EQ(callsOf("compilation by a launch"), 0);
    forgetCalls();
    for (int i = 0; i < 5; ++i)
      step();
    for (const char *call :
         {"cudaMalloc", "cudaEventCreateWithFlags", "cudaLibraryLoadData",
          "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatrixLayoutCreate",
          "ncclCommSplit", "cudaStreamSynchronize"})
      EXPECT_EQ(callsOf(call), 0) << call;
    EXPECT_EQ(callsOf("cublasLtMatmul"), 5 * 2 * 3);
  }
}

/// Records every command, in order.
class Observer final : public CommandObserver {
public:
  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_LE(begin, end);
    told.push_back({rank, command.stream, command.id, begin});
  }
  struct Entry {
    int64_t rank, stream, id;
    Time begin;
  };
  std::mutex mutex;
  std::vector<Entry> told;
};

TEST_F(CudaOnDoublesTest, TheObserverIsToldOfEveryCommand) {
  for (int devices : {1, 2}) {
    setDevices(devices);
    Observer observer;
    WorldConfig settings = config(2);
    settings.observer = &observer;
    std::vector<std::vector<std::byte>> arenas;
    auto begin = CommandObserver::Time::clock::now();
    Status status = runEverything(settings, 2, 3, arenas);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(observer.told.size(), 2u * 3u * 13u);
    std::map<std::pair<int64_t, int64_t>, std::vector<Observer::Entry>> lists;
    for (const Observer::Entry &each : observer.told) {
      EXPECT_GT(each.begin, begin);
      auto &list = lists[{each.rank, each.stream}];
      if (!list.empty()) {
        EXPECT_GE(each.begin, list.back().begin);
      }
      list.push_back(each);
    }
  }
}

} // namespace
