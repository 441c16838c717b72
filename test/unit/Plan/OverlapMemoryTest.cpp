// Overlap takes no more memory than allowed, for any program. Random programs
// are tested for the same (test/property).
#include "ExamplePlan.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace mlir;
using namespace tpsp;

namespace {

struct Variant {
  const char *name, *hardware;
  double memory;
  int64_t chunks;
  const char *rematerialize;
  const char *attention;
  int64_t microBatches = 1;
  const char *optimizer = "none";
  /// Examples to which the options apply, at least.
  int least = 15;
};

class OverlapMemory : public testing::TestWithParam<Variant> {
protected:
  /// Returns bytes of the arena; nullopt if the example does not suit this
  /// machine. With micro-batches, a step without overlap is the overlapped one
  /// before its commands are scheduled: other steps do not write them out.
  static std::optional<int64_t> arenaOf(const std::string &name, bool overlap) {
    bool isWrittenOut = GetParam().microBatches > 1;
    Example example(name, Example::Stage::Plan, /*ranks=*/0,
                    [&](CompileOptions &options) {
                      options.hardware = GetParam().hardware;
                      options.rematerialize = GetParam().rematerialize;
                      options.attention = GetParam().attention;
                      options.microBatches = GetParam().microBatches;
                      options.optimizer = GetParam().optimizer;
                      options.overlap = overlap || isWrittenOut ? "on" : "off";
                      options.overlapMemory = GetParam().memory;
                      options.overlapChunks = GetParam().chunks;
                    });
    if (!example)
      return std::nullopt;
    Plan plan = planOf(*example.module().getOps<plan::ProgramOp>().begin());
    return isWrittenOut && !overlap && plan.serialBytes > 0 ? plan.serialBytes
                                                            : plan.arenaBytes;
  }
};

TEST_P(OverlapMemory, OfExamplesIsBounded) {
  int more = 0, compiled = 0;
  for (const std::string &name : exampleNames()) {
    if (name == "pp") // overlap is refused with stages
      continue;
    auto without = arenaOf(name, false), with = arenaOf(name, true);
    ASSERT_EQ(without.has_value(), with.has_value()) << name;
    if (!without)
      continue;
    ++compiled;
    EXPECT_LE(double(*with), (1 + GetParam().memory) * double(*without))
        << name;
    more += *with > *without;
  }
  EXPECT_GT(compiled, GetParam().least);
  EXPECT_TRUE(more > 0 || GetParam().memory == 0) << "nothing takes any";
}

INSTANTIATE_TEST_SUITE_P(
    Options, OverlapMemory,
    testing::Values(Variant{"NoMore", "h100-sxm", 0, 0, "none", "fused"},
                    Variant{"Little", "h100-sxm", 0.05, 0, "selective", "rows"},
                    Variant{"AllIsCut", "h100-sxm", 0.3, 2, "none", "rows"},
                    Variant{"Full", "a100-sxm", 0.05, 1, "full", "blocks"},
                    Variant{"MicroBatches", "h100-sxm", 0.05, 1, "none", "rows",
                            2, "none", 8},
                    Variant{"Update", "h100-sxm", 0.05, 1, "none", "rows", 1,
                            "adamw"}),
    [](const auto &info) { return info.param.name; });

Plan planOfExample(const char *name, Example::Configure configure) {
  Example example(name, Example::Stage::Plan, /*ranks=*/0, configure);
  EXPECT_TRUE(bool(example)) << example.takeMessages();
  if (!example)
    return {};
  return planOf(*example.module().getOps<plan::ProgramOp>().begin());
}

/// Writes a description of a machine with this memory for each device.
std::string machineWith(int64_t bytes) {
  std::string path = testing::TempDir() + "/small.json";
  std::ofstream(path) << "{\"base\": \"h100-sxm\", \"name\": \"small\", "
                         "\"memory_bytes\": "
                      << bytes << "}";
  return path;
}

/// A schedule never takes more memory than a device has, whatever it may add.
TEST(OverlapDevice, MemoryIsAHardBound) {
  auto arena = [](const std::string &hardware) {
    Plan plan = planOfExample("llama3-8b-block", [&](CompileOptions &options) {
      options.hardware = hardware;
      options.overlap = "on";
      options.overlapMemory = 1;
    });
    return std::pair(plan.arenaBytes, plan.serialBytes);
  };
  auto [free, serial] = arena("h100-sxm");
  ASSERT_GT(serial, 0) << "not overlapped";
  ASSERT_GT(free, serial);
  for (int64_t device : {serial, (serial + free) / 2}) {
    auto [bytes, before] = arena(machineWith(device));
    EXPECT_LE(bytes, device);
    // If the device has no more memory than the serial step needs, the step may
    // stay serial.
    EXPECT_TRUE(before == serial || device == serial) << before;
  }
}

/// Returns bytes of the buffers that the forward pass makes or uses and the
/// backward pass reads, without parameters.
int64_t bytesAcross(const Plan &plan) {
  std::vector<bool> isMade(plan.buffers.size()), isRead(plan.buffers.size());
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses) {
      if (command.phase == 0)
        isMade[access.buffer] = true;
      if (command.phase == 1 && !access.isWrite)
        isRead[access.buffer] = true;
    }
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (isRead[i] && isMade[i] && plan.buffers[i].kind != BufferKind::Parameter)
      bytes += plan.buffers[i].bytes;
  }
  return bytes;
}

/// The report's saved bytes are those in the arena for the backward pass, also
/// with a schedule.
TEST(OverlapSaved, IsWhatLiesInTheArena) {
  for (const char *rematerialize : {"none", "selective", "full"})
    for (const char *overlap : {"off", "on"})
      for (int64_t chunks : {1, 0}) {
        Plan plan = planOfExample("gpt-block-sp", [&](CompileOptions &options) {
          options.hardware = "h100-sxm";
          options.rematerialize = rematerialize;
          options.overlap = overlap;
          options.overlapMemory = 0.5;
          options.overlapChunks = chunks;
        });
        EXPECT_GT(plan.savedBytes, 0);
        EXPECT_EQ(bytesAcross(plan), plan.savedBytes)
            << rematerialize << ", overlap " << overlap;
      }
}

/// Micro-batches save one after another, so half of the batch saves half as
/// much. Shared values, such as the causal mask, are excepted.
TEST(OverlapSaved, IsOfOneMicroBatch) {
  for (const char *rematerialize : {"none", "selective", "full"}) {
    auto saved = [&](int64_t parts) {
      return planOfExample("gpt-block-sp",
                           [&](CompileOptions &options) {
                             options.rematerialize = rematerialize;
                             options.microBatches = parts;
                           })
          .savedBytes;
    };
    int64_t whole = saved(1), half = saved(2);
    EXPECT_GE(2 * half, whole) << rematerialize;
    EXPECT_LT(2 * half, whole + whole / 20) << rematerialize;
  }
}

} // namespace
