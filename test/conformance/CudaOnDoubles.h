/// Shared by the tests of the CUDA backend on fakes of CUDA's libraries
/// (test/cuda-doubles). The tests are skipped without the fakes.
#ifndef TPSP_TEST_CONFORMANCE_CUDAONDOUBLES_H
#define TPSP_TEST_CONFORMANCE_CUDAONDOUBLES_H

#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tpsp::rt::conformance {

constexpr int64_t arenaBytes = 1 << 16;

/// y[i] = 2 x[i] + positions[0] + positions[1] / 1000
void affine(void *const *buffers, const int64_t *positions, int64_t begin,
            int64_t end);

template <typename Function> Function *inDouble(const char *name) {
  return reinterpret_cast<Function *>(findInDouble(name));
}

inline void setDevices(int count) {
  inDouble<void(int)>("tpspDoubleSetDevices")(count);
}
inline void failCall(const char *name, int occurrence) {
  inDouble<void(const char *, int)>("tpspDoubleFail")(name, occurrence);
}
inline bool hasFailed() { return inDouble<bool()>("tpspDoubleHasFailed")(); }
inline int callsOf(const char *name) {
  return inDouble<int(const char *)>("tpspDoubleCalls")(name);
}
inline void forgetCalls() { inDouble<void()>("tpspDoubleForgetCalls")(); }
inline long liveObjects() {
  return inDouble<long()>("tpspDoubleLiveObjects")();
}

/// Returns the first, the last and one other of `count` calls, as numbers from
/// 1.
std::vector<int> occurrencesOf(int count);

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

  /// Whether the backend was built with cuDNN's headers. Then its fake exists.
  static bool hasCudnn() {
#ifdef TPSP_WITH_CUDNN
    return true;
#else
    return false;
#endif
  }

  /// Adds one of every command, on two streams.
  static void addEverything(Plan &plan, int64_t ranks);

  /// Runs some steps of every command in a new world; returns the status and
  /// sets the arenas of all ranks.
  static Status runEverything(const WorldConfig &config, int64_t ranks,
                              int steps,
                              std::vector<std::vector<std::byte>> &arenas);

  long before = 0;
};

/// Byte offsets of the buffers of addEverything().
constexpr int64_t at(int64_t slot) { return slot * 2048; }

/// Fills a rank's arena with small numbers as f64. Read as f32 or bf16, none of
/// them is a NaN.
Status fill(Rank &rank);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_CUDAONDOUBLES_H
