/// Gives the graphs of attention to the real cuDNN, without a GPU. Tests
/// whether it has an engine for them on an H100 and an A100, and generates
/// code. Only a GPU can test the results.
#include "Runtime/Cuda/Attention/CudnnGraph.h"
#include "Runtime/Cuda/Attention/CudnnLibrary.h"

#include "tpsp/Abi/tpsp_rt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <dlfcn.h>
#include <map>

using namespace tpsp::rt;
using testing::AllOf;
using testing::HasSubstr;

namespace {

struct Gpu {
  const char *name;
  int version, multiprocessors, sharedBytes;
};
constexpr Gpu a100 = {"NVIDIA A100-SXM4-80GB", 80, 108, 166912};
constexpr Gpu h100 = {"NVIDIA H100 80GB HBM3", 90, 132, 232448};
/// Too old for any attention.
constexpr Gpu p100 = {"Tesla P100-SXM2-16GB", 60, 56, 49152};

/// Describes a GPU in cuDNN's format, with NVIDIA's published numbers.
std::string describe(const Gpu &gpu) {
  int major = 0, minor = 0, patch = 0;
  std::sscanf(cudnnVersion().c_str(), "%d.%d.%d", &major, &minor, &patch);
  int version = 10000 * major + 100 * minor + patch;
  return fmt::format(
      R"({{"cudnnVersion":{0},"version":{0},"cudaDeviceId":0,)"
      R"("deviceName":"{1}","deviceVer":{2},"driverVer":13000,)"
      R"("isTccDriver":0,"maxCtasPerSM":32,"maxRegistersPerSM":65536,)"
      R"("maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":{3},"maxThreadsPerBlock":1024,)"
      R"("maxThreadsPerSM":2048,"memClockRateKHz":1593000,)"
      R"("multiProcessorCount":{4},"pciDeviceId":0,"regsPerBlock":65536,)"
      R"("reservedSharedMemoryPerBlock":1024,"smClockRateKHz":1410000,)"
      R"("supportCoopLaunch":1,"totalGlobalMem":80000000000,)"
      R"("maxBlockSize":[1024,1024,64],"l2CacheSize":41943040,)"
      R"("warpSize":32,"maxGridSize":[2147483647,65535,65535]}})",
      version, gpu.name, 10 * gpu.version, gpu.sharedBytes,
      gpu.multiprocessors);
}

struct Shape {
  int64_t batch, heads, groups, queries, keys, features, valueFeatures;
};

/// Returns a dense layout. `order` lists the indices, outermost first, such as
/// "bshg"; the feature comes last.
AttentionLayout layoutOf(const std::string &order, const Shape &shape,
                         int64_t groups, int64_t rows, int64_t features) {
  AttentionLayout at;
  std::map<char, std::pair<int64_t, int64_t *>> indices = {
      {'b', {shape.batch, &at.batch}},
      {'h', {shape.heads, &at.head}},
      {'g', {groups, &at.group}},
      {'s', {rows, &at.row}}};
  int64_t inner = features;
  for (auto name = order.rbegin(); name != order.rend(); ++name) {
    auto [extent, stride] = indices.at(*name);
    *stride = inner;
    inner *= extent;
  }
  if (groups == 1)
    at.group = 0;
  return at;
}

struct Case {
  Shape shape = {2, 2, 4, 256, 256, 64, 64};
  bool causal = true;
  int64_t dtype = TPSP_RT_BF16;
  std::string order = "bshg";
  bool keepsStatistic = true;
  int64_t queryStart = 0;
  int64_t window = 0;
  double softcap = 0;
  bool hasSegments = false, hasLengths = false;

  AttentionCommand command() const {
    const Shape &s = shape;
    AttentionCommand c;
    c.dtype = dtype;
    c.batch = s.batch, c.heads = s.heads, c.groups = s.groups;
    c.queries = s.queries, c.keys = s.keys;
    c.features = s.features, c.valueFeatures = s.valueFeatures;
    c.scale = 0.125;
    c.causal = causal;
    c.keepsStatistic = keepsStatistic;
    c.q = layoutOf(order, s, s.groups, s.queries, s.features);
    c.o = layoutOf(order, s, s.groups, s.queries, s.valueFeatures);
    c.k = layoutOf(order, s, 1, s.keys, s.features);
    c.v = layoutOf(order, s, 1, s.keys, s.valueFeatures);
    c.window = window;
    c.softcap = softcap;
    c.hasSegments = hasSegments;
    c.hasLengths = hasLengths;
    c.querySegments = {s.queries, 0, 0, 1};
    c.keySegments = {s.keys, 0, 0, 1};
    c.lengths = {1};
    return c;
  }
};

class CudnnSupportTest : public testing::Test {
protected:
  /// For every graph cuDNN loads and unloads NVRTC, which has a C++ library of
  /// its own. Each time that library's pool for exceptions is leaked. Keeping
  /// NVRTC loaded avoids a leak checker's report.
  static void SetUpTestSuite() { (void)dlopen("libnvrtc.so.13", RTLD_LAZY); }

