/// Failing calls of CUDA's libraries and ranks that stop, on fakes.
#include "CudaOnDoubles.h"

#include <chrono>
#include <functional>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::HasSubstr;

namespace {

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// The calls of the backend whose failure is an error. Calls that release
/// resources are not among them.
constexpr const char *failingCalls[] = {
    "cudaGetDeviceCount",
    "cudaSetDevice",
    "cudaGetDeviceProperties",
    "cudaMemGetInfo",
    "cudaMalloc",
    "cudaDeviceGetStreamPriorityRange",
    "cudaStreamCreateWithPriority",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaEventCreateWithFlags",
    "cudaEventRecord",
    "cudaMemcpyAsync",
    "cudaLibraryLoadData",
    "cudaLibraryGetKernel",
    "cudaFuncGetAttributes",
    "cudaLaunchKernel",
    "kernel",
    "cublasLtCreate",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatmulAlgoGetHeuristic",
    "cublasLtMatmul",
    "ncclGetUniqueId",
    "ncclCommInitRank",
    "ncclCommSplit",
    "ncclGroupStart",
    "ncclGroupEnd",
    "ncclAllReduce",
    "ncclAllGather",
    "ncclReduceScatter",
    "ncclSend",
    "ncclRecv",
};
/// Makes each call fail once in `run`, and expects an early error that names
/// the call.
void failEverything(const WorldConfig &settings, int64_t ranks,
                    const std::function<Status()> &run) {
  forgetCalls();
  ASSERT_TRUE(run().ok());
  std::vector<std::pair<const char *, int>> counts;
  for (const char *call : failingCalls)
    counts.push_back({call, callsOf(call)});
  for (auto [call, count] : counts)
    for (int occurrence : occurrencesOf(count)) {
      SCOPED_TRACE(std::string(call) + " number " + std::to_string(occurrence));
      long before = liveObjects();
      failCall(call, occurrence);
      auto begin = std::chrono::steady_clock::now();
      Status status = run();
      std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begin;
      // The number of calls, and their order across ranks, differ between runs.
      if (!hasFailed())
        continue;
      EXPECT_LT(took.count(), 10);
      EXPECT_EQ(liveObjects(), before) << status.message();
      if (status.ok()) {
        // The failure broke only a capture, or the name of a stream in a
        // message.
        EXPECT_GT(occurrence, 1);
        continue;
      }
      std::string says = std::string(call) == "kernel"
                             ? "unspecified launch failure"
                             : std::string(call) + " failed: ";
      EXPECT_THAT(status.message(), HasSubstr(says));
    }
}

TEST_F(CudaOnDoublesTest, EveryCallMayFailOnOneRank) {
  std::vector<std::vector<std::byte>> arenas;
  WorldConfig settings = config(1);
  settings.cuda.ncclAlways = true;
  settings.warn = [](const std::string &) {};
  failEverything(settings, 1,
                 [&] { return runEverything(settings, 1, 3, arenas); });
}

TEST_F(CudaOnDoublesTest, EveryCallMayFailBetweenGpus) {
  std::vector<std::vector<std::byte>> arenas;
  WorldConfig settings = config(2);
  settings.warn = [](const std::string &) {};
  failEverything(settings, 2,
                 [&] { return runEverything(settings, 2, 3, arenas); });
}

TEST_F(CudaOnDoublesTest, EveryCallMayFailOnASharedGpu) {
  setDevices(1);
  std::vector<std::vector<std::byte>> arenas;
  WorldConfig settings = config(3);
  failEverything(settings, 3,
                 [&] { return runEverything(settings, 3, 2, arenas); });
}
/// An error's message names the rank and the command.
TEST_F(CudaOnDoublesTest, AFailureNamesTheCommand) {
  std::vector<std::vector<std::byte>> arenas;
  failCall("cublasLtMatmul", 1);
  Status status = runEverything(config(1), 1, 1, arenas);
  EXPECT_EQ(status.code(), TPSP_RT_INTERNAL);
  EXPECT_THAT(status.message(), HasSubstr("rank 0: %product: cublasLtMatmul "
                                          "failed: CUBLAS_STATUS_EXECUTION_"
                                          "FAILED; with CUBLASLT_LOG_LEVEL=1 "
                                          "it says why"));
  failCall("ncclReduceScatter", 1);
  status = runEverything(config(2), 2, 1, arenas);
  EXPECT_THAT(status.message(),
              HasSubstr("%scatter: ncclReduceScatter failed: unhandled system "
                        "error"));
}

/// In later steps only NCCL's kernels wait for a rank that does not come.
TEST_F(CudaOnDoublesTest, ARankThatStopsAfterAStep) {
  for (bool graphs : {false, true}) {
    WorldConfig settings = config(2);
    settings.timeoutSeconds = 0.3;
    settings.cuda.graphs = graphs ? GraphUse::On : GraphUse::Off;
    Plan plan;
    AllReduceCommand reduce;
    reduce.axes = {0};
    reduce.counts = {64};
    // The kernel's library is unloaded with the world, for which the GPU must
    // be idle.
    KernelCommand kernel;
    kernel.grid = 8;
    kernel.positions = {{0, {}}, {0, {}}};
    plan.add(tpsp_rt_kernel, kernel.encode(), {at(1), at(2)}, "%k", affine);
    plan.add(tpsp_rt_all_reduce, reduce.encode(), {0, 0}, "%sum");
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(settings, world).ok());
    auto begin = std::chrono::steady_clock::now();
    Status status = world->run([&](Rank &rank) -> Status {
      for (int step = 0; step < 4; ++step) {
        if (rank.number() == 1 && step == 3)
          return {};
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
      }
      return {};
    });
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
    EXPECT_THAT(status.message(),
                graphs ? HasSubstr("rank 0: waited 0.3 s for a step that is "
                                   "replayed as a CUDA graph")
                       : HasSubstr("rank 0: %sum: waited 0.3 s for rank 1 "
                                   "(last issued all_reduce \"%sum\")"));
    EXPECT_LT(took.count(), 5);
  }
}

