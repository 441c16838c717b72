/// What the conformance suite does not ask of the CUDA backend: refusals, every
/// call failing once, graphs, what a step allocates, processes. On doubles of
/// CUDA's libraries (test/cuda-doubles); elsewhere skipped.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/CommandObserver.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

namespace {

constexpr int64_t arenaBytes = 1 << 16;

/// y[i] = 2 x[i] + positions[0] + positions[1] / 1000
void affine(void *const *buffers, const int64_t *positions, int64_t begin,
            int64_t end) {
  auto *x = static_cast<const double *>(buffers[0]);
  auto *y = static_cast<double *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = 2 * x[i] + positions[0] + positions[1] / 1000.0;
}
const bool haveTwins = addDeviceTwin(affine, "test_affine");

void unknownKernel(void *const *, const int64_t *, int64_t, int64_t) {}

template <typename Function> Function *inDouble(const char *name) {
  return reinterpret_cast<Function *>(findInDouble(name));
}

void setDevices(int count) {
  inDouble<void(int)>("tpspDoubleSetDevices")(count);
}
void failCall(const char *name, int occurrence) {
  inDouble<void(const char *, int)>("tpspDoubleFail")(name, occurrence);
}
bool hasFailed() { return inDouble<bool()>("tpspDoubleHasFailed")(); }
int callsOf(const char *name) {
  return inDouble<int(const char *)>("tpspDoubleCalls")(name);
}
void forgetCalls() { inDouble<void()>("tpspDoubleForgetCalls")(); }
long liveObjects() { return inDouble<long()>("tpspDoubleLiveObjects")(); }

class CudaOnDoublesTest : public testing::Test {
protected:
  void SetUp() override {
    if (!isOnDoubles())
      GTEST_SKIP() << "CUDA's libraries are not doubles";
    setDevices(2);
    before = liveObjects();
  }
  void TearDown() override {
    if (isOnDoubles()) {
      EXPECT_EQ(liveObjects(), before) << "something was not given back";
    }
  }

  static WorldConfig config(int64_t ranks, int64_t bytes = arenaBytes) {
    WorldConfig result;
    result.backend = "cuda";
    result.mesh = {{"x", ranks}};
    result.arenaBytes = bytes;
    result.numStreams = 2;
    result.numEvents = 2;
    result.timeoutSeconds = 20;
    result.cuda.graphs = GraphUse::On;
    return result;
  }

  static Status createOnly(const WorldConfig &config) {
    std::unique_ptr<World> world;
    return World::create(config, world);
  }

  /// Whether the backend was built with cuDNN's headers, and so its double.
  static bool hasCudnn() {
#ifdef TPSP_WITH_CUDNN
    return true;
#else
    return false;
#endif
  }

  /// One of every command, on two streams.
  static void addEverything(Plan &plan, int64_t ranks);

  /// A world, some steps of everything, and what became of it.
  static Status runEverything(const WorldConfig &config, int64_t ranks,
                              int steps,
                              std::vector<std::vector<std::byte>> &arenas);
  static Status runAttention(const WorldConfig &config, int steps,
                             std::vector<std::vector<std::byte>> &arenas,
                             int layers = 1);
  static Status runReductions(const std::string &backend, int64_t ranks,
                              int64_t dtype, int64_t reduction,
                              std::vector<std::vector<std::byte>> &arenas);