  void SetUp() override {
    if (Status status = loadCudnn(); !status.ok())
      GTEST_SKIP() << "no cuDNN here: " << status.message();
  }

  /// Returns OK, or why cuDNN has no engine.
  static Status ask(const Case &what, bool isGradient, const Gpu &gpu) {
    CudnnGraph graph;
    return ask(what, isGradient, gpu, graph);
  }
  static Status ask(const Case &what, bool isGradient, const Gpu &gpu,
                    CudnnGraph &graph) {
    CudnnGpu where{gpu.version, gpu.multiprocessors, describe(gpu)};
    if (Status s =
            graph.describe(what.command(), isGradient, what.queryStart, where);
        !s.ok())
      return s;
    return graph.chooseEngine(nullptr);
  }

  static void expectTaken(const Case &what, bool isGradient, const Gpu &gpu) {
    Status status = ask(what, isGradient, gpu);
    const Shape &s = what.shape;
    EXPECT_TRUE(status.ok())
        << gpu.name << (isGradient ? ", gradient" : ", forward") << ", heads "
        << s.heads << " x " << s.groups << ", s " << s.queries << " t "
        << s.keys << " from " << what.queryStart << " d " << s.features << " e "
        << s.valueFeatures << " " << what.order
        << (what.causal ? ", causal" : "") << ": " << status.message();
  }
  static void expectTaken(const Case &what) {
    for (const Gpu &gpu : {a100, h100})
      for (bool isGradient : {false, true})
        expectTaken(what, isGradient, gpu);
  }
  static void expectRefused(const Case &what, bool isGradient, const Gpu &gpu,
                            const char *why) {
    Status status = ask(what, isGradient, gpu);
    EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_THAT(status.message(), HasSubstr("--attention rows"));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
};

TEST_F(CudnnSupportTest, ManyHeadsGroupsOfHeadsAndOneHead) {
  const std::pair<int64_t, int64_t> heads[] = {{8, 1}, {2, 4}, {1, 8}, {1, 1}};
  for (auto [keyHeads, groups] : heads)
    for (int64_t features : {64, 128})
      for (bool causal : {false, true})
        for (int64_t dtype : {TPSP_RT_BF16, TPSP_RT_F16})
          for (const char *order : {"bshg", "bhgs"})
            expectTaken({{2, keyHeads, groups, 256, 256, features, features},
                         causal,
                         dtype,
                         order});
}

TEST_F(CudnnSupportTest, FeaturesInMultiplesOfEightUpTo128) {
  for (int64_t features = 8; features <= 128; features += 8)
    expectTaken({{1, 2, 2, 192, 192, features, features}});
  for (auto [d, e] : {std::pair<int64_t, int64_t>{64, 128}, {128, 64}, {8, 72}})
    expectTaken({{1, 2, 2, 192, 192, d, e}});
}

/// Only the H100 has gradients of more than 128 features, so a compiler should
/// not rely on them.
TEST_F(CudnnSupportTest, MoreThan128Features) {
  for (int64_t features : {136, 192, 256}) {
    Case what{{1, 2, 2, 192, 192, features, features}};
    for (const Gpu &gpu : {a100, h100})
      expectTaken(what, /*isGradient=*/false, gpu);
    expectTaken(what, /*isGradient=*/true, h100);
    expectRefused(what, /*isGradient=*/true, a100, "no such attention");
  }
}

TEST_F(CudnnSupportTest, AnyNumbersOfQueriesAndKeys) {
  const std::pair<int64_t, int64_t> extents[] = {
      {1, 2},       {2, 1},    {1, 256},   {256, 1},      {7, 13},
      {13, 7},      {63, 65},  {100, 100}, {127, 129},    {128, 4096},
      {1001, 1000}, {5, 8192}, {1024, 64}, {65536, 65536}};
  for (auto [queries, keys] : extents)
    for (bool causal : {false, true})
      expectTaken({{1, 2, 2, queries, keys, 64, 64}, causal});
  // Forward alone takes one of each.
  Case one{{2, 2, 2, 1, 1, 64, 64}};
  for (const Gpu &gpu : {a100, h100}) {
    expectTaken(one, /*isGradient=*/false, gpu);
    expectRefused(one, /*isGradient=*/true, gpu, "one query and one key");
  }
}

/// For ranks that divide the queries, the mask ends at the last query and key.
TEST_F(CudnnSupportTest, QueriesThatStartLater) {
  const std::array<int64_t, 3> extents[] = {
      // queries, keys, start
      {1, 3, 1},     {1, 7, 6},       {7, 21, 7},      {7, 21, 14},
      {64, 256, 64}, {100, 300, 200}, {63, 4096, 126}, {8192, 65536, 57344}};
  for (auto [queries, keys, start] : extents)
    for (const char *order : {"bshg", "bhgs", "sbhg"}) {
      Case what{{2, 2, 2, queries, keys, 64, 128}};
      what.order = order;
      what.queryStart = start;
      expectTaken(what);
    }
  // Rows that see all keys.
  Case more{{2, 2, 2, 4, 6, 64, 64}};
  more.queryStart = 4;
  for (bool isGradient : {false, true})
    expectRefused(more, isGradient, h100, "more than its 6 keys");
}

TEST_F(CudnnSupportTest, OrdersOfIndices) {
  for (const char *order : {"bshg", "bhgs", "sbhg", "hgbs", "hgsb", "shgb"})
    expectTaken({{2, 3, 2, 100, 60, 64, 64}, true, TPSP_RT_BF16, order});
  // Heads and groups that are not adjacent, so that no single stride covers
  // both.
  for (const char *order : {"bhsg", "gbhs", "bghs"})
    expectRefused({{2, 3, 2, 100, 60, 64, 64}, true, TPSP_RT_BF16, order},
                  /*isGradient=*/false, h100, "no single stride");
}

TEST_F(CudnnSupportTest, WithoutStatistic) {
  for (const Gpu &gpu : {a100, h100})
    for (bool causal : {false, true}) {
      Case what;
      what.keepsStatistic = false;
      what.causal = causal;
      expectTaken(what, /*isGradient=*/false, gpu);
    }
}

/// Longer than the sequences for which gradients are repeatable.
TEST_F(CudnnSupportTest, LongSequencesOfManyHeads) {
  expectTaken({{4, 8, 8, 8192, 8192, 128, 128}});
  expectTaken({{1, 1, 1, 131072, 131072, 128, 128}, /*causal=*/false});
}

TEST_F(CudnnSupportTest, OtherTypesAndFeatures) {
  for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_F64}) {
    Case what;
    what.dtype = dtype;
    for (bool isGradient : {false, true})
      expectRefused(what, isGradient, h100, "not f16 or bf16");
  }
  for (int64_t features : {1, 4, 12, 65})
    expectRefused({{1, 2, 2, 64, 64, features, 64}}, /*isGradient=*/false, h100,
                  "not a multiple of 8");
}

