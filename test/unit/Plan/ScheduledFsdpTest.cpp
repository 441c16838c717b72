// Eight overlapped layers of FSDP keep the four requirements of YaFSDP and the
// bound on memory.
#include "../Schedule/ScheduleOracle.h"
#include "ExamplePlan.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <gmock/gmock.h>

#include <numeric>

using namespace mlir;
using namespace tpsp;

namespace {

constexpr int64_t numLayers = 8;

/// Makes @model call @layer eight times instead of twice, each time with its
/// own parameters.
void unroll(ModuleOp module) {
  auto model = module.lookupSymbol<func::FuncOp>("model");
  auto call = *model.getOps<func::CallOp>().begin();
  SmallVector<BlockArgument> parameters;
  for (Value operand : call.getOperands().drop_front())
    parameters.push_back(cast<BlockArgument>(operand));
  OpBuilder b(model);
  auto deep =
      func::FuncOp::create(b, model.getLoc(), "deep", model.getFunctionType());
  Block *entry = b.createBlock(&deep.getBody());
  b.setInsertionPointToStart(entry);
  Type activation = call.getResult(0).getType();
  Value x = entry->addArgument(activation, model.getLoc());
  SmallVector<DictionaryAttr> attributes = {model.getArgAttrDict(0)};
  for (int64_t layer = 0; layer < numLayers; ++layer) {
    IRMapping map;
    map.map(call.getOperand(0), x);
    for (BlockArgument parameter : parameters) {
      NamedAttrList named(model.getArgAttrDict(parameter.getArgNumber()));
      auto name = cast<StringAttr>(named.get("tpsp.param")).getValue();
      named.set("tpsp.param", b.getStringAttr("layer" + Twine(layer) +
                                              name.substr(name.find('.'))));
      attributes.push_back(named.getDictionary(b.getContext()));
      map.map(parameter,
              entry->addArgument(parameter.getType(), parameter.getLoc()));
    }
    Operation *clone = b.clone(*call, map);
    // The location of a call identifies a layer.
    clone->setLoc(FileLineColLoc::get(b.getStringAttr("deep"), layer + 1, 1));
    x = clone->getResult(0);
  }
  func::ReturnOp::create(b, model.getLoc(), x);
  deep.setFunctionType(
      b.getFunctionType(entry->getArgumentTypes(), activation));
  deep.setAllArgAttrs(attributes);
  model.erase();
  deep.setName("model");
}

class Fsdp {
public:
  Fsdp(bool overlap, bool bucketLayers)
      : plan(
            "fsdp", Example::Stage::Plan, 0,
            [&](CompileOptions &options) {
              options.overlap = overlap ? "on" : "off";
              options.bucketLayers = bucketLayers ? "on" : "off";
              options.hardware = "h100-sxm";
              options.overlapChunks = 1; // whole gathers, as the paper has
            },
            unroll) {
    if (!plan)
      return;
    step = planOf(*plan.module().getOps<plan::ProgramOp>().begin());
    std::vector<int64_t> all(step.commands.size());
    std::iota(all.begin(), all.end(), 0);
    std::string wrong;
    closure = IssueClosure(step, all, wrong);
    EXPECT_EQ(wrong, "");
    EXPECT_EQ(ScheduleOracle(step).judge(), "");
  }

  explicit operator bool() const { return bool(plan); }
  std::string messages() { return plan.takeMessages(); }

  bool isA(int64_t command, CollectiveKind kind) const {
    const PlanCommand &c = step.commands[command];
    return c.kind == CommandKind::Collective && c.collective.kind == kind;
  }

  /// Returns the commands that write, or read, a buffer.
  std::vector<int64_t> usersOf(int64_t buffer, bool isWrite) const {
    std::vector<int64_t> users;
    for (auto [i, command] : llvm::enumerate(step.commands))
      for (const PlanAccess &access : command.accesses)
        if (access.buffer == buffer && access.isWrite == isWrite)
          users.push_back(i);
    return users;
  }

  /// Returns the temporaries that a command writes, or reads. A bucket has
  /// several.
  std::vector<int64_t> temporariesOf(int64_t command, bool isWrite) const {
    std::vector<int64_t> temporaries;
    for (const PlanAccess &access : step.commands[command].accesses)
      if (access.isWrite == isWrite && !step.buffers[access.buffer].lasts())
        temporaries.push_back(access.buffer);
    return temporaries;
  }

  /// Returns all collectives of one kind.
  std::vector<int64_t> collectives(CollectiveKind kind) const {
    std::vector<int64_t> found;
    for (size_t i = 0; i < step.commands.size(); ++i)
      if (isA(int64_t(i), kind))
        found.push_back(int64_t(i));
    return found;
  }

  bool shareMemory(int64_t a, int64_t b) const {
    const PlanBuffer &x = step.buffers[a], &y = step.buffers[b];
    return a != b && *x.offset < *y.offset + y.bytes &&
           *y.offset < *x.offset + x.bytes;
  }