/// A rank stops before a step that is recorded. The others time out at the
/// recording.
TEST_F(CudaOnDoublesTest, ARankThatStopsBeforeItRecords) {
  WorldConfig settings = config(2);
  settings.timeoutSeconds = 0.3;
  settings.warn = [](const std::string &text) { ADD_FAILURE() << text; };
  Plan plan;
  addEverything(plan, 2);
  std::unique_ptr<World> world;
  ASSERT_TRUE(World::create(settings, world).ok());
  Status status = world->run([&](Rank &rank) -> Status {
    for (int step = 0; step < (rank.number() == 1 ? 1 : 3); ++step)
      if (Status s = plan.stepOrReplay(rank); !s.ok())
        return s;
    return {};
  });
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(status.message(),
              HasSubstr("rank 0: the recording of a step: waited 0.3 s for "
                        "rank 1 (last issued kernel \"%last\")"));
}

/// One communicator's kernel waits for a rank that does not come. Another
/// communicator's kernel is queued after it on the same stream.
TEST_F(CudaOnDoublesTest, ARankThatStopsBetweenTwoCommunicators) {
  setDevices(4);
  for (bool graphs : {false, true}) {
    WorldConfig settings = config(2);
    settings.mesh = {{"x", 2}, {"y", 2}};
    settings.timeoutSeconds = 0.3;
    settings.cuda.graphs = graphs ? GraphUse::On : GraphUse::Off;
    Plan plan;
    for (int64_t axis : {0, 1}) {
      AllReduceCommand reduce;
      reduce.axes = {axis};
      reduce.counts = {64};
      plan.add(tpsp_rt_all_reduce, reduce.encode(), {0, 0}, "%sum");
    }
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(settings, world).ok());
    auto begin = std::chrono::steady_clock::now();
    Status status = world->run([&](Rank &rank) -> Status {
      for (int step = 0; step < (rank.number() == 3 ? 3 : 4); ++step)
        if (Status s = plan.stepOrReplay(rank); !s.ok())
          return s;
      return {};
    });
    world.reset();
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT) << status.message();
    EXPECT_LT(took.count(), 2.5);
    EXPECT_EQ(liveObjects(), before);
  }
}

} // namespace
