/// Refusals and results of the CUDA backend, on fakes, that the conformance
/// suite does not cover.
#include "CudaOnDoubles.h"

#include "tpsp/Abi/ElementType.h"

#include <cstdlib>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;
using testing::HasSubstr;

namespace {

void unknownKernel(void *const *, const int64_t *, int64_t, int64_t) {}
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
  // Two arenas fit on two GPUs, but not on one.
  EXPECT_TRUE(createOnly(config(2, int64_t(600) << 20)).ok());
  setDevices(1);
  EXPECT_THAT(createOnly(config(2, int64_t(600) << 20)).message(),
              HasSubstr("2 arenas of 629145600 bytes do not fit GPU 0"));
  // The message names the largest buffers of an arena, if they are known.
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
  refuses([](auto &k) { k.parts = 0; }, "parts = 0");
  refuses([](auto &k) { k.parts = 65536; }, "parts = 65536");
  refuses([](auto &k) { k.shared_bytes = -1; }, "shared_bytes = -1");
  refuses([](auto &k) { k.shared_bytes = 300 << 10; },
          "cudaKernelSetAttributeForDevice failed: invalid argument");
  refuses([](auto &k) { k.entry = "absent"; },
          "%k: cudaLibraryGetKernel failed: named symbol not found "
          "(cudaErrorSymbolNotFound) for the kernel 'absent'");
  refuses([](auto &k) { k.image = "nonsense"; }, "ptxas: no PTX");
  // ptxas rejects the whole image.
  std::string wide = std::string(good.image) + ".visible .entry many(";
  for (int i = 0; i < 545; ++i)
    wide +=
        "\t.param .u64 .ptr .align 16 many_param_" + std::to_string(i) + ",";
  wide.back() = ')';
  wide += "\n{ ret; }\n";
  refuses([&](auto &k) { k.image = wide.c_str(); },
          "a PTX JIT compilation failed");
  // PTX is compiled when a kernel is first used.
  std::string faulty = std::string(good.image) + "// does not compile\n";
  refuses([&](auto &k) { k.image = faulty.c_str(); },
          "%k: cudaFuncGetAttributes failed: a PTX JIT compilation failed "
          "(cudaErrorInvalidPtx) for the kernel 'test_affine': ptxas: a line "
          "that does not compile");
}

/// A product of one row of one number with one matrix of one number.
GroupedMatmulCommand smallGrouped() {
  GroupedMatmulCommand c;
  c.m = c.n = c.k = c.lda = c.ldb = c.ldc = 1;
  return c;
}

TEST_F(CudaOnDoublesTest, GroupedMatmulsThatAreTooLarge) {
  GroupedMatmulCommand c = smallGrouped();
  c.batch = {{1 << 10, 0, 0, 1}};
  c.idStrides = {0};
  c.groups = int64_t(1) << 44;
  for (bool overflows : {false, true}) {
    Plan plan;
    c.batch[0].extent = overflows ? 1 << 16 : 1;
    plan.add(tpsp_rt_grouped_matmul, c.encode(), {0, 64, 128, 192});
    std::unique_ptr<World> world;
    ASSERT_TRUE(World::create(config(1, 1 << 20), world).ok());
    Status status =
        world->run([&](Rank &rank) { return plan.stepOrReplay(rank); });
    EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
    EXPECT_THAT(status.message(),
                HasSubstr(overflows ? "a grouped matmul of 1 rows by "
                                      "17592186044416 matrices, 65536 times, "
                                      "is too large; divide its rows"
                                    : "scratch memory"));
  }
}

/// A step launches two kernels and makes no other calls.
TEST_F(CudaOnDoublesTest, GroupedMatmulsAreTwoLaunches) {
  GroupedMatmulCommand c = smallGrouped();
  c.groups = 3, c.groupStride = 2;
  Plan plan;
  plan.add(tpsp_rt_grouped_matmul, c.encode(), {0, 64, 128, 192});
  WorldConfig settings = config(1);
  settings.cuda.graphs = GraphUse::Off;
  std::unique_ptr<World> world;
  ASSERT_TRUE(World::create(settings, world).ok());
  auto step = [&] {
    forgetCalls();
    return world->run([&](Rank &rank) { return plan.stepOrReplay(rank); });
  };
  ASSERT_TRUE(step().ok());
  ASSERT_TRUE(step().ok());
  EXPECT_EQ(callsOf("cudaLaunchKernel"), 2);
  for (const char *call : {"cudaMalloc", "cudaMemcpyAsync", "cudaFree"})
    EXPECT_EQ(callsOf(call), 0) << call;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Sets `arenas` to the arenas after an all-reduce and a reduce-scatter.
Status runReductions(const WorldConfig &settings, int64_t dtype,
                     int64_t reduction,
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
  std::unique_ptr<World> world;
  if (Status s = World::create(settings, world); !s.ok())
    return s;
  arenas.resize(size_t(world->numRanks()));
  return world->run([&](Rank &rank) -> Status {
    if (Status s = fill(rank); !s.ok())
      return s;
    if (Status s = plan.step(rank); !s.ok())
      return s;
    return snapshot(rank, arenaBytes, arenas[size_t(rank.number())]);
  });
}

/// This includes sums of 16-bit numbers: the order and the rounding are the
/// CPU's.
TEST_F(CudaOnDoublesTest, RanksThatShareAGpuComputeTheBitsOfTheCpu) {
  setDevices(1);
  for (const HalfFloat &half : halfFloats)
    for (int64_t ranks : {1, 2, 3, 4})
      for (int64_t reduction : {TPSP_RT_SUM, TPSP_RT_MAX}) {
        std::vector<std::vector<std::byte>> results[2];
        for (int i : {0, 1}) {
          WorldConfig settings = config(ranks);
          settings.backend = i == 0 ? "cpu" : "cuda";
          Status status =
              runReductions(settings, half.dtype, reduction, results[i]);
          ASSERT_TRUE(status.ok()) << status.message();
        }
        EXPECT_TRUE(results[0] == results[1])
            << half.formatName << ", " << ranks << " ranks";
      }
}

/// GPUs must run kernels of different communicators in the order in which they
/// are enqueued.
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

/// Runs a step of a single matmul.
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

/// The heuristic may return an algorithm with which cuBLASLt then rejects the
/// product.
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

/// A product is requested with its epilogue if cuBLASLt has it, else without.
/// Either way the heuristic is asked once.
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
      // The matrix has rows of 12 elements, no multiple of 8, though the pitch
      // is one.
      {TPSP_RT_BF16, 12, {Step::Keep, Step::Gelu}, false},
      {TPSP_RT_BF16, 12, {Step::Slope}, false},
      // f32 needs a more exact tanh than cuBLASLt's.
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

/// For a few long sums, many threads add parts, and a second kernel adds the
/// parts.
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

/// Long batches are split into as few calls as a GPU's grid allows.
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

} // namespace
