/// Loads backends by name. The CUDA backend's own refusals have other tests.
#include "tpsp/Runtime/BackendPlugin.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::rt;
using testing::HasSubstr;

namespace {

TEST(BackendPluginTest, BuiltInOnesNeedNoObject) {
  EXPECT_TRUE(loadBackend("cpu").ok());
  EXPECT_TRUE(loadBackend("trace").ok());
  EXPECT_TRUE(loadBackend("cpu").ok()) << "a second time";
}

TEST(BackendPluginTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  Status status = loadBackend("abacus");
  EXPECT_EQ(status.code(), TPSP_RT_INVALID);
  EXPECT_THAT(status.message(),
              HasSubstr("no backend 'abacus'; there are: cpu"));
}

/// The backend loads, or an error says what is missing.
TEST(BackendPluginTest, CudaLoadsOrSaysWhatToDo) {
  Status status = loadBackend("cuda");
  BackendFactory factory;
  if (status.ok()) {
    EXPECT_TRUE(findBackend("cuda", factory).ok());
    return;
  }
  EXPECT_EQ(status.code(), TPSP_RT_UNSUPPORTED);
  EXPECT_THAT(status.message(), HasSubstr("--backend cuda: "));
  EXPECT_THAT(status.message(), HasSubstr("libtpsp_cuda.so"));
  EXPECT_FALSE(findBackend("cuda", factory).ok());
}

} // namespace