/// Every pair of a window, a soft-cap, segments and lengths, with and without a
/// mask and queries that start later.
TEST_F(CudnnSupportTest, WindowsCapsSegmentsAndLengths) {
  for (int options = 1; options < 16; ++options)
    for (auto [causal, start] :
         {std::pair<bool, int64_t>{false, 0}, {true, 0}, {true, 64}}) {
      Case what{{2, 2, 4, 256, 512, 64, 64}, causal};
      what.queryStart = start;
      what.window = options & 1 ? 100 : 0;
      what.softcap = options & 2 ? 30 : 0;
      what.hasSegments = options & 4;
      what.hasLengths = options & 8;
      if (what.window > 0 && !causal)
        continue;
      SCOPED_TRACE(fmt::format("options {:04b}", options));
      expectTaken(what, /*isGradient=*/false, a100);
      for (bool isGradient : {false, true})
        expectTaken(what, isGradient, h100);
      expectTaken(what, /*isGradient=*/true, a100);
    }
}

TEST_F(CudnnSupportTest, SegmentsOfOddAndLongSequences) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{37, 41},
                               {1, 7},
                               {7, 1},
                               {1001, 1001},
                               {32768, 32768}})
    for (bool causal : {false, true}) {
      Case what{{2, 2, 4, queries, keys, 128, 128}, causal};
      what.hasSegments = true;
      for (bool isGradient : {false, true})
        expectTaken(what, isGradient, h100);
      what.keepsStatistic = false;
      expectTaken(what, /*isGradient=*/false, h100);
    }
}

/// Code is generated; loading it would need a driver.
TEST_F(CudnnSupportTest, CodeIsGenerated) {
  for (const Gpu &gpu : {a100, h100})
    for (bool isGradient : {false, true})
      for (bool causal : {false, true}) {
        Case what;
        what.causal = causal;
        CudnnGraph graph;
        Status asked = ask(what, isGradient, gpu, graph);
        ASSERT_TRUE(asked.ok()) << asked.message();
        Status built = graph.build();
        EXPECT_EQ(built.code(), TPSP_RT_INTERNAL);
        EXPECT_THAT(built.message(),
                    AllOf(HasSubstr("cuDNN's build_plans failed: "),
                          HasSubstr("EXECUTION_FAILED_CUDA_DRIVER")));
        EXPECT_EQ(built.message().find("NOT_SUPPORTED"), std::string::npos)
            << built.message();
      }
}

/// The refusals come from cuDNN.
TEST_F(CudnnSupportTest, AGpuThatIsTooOld) {
  expectRefused({}, /*isGradient=*/true, p100, "ARCH_MISMATCH");
  // This refusal comes from cudnn-frontend.
  expectRefused({}, /*isGradient=*/false, p100, "requires SM80");
}

} // namespace