  long before = 0;
};

/// Where the commands of addEverything have their data, in bytes.
constexpr int64_t at(int64_t slot) { return slot * 2048; }

void CudaOnDoublesTest::addEverything(Plan &plan, int64_t ranks) {
  MatmulCommand product;
  product.dtype = TPSP_RT_BF16;
  product.m = 5, product.n = 6, product.k = 7;
  product.lda = product.k, product.ldb = product.n, product.ldc = 9;
  product.accumulate = {{3, 64, 80, 0}};
  plan.add(tpsp_rt_matmul, product.encode(), {at(0), at(1), at(2)}, "%product");
  KernelCommand kernel;
  kernel.grid = 37;
  kernel.positions = {{64, {0}}, {5, {}}};
  plan.add(tpsp_rt_kernel, kernel.encode(), {at(3), at(4)}, "%kernel", affine);
  plan.add(tpsp_rt_event_record, EventCommand{0}.encode(), {}, "%record");
  plan.on(1).add(tpsp_rt_event_wait, EventCommand{0}.encode(), {}, "%wait");
  ShardCommand shard;
  shard.dtype = TPSP_RT_BF16;
  shard.axes = {0};
  shard.outer = 3, shard.chunk = 5, shard.pitch = 7;
  plan.add(tpsp_rt_all_gather, shard.encode(), {at(2), at(5)}, "%gather");
  shard.dtype = TPSP_RT_F64;
  plan.add(tpsp_rt_reduce_scatter, shard.encode(), {at(4), at(6)}, "%scatter");
  plan.add(tpsp_rt_slice, shard.encode(), {at(4), at(7)}, "%slice");
  AllReduceCommand reduce;
  reduce.dtype = TPSP_RT_F64;
  reduce.axes = {0};
  reduce.counts = {11, 3};
  plan.add(tpsp_rt_all_reduce, reduce.encode(), {at(3), at(8), at(4), at(9)},
           "%reduce");
  AllToAllCommand exchange;
  exchange.axes = {0};
  exchange.a = 2, exchange.gather = 3, exchange.b = 2, exchange.scatter = 2;
  plan.add(tpsp_rt_all_to_all, exchange.encode(), {at(4), at(10)}, "%exchange");
  PermuteCommand permute;
  permute.axes = {0};
  for (int64_t q = 0; q < ranks; ++q)
    permute.source.push_back((q + 1) % ranks);
  permute.count = 5, permute.runs = 2;
  permute.sourcePitch = 6, permute.targetPitch = 8;
  plan.add(tpsp_rt_permute, permute.encode(), {at(10), at(11)}, "%permute");
  plan.add(tpsp_rt_event_record, EventCommand{1}.encode(), {}, "%record");
  plan.on(0).add(tpsp_rt_event_wait, EventCommand{1}.encode(), {}, "%wait");
  plan.add(tpsp_rt_kernel, kernel.encode(), {at(8), at(12)}, "%last", affine);
}

/// A rank's arena at the beginning: small numbers as f64, so also as pairs of
/// f32 and of bf16 none is a NaN.
Status fill(Rank &rank) {
  std::mt19937 random(unsigned(1 + rank.number()));
  std::vector<std::byte> bytes =
      toBytes(TPSP_RT_BF16, randomValues(TPSP_RT_BF16, arenaBytes / 2, random));
  if (Status s = rank.write(0, bytes.data(), arenaBytes); !s.ok())
    return s;
  std::vector<double> values = randomValues(TPSP_RT_F64, 64, random);
  return rank.write(at(3), values.data(), 64 * 8);
}

Status
CudaOnDoublesTest::runEverything(const WorldConfig &config, int64_t ranks,
                                 int steps,
                                 std::vector<std::vector<std::byte>> &arenas) {
  Plan plan;
  addEverything(plan, ranks);
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  arenas.assign(size_t(ranks), {});
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    for (int step = 0; step < steps; ++step)
      if (Status s = plan.stepOrReplay(rank); !s.ok())
        return s;
    return snapshot(rank, arenaBytes, arenas[size_t(rank.number())]);
  });
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(CudaOnDoublesTest, WithoutDriverOrGpu) {
  setDevices(-1);
  EXPECT_THAT(createOnly(config(1)).message(),
              HasSubstr("there is no NVIDIA driver on this machine; install"));
  setDevices(-2);
  EXPECT_THAT(createOnly(config(1)).message(),
              HasSubstr("supports CUDA 12.4 and this build needs 13.0"));
  setDevices(0);
  EXPECT_THAT(createOnly(config(1)).message(),
              HasSubstr("the NVIDIA driver sees no GPU"));
  EXPECT_EQ(createOnly(config(1)).code(), TPSP_RT_UNSUPPORTED);
}

