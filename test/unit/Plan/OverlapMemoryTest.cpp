// Overlap takes no more memory than it may, whatever is compiled. Random
// programs are held to the same (test/property).
#include "ExamplePlan.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tpsp;

namespace {

struct Variant {
  const char *name, *hardware;
  double memory;
  int64_t chunks;
  const char *rematerialize;
  const char *attention;
};

class OverlapMemory : public testing::TestWithParam<Variant> {
protected:
  /// Bytes of the arena; nullopt if the example is not for this machine.
  static std::optional<int64_t> arenaOf(const std::string &name, bool overlap) {
    Example example(name, Example::Stage::Plan, /*ranks=*/0,
                    [&](CompileOptions &options) {
                      options.hardware = GetParam().hardware;
                      options.rematerialize = GetParam().rematerialize;
                      options.attention = GetParam().attention;
                      options.overlap = overlap ? "on" : "off";
                      options.overlapMemory = GetParam().memory;
                      options.overlapChunks = GetParam().chunks;
                    });
    if (!example)
      return std::nullopt;
    return planOf(*example.module().getOps<plan::ProgramOp>().begin())
        .arenaBytes;
  }
};

TEST_P(OverlapMemory, OfExamplesIsBounded) {
  int more = 0, compiled = 0;
  for (const std::string &name : exampleNames()) {
    auto without = arenaOf(name, false), with = arenaOf(name, true);
    ASSERT_EQ(without.has_value(), with.has_value()) << name;
    if (!without)
      continue;
    ++compiled;
    EXPECT_LE(double(*with), (1 + GetParam().memory) * double(*without))
        << name;
    more += *with > *without;
  }
  EXPECT_GT(compiled, 15);
  EXPECT_TRUE(more > 0 || GetParam().memory == 0) << "nothing takes any";
}

INSTANTIATE_TEST_SUITE_P(
    Options, OverlapMemory,
    testing::Values(Variant{"NoMore", "h100-sxm", 0, 0, "none", "fused"},
                    Variant{"Little", "h100-sxm", 0.05, 0, "selective", "rows"},
                    Variant{"AllIsCut", "h100-sxm", 0.3, 2, "none", "rows"},
                    Variant{"Full", "a100-sxm", 0.05, 1, "full", "blocks"}),
    [](const auto &info) { return info.param.name; });

} // namespace