  Example plan;
  Plan step;
  IssueClosure closure;
};

/// Tests a transfer for each weight, and a transfer for each layer.
class ScheduledFsdpTest : public testing::TestWithParam<bool> {
protected:
  /// Compiles once for all tests.
  static void SetUpTestSuite() {
    for (bool bucketLayers : {false, true})
      compiled[bucketLayers] = new Fsdp(/*overlap=*/true, bucketLayers);
  }
  static void TearDownTestSuite() {
    for (Fsdp *&fsdp : compiled) {
      delete fsdp;
      fsdp = nullptr;
    }
  }
  void SetUp() override {
    ASSERT_TRUE(bool(overlapped())) << overlapped().messages();
    ASSERT_GT(overlapped().step.numStreams, 1);
  }
  static Fsdp &overlapped() { return *compiled[GetParam()]; }
  static int transfersOfLayer() { return GetParam() ? 1 : 6; }

private:
  static Fsdp *compiled[2];
};

Fsdp *ScheduledFsdpTest::compiled[2] = {};

TEST_P(ScheduledFsdpTest, ComputationComesAfterItsGather) {
  Fsdp &f = overlapped();
  std::vector<int64_t> gathers = f.collectives(CollectiveKind::AllGather);
  for (int64_t i : gathers) {
    std::vector<int64_t> weights = f.temporariesOf(i, /*isWrite=*/true);
    ASSERT_EQ(weights.size(), 6u / transfersOfLayer());
    for (int64_t weight : weights) {
      std::vector<int64_t> readers = f.usersOf(weight, false);
      EXPECT_FALSE(readers.empty());
      for (int64_t reader : readers)
        EXPECT_TRUE(f.closure.endsBefore(i, reader)) << i << ", " << reader;
    }
  }
  // Each layer has six matrices, forward; some are gathered again backward.
  EXPECT_GE(int64_t(gathers.size()), transfersOfLayer() * numLayers);
}

TEST_P(ScheduledFsdpTest, NoGatherOverwritesABufferInUse) {
  Fsdp &f = overlapped();
  int reused = 0;
  for (int64_t i : f.collectives(CollectiveKind::AllGather))
    for (int64_t weight : f.temporariesOf(i, true))
      for (size_t other = 0; other < f.step.buffers.size(); ++other) {
        if (!f.shareMemory(weight, other))
          continue;
        // All uses of the other buffer are before, or all are after.
        std::vector<int64_t> users = f.usersOf(other, false);
        for (int64_t writer : f.usersOf(other, true))
          users.push_back(writer);
        std::vector<int64_t> readers = f.usersOf(weight, false);
        for (int64_t user : users) {
          bool before = f.closure.endsBefore(user, i);
          bool behind = llvm::all_of(readers, [&](int64_t reader) {
            return f.closure.endsBefore(reader, user);
          });
          EXPECT_TRUE(before || behind) << i << ", " << user;
        }
        ++reused;
      }
  EXPECT_GT(reused, 0) << "no buffer is used twice";
}

TEST_P(ScheduledFsdpTest, GradientBuffersAreReducedBeforeTheyAreWrittenAgain) {
  Fsdp &f = overlapped();
  int reused = 0;
  std::vector<int64_t> scatters = f.collectives(CollectiveKind::ReduceScatter);
  for (int64_t i : scatters)
    for (int64_t gradient : f.temporariesOf(i, /*isWrite=*/false))
      for (size_t other = 0; other < f.step.buffers.size(); ++other) {
        if (!f.shareMemory(gradient, other))
          continue;
        for (int64_t writer : f.usersOf(other, true)) {
          bool before = llvm::all_of(f.usersOf(gradient, true), [&](int64_t w) {
            return f.closure.endsBefore(writer, w);
          });
          EXPECT_TRUE(before || f.closure.endsBefore(i, writer))
              << i << ", " << writer;
          reused += !before;
        }
      }
  EXPECT_EQ(int64_t(scatters.size()), transfersOfLayer() * numLayers);
  EXPECT_GT(reused, 0);
}

TEST_P(ScheduledFsdpTest, ReductionsComeAfterTheirGradients) {
  Fsdp &f = overlapped();
  for (int64_t i : f.collectives(CollectiveKind::ReduceScatter)) {
    std::vector<int64_t> gradients = f.temporariesOf(i, /*isWrite=*/false);
    ASSERT_EQ(gradients.size(), 6u / transfersOfLayer());
    for (int64_t gradient : gradients) {
      std::vector<int64_t> writers = f.usersOf(gradient, true);
      EXPECT_FALSE(writers.empty());
      for (int64_t writer : writers)
        EXPECT_TRUE(f.closure.endsBefore(writer, i)) << i << ", " << writer;
    }
  }
}

/// Gathering ahead takes no more memory than may be added, for any number of
/// layers.
TEST_P(ScheduledFsdpTest, MemoryIsBounded) {
  Fsdp serial(/*overlap=*/false, GetParam());
  ASSERT_TRUE(bool(serial)) << serial.messages();
  double most = 1 + CompileOptions().overlapMemory;
  EXPECT_LE(double(overlapped().step.arenaBytes),
            most * double(serial.step.arenaBytes));
}

INSTANTIATE_TEST_SUITE_P(Transfers, ScheduledFsdpTest, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "OfALayer" : "OfAWeight";
                         });

} // namespace