TEST_F(CudaOnDoublesTest, ArenasThatDoNotFit) {
  Status status = createOnly(config(1, int64_t(2) << 30));
  EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
  EXPECT_THAT(status.message(),
              HasSubstr("an arena of 2147483648 bytes does not fit GPU 0 (test "
                        "double), which has 1073741824 free of 1073741824"));
  // Two fit two GPUs, and not one.
  EXPECT_TRUE(createOnly(config(2, int64_t(600) << 20)).ok());
  setDevices(1);
  EXPECT_THAT(createOnly(config(2, int64_t(600) << 20)).message(),
              HasSubstr("2 arenas of 629145600 bytes do not fit GPU 0"));
  // What takes most of one is said, if it is known.
  EXPECT_THAT(status.message(), testing::Not(HasSubstr("largest")));
  WorldConfig told = config(1, int64_t(2) << 30);
  told.arenaConsumers = "scores 2.0 GiB (gpt.mlir:12:8)";
  EXPECT_THAT(
      createOnly(told).message(),
      HasSubstr("free of 1073741824; the largest in an arena: scores 2.0 "
                "GiB (gpt.mlir:12:8); use more GPUs"));
}

TEST_F(CudaOnDoublesTest, NcclForRanksThatShareAGpu) {
  WorldConfig settings = config(3);
  settings.cuda.ncclAlways = true;
  EXPECT_THAT(createOnly(settings).message(),
              HasSubstr("there are 3 ranks and 2 GPUs"));
}

TEST_F(CudaOnDoublesTest, KernelsThatAreNone) {
  auto runOne = [&](tpsp_rt_kernel_function function,
                    const tpsp_rt_device_kernel *device) {
    Params params = KernelCommand().encode();
    tpsp_rt_command command = {};
    command.params = params.data();
    command.num_params = int64_t(params.size());
    command.kernel = function;
    command.device = device;
    command.name = "%k";
    std::unique_ptr<World> world;
    EXPECT_TRUE(World::create(config(1), world).ok());
    return world->run([&](Rank &rank) {
      return rank.result(tpsp_rt_kernel(rank.handle(), &command));
    });
  };
  Status none = runOne(unknownKernel, nullptr);
  EXPECT_EQ(none.code(), TPSP_RT_UNSUPPORTED);
  EXPECT_THAT(none.message(),
              HasSubstr("%k: the plan has no kernels for GPUs"));
  const tpsp_rt_device_kernel good = *deviceTwin(affine);
  auto refuses = [&](auto change, const char *why) {
    tpsp_rt_device_kernel bad = good;
    change(bad);
    EXPECT_THAT(runOne(unknownKernel, &bad).message(), HasSubstr(why));
  };
  refuses([](auto &k) { k.threads = 0; }, "'test_affine' for GPUs has threads");
  refuses([](auto &k) { k.threads = 1025; }, "threads = 1025");
  refuses([](auto &k) { k.items = 0; }, "items = 0");
  refuses([](auto &k) { k.shared_bytes = -1; }, "shared_bytes = -1");
  refuses([](auto &k) { k.shared_bytes = 300 << 10; },
          "cudaKernelSetAttributeForDevice failed: invalid argument");
  refuses([](auto &k) { k.entry = "absent"; },
          "%k: cudaLibraryGetKernel failed: named symbol not found "
          "(cudaErrorSymbolNotFound) for the kernel 'absent'");
  refuses([](auto &k) { k.image = "nonsense"; }, "ptxas: no PTX");
  // Found when the kernel is first used.
  std::string faulty = std::string(good.image) + "// does not compile\n";
  refuses([&](auto &k) { k.image = faulty.c_str(); },
          "%k: cudaFuncGetAttributes failed: a PTX JIT compilation failed "
          "(cudaErrorInvalidPtx) for the kernel 'test_affine': ptxas: a line "
          "that does not compile");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What the arenas are after an all-reduce and a reduce-scatter.
Status
CudaOnDoublesTest::runReductions(const std::string &backend, int64_t ranks,
                                 int64_t dtype, int64_t reduction,
                                 std::vector<std::vector<std::byte>> &arenas) {
  AllReduceCommand reduce;
  reduce.dtype = dtype;
  reduce.reduction = reduction;
  reduce.axes = {0};
  reduce.counts = {1031, 5};
  ShardCommand scatter;
  scatter.dtype = dtype;
  scatter.reduction = reduction;
  scatter.axes = {0};
  scatter.outer = 3, scatter.chunk = 17;
  Plan plan;
  plan.add(tpsp_rt_all_reduce, reduce.encode(), {at(0), at(2), at(4), at(4)});
  plan.add(tpsp_rt_reduce_scatter, scatter.encode(), {at(2), at(5)});
  WorldConfig settings = config(ranks);
  settings.backend = backend;
  std::unique_ptr<World> world;
  if (Status s = World::create(settings, world); !s.ok())
    return s;
  arenas.resize(size_t(ranks));
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, arenaBytes, arenas[size_t(rank.number())]);
  });
}

/// Sums of 16-bit numbers included: the order and the rounding are the CPU's.
TEST_F(CudaOnDoublesTest, RanksThatShareAGpuComputeTheBitsOfTheCpu) {
  setDevices(1);
  for (const HalfFloat &half : halfFloats)
    for (int64_t ranks : {1, 2, 3, 4})
      for (int64_t reduction : {TPSP_RT_SUM, TPSP_RT_MAX}) {
        std::vector<std::vector<std::byte>> results[2];
        for (int i : {0, 1}) {
          Status status = runReductions(i == 0 ? "cpu" : "cuda", ranks,
                                        half.dtype, reduction, results[i]);
          ASSERT_TRUE(status.ok()) << status.message();
        }
        EXPECT_TRUE(results[0] == results[1])
            << half.formatName << ", " << ranks << " ranks";
      }
}

/// The order in which kernels of different communicators are enqueued is to be
/// that in which GPUs run them.
TEST_F(CudaOnDoublesTest, NcclIsToldToKeepTheOrderOfLaunches) {
  const char *value = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  ASSERT_NE(value, nullptr);
  EXPECT_STREQ(value, "1");
}

TEST_F(CudaOnDoublesTest, OneRankThroughNccl) {
  std::vector<std::vector<std::byte>> plain, nccl;
  ASSERT_TRUE(runEverything(config(1), 1, 3, plain).ok());
  forgetCalls();
  WorldConfig settings = config(1);
  settings.cuda.ncclAlways = true;
  Status status = runEverything(settings, 1, 3, nccl);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(plain == nccl);
  for (const char *call : {"ncclAllReduce", "ncclAllGather", "ncclSend",
                           "ncclReduceScatter", "ncclRecv"})
    EXPECT_GT(callsOf(call), 0) << call;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

MatmulCommand matmulWith(int64_t dtype, int64_t n,
                         std::vector<EpilogueStep> steps) {
  MatmulCommand c;
  c.dtype = dtype;
  c.m = 8, c.n = n, c.k = 16;
  c.lda = c.k, c.ldb = c.n, c.ldc = 16;
  c.epilogue = std::move(steps);
  return c;
}

/// A step of a single matmul.
Status runMatmul(const WorldConfig &config, const MatmulCommand &command,
                 std::vector<std::byte> &after) {
  std::vector<int64_t> buffers = {at(3), at(4), at(5)};
  for (EpilogueStep step : command.epilogue)
    if (hasBuffer(step))
      buffers.push_back(at(int64_t(3 + buffers.size())));
  Plan plan;
  plan.add(tpsp_rt_matmul, command.encode(), buffers, "%y");
  std::unique_ptr<World> world;
  if (Status s = World::create(config, world); !s.ok())
    return s;
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, arenaBytes, after);
  });
}

/// The heuristic may have an algorithm that the product then is refused with.
TEST_F(CudaOnDoublesTest, AnEpilogueThatIsRefusedIsDoneBehindTheProduct) {
  MatmulCommand command = matmulWith(TPSP_RT_F32, 16, {EpilogueStep::Bias});
  std::vector<std::byte> want, got;
  ASSERT_TRUE(runMatmul(config(1), command, want).ok());
  failCall("cublasLtMatmul", 1);
  Status status = runMatmul(config(1), command, got);
  EXPECT_TRUE(hasFailed());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(want == got);
}

/// What cuBLASLt has an epilogue for is asked for with it, and else once
/// without.
TEST_F(CudaOnDoublesTest, EpiloguesThatAreLeftToCublas) {
  using Step = EpilogueStep;
  struct Case {
    int64_t dtype, n;
    std::vector<Step> steps;
    bool isFused;
  };
  const Case cases[] = {
      {TPSP_RT_BF16, 16, {Step::Keep, Step::Gelu}, true},
      {TPSP_RT_BF16, 16, {Step::Slope}, true},
      {TPSP_RT_BF16, 16, {Step::Bias}, true},
      {TPSP_RT_BF16, 12, {Step::Bias, Step::Gelu}, true},
      {TPSP_RT_F32, 16, {Step::Bias}, true},
      // Rows of the matrix that are no multiple of 8 elements, though the
      // pitch is.
      {TPSP_RT_BF16, 12, {Step::Keep, Step::Gelu}, false},
      {TPSP_RT_BF16, 12, {Step::Slope}, false},
      // More exact than its tanh.
      {TPSP_RT_F32, 16, {Step::Gelu}, false},
      {TPSP_RT_F32, 16, {Step::Slope}, false},
  };
  for (const Case &each : cases) {
    SCOPED_TRACE(testing::Message() << &each - cases);
    std::vector<std::byte> after;
    forgetCalls();
    Status status =
        runMatmul(config(1), matmulWith(each.dtype, each.n, each.steps), after);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(callsOf("cublasLtMatmulAlgoGetHeuristic"), 1);
    EXPECT_EQ(callsOf("cudaLaunchKernel"), each.isFused ? 0 : 1);
  }
}

/// A few results of long sums: many threads, and a pass over what they have.
TEST_F(CudaOnDoublesTest, LongSumsAreDividedAmongThreads) {
  for (bool transposed : {false, true}) {
    MatmulCommand command;
    command.dtype = TPSP_RT_F64;
    command.m = 4, command.n = 1, command.k = 4096;
    command.transposeA = transposed;
    command.lda = transposed ? 4 : 4096, command.ldb = command.ldc = 1;
    command.epilogue = {EpilogueStep::SumA};
    Plan plan;
    plan.add(tpsp_rt_matmul, command.encode(), {0, 1 << 17, 1 << 18, 1 << 19},
             "%y");
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(config(1, 1 << 20), world).ok());
    std::vector<double> ones(4 * 4096, 1), sums(4);
    forgetCalls();
    Status status = world->run([&](Rank &rank) -> Status {
      if (Status s = rank.write(0, ones.data(), 8 * 4 * 4096); !s.ok())
        return s;
      if (Status s = plan.step(rank); !s.ok())
        return s;
      return rank.read(1 << 19, sums.data(), 8 * 4);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(sums, std::vector<double>(4, 4096));
    EXPECT_EQ(callsOf("cudaLaunchKernel"), 2);
  }
}

/// In as few calls as a GPU's grid allows.
TEST_F(CudaOnDoublesTest, LongBatchesAreSplit) {
  struct Case {
    int64_t extent, calls;
  };
  for (Case each : {Case{65535, 1}, Case{65537, 2}, Case{200000, 4}}) {
    MatmulCommand command;
    command.m = command.n = command.k = 1;
    command.lda = command.ldb = command.ldc = 1;
    command.batch = {{each.extent, 0, 0, 1}};
    Plan plan;
    plan.add(tpsp_rt_matmul, command.encode(), {0, 64, 128}, "%y");
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(config(1, 1 << 20), world).ok());
    forgetCalls();
    Status status = world->run([&](Rank &rank) { return plan.step(rank); });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(callsOf("cublasLtMatmul"), each.calls) << each.extent;
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

constexpr const char *cudnnCalls[] = {"cudnnCreate",
                                      "cudnnSetStream",
                                      "cudnnBackendCreateDescriptor",
                                      "cudnnBackendSetAttribute",
                                      "cudnnBackendGetAttribute",
                                      "cudnnBackendFinalize",
                                      "cudnnBackendExecute"};

/// Four heads of queries, two of keys.
AttentionCommand makeAttention() {
  AttentionCommand c;
  c.dtype = TPSP_RT_BF16;
  c.heads = 2, c.groups = 2;
  c.queries = 8, c.keys = 8, c.features = 8, c.valueFeatures = 8;
  c.scale = 0.25;
  c.causal = c.keepsStatistic = true;
  c.q = c.o = {256, 128, 64, 8};
  c.k = c.v = {128, 64, 0, 8};
  return c;
}

/// `layers` of the same attention, and its gradients.
Status
CudaOnDoublesTest::runAttention(const WorldConfig &config, int steps,
                                std::vector<std::vector<std::byte>> &arenas,
                                int layers) {
  Params params = makeAttention().encode();
  Plan plan;
  for (int i = 0; i < layers; ++i) {
    plan.on(0).add(tpsp_rt_attention, params,
                   {at(0), at(1), at(2), at(3), at(4)}, "%attention");
    plan.add(tpsp_rt_event_record, EventCommand{0}.encode(), {}, "%record");
    plan.on(1).add(tpsp_rt_event_wait, EventCommand{0}.encode(), {}, "%wait");
    plan.add(tpsp_rt_attention_gradient, params,
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

/// The bits of single commands and of replayed steps, on two streams.
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
  // The first step and the capture.
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
    // One of each is what an execution hands over.
    finalized[layers / 2] = callsOf("cudnnBackendFinalize") - 2 * layers;
  }
  EXPECT_EQ(finalized[0], finalized[1]);
}

TEST_F(CudaOnDoublesTest, AttentionThatIsNotAligned) {
  if (!hasCudnn())
    GTEST_SKIP() << "built without cuDNN";
  Plan plan;
  plan.add(tpsp_rt_attention, makeAttention().encode(),
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

/// Nothing to attend with: gradients of keys and values are zero.
TEST_F(CudaOnDoublesTest, AttentionWithoutQueries) {
  AttentionCommand command = makeAttention();
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

/// NCCL wants a collective to be captured on all of its ranks or on none.
TEST_F(CudaOnDoublesTest, RanksReplayAllOrNone) {
  std::vector<std::vector<std::byte>> want;
  ASSERT_TRUE(runEverything(config(2), 2, 4, want).ok());
  // Between the beginning of a capture and its end, a call of either rank.
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
// Failures
//===----------------------------------------------------------------------===//

/// Calls that the backend makes to go on, and not to give up what it has.
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

/// The first, the last and one call between.
std::vector<int> occurrencesOf(int count) {
  std::vector<int> result;
  for (int i : {1, count / 2, count})
    if (i > 0 && (result.empty() || i > result.back()))
      result.push_back(i);
  return result;
}

/// Fails every call once in a world as `settings`, and expects a refusal that
/// names it, soon.
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
      // How often is asked, and who comes first, differs from run to run.
      if (!hasFailed())
        continue;
      EXPECT_LT(took.count(), 10);
      EXPECT_EQ(liveObjects(), before) << status.message();
      if (status.ok()) {
        // What broke a capture, or a stream's name in a message.
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

/// Calls of cuDNN. cudnn-frontend may go on without one: it asks two heuristics
/// and tries every plan.
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

/// The command and its place are in the message.
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

/// A rank that is behind in a later step is missed by NCCL alone.
TEST_F(CudaOnDoublesTest, ARankThatStopsAfterAStep) {
  for (bool graphs : {false, true}) {
    WorldConfig settings = config(2);
    settings.timeoutSeconds = 0.3;
    settings.cuda.graphs = graphs ? GraphUse::On : GraphUse::Off;
    Plan plan;
    AllReduceCommand reduce;
    reduce.axes = {0};
    reduce.counts = {64};
    // Whose library goes with the world, for which the GPU must be idle.
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

/// One that is to be recorded: the others do not go on without it.
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

/// The kernel of one communicator waits on the stream behind that of another,
/// which waits for a rank that does not come.
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

//===----------------------------------------------------------------------===//
// What a step costs
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

/// Tells of every command once, in order.
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
