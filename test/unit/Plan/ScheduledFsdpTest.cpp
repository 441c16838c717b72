// Eight layers of FSDP, overlapped, keep the four requirements of YaFSDP, and
// the bound on memory.
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

/// @model calls @layer as often, each time with parameters of its own; before,
/// it did so twice.
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
    x = b.clone(*call, map)->getResult(0);
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
  explicit Fsdp(bool overlap)
      : plan(
            "fsdp", Example::Stage::Plan, 0,
            [&](CompileOptions &options) {
              options.overlap = overlap ? "on" : "off";
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

  /// Who writes, or reads, a buffer.
  std::vector<int64_t> usersOf(int64_t buffer, bool isWrite) const {
    std::vector<int64_t> users;
    for (auto [i, command] : llvm::enumerate(step.commands))
      for (const PlanAccess &access : command.accesses)
        if (access.buffer == buffer && access.isWrite == isWrite)
          users.push_back(i);
    return users;
  }

  /// The temporary that a command writes, or reads; -1: a lasting one.
  int64_t temporaryOf(int64_t command, bool isWrite) const {
    for (const PlanAccess &access : step.commands[command].accesses)
      if (access.isWrite == isWrite && !step.buffers[access.buffer].lasts())
        return access.buffer;
    return -1;
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

class ScheduledFsdpTest : public testing::Test {
protected:
  /// Compiled once for all tests.
  static void SetUpTestSuite() { overlapped = new Fsdp(/*overlap=*/true); }
  static void TearDownTestSuite() { delete overlapped; }
  void SetUp() override {
    ASSERT_TRUE(bool(*overlapped)) << overlapped->messages();
    ASSERT_GT(overlapped->step.numStreams, 1);
  }
  static Fsdp *overlapped;
};

Fsdp *ScheduledFsdpTest::overlapped = nullptr;

TEST_F(ScheduledFsdpTest, ComputationComesAfterItsGather) {
  Fsdp &f = *overlapped;
  int gathers = 0;
  for (size_t i = 0; i < f.step.commands.size(); ++i) {
    if (!f.isA(i, CollectiveKind::AllGather))
      continue;
    ++gathers;
    int64_t weights = f.temporaryOf(i, /*isWrite=*/true);
    ASSERT_GE(weights, 0);
    std::vector<int64_t> readers = f.usersOf(weights, false);
    EXPECT_FALSE(readers.empty());
    for (int64_t reader : readers)
      EXPECT_TRUE(f.closure.endsBefore(i, reader)) << i << ", " << reader;
  }
  // Six matrices a layer, forward; some again backward.
  EXPECT_GE(gathers, 6 * numLayers);
}

TEST_F(ScheduledFsdpTest, NoGatherOverwritesABufferInUse) {
  Fsdp &f = *overlapped;
  int reused = 0;
  for (size_t i = 0; i < f.step.commands.size(); ++i) {
    if (!f.isA(i, CollectiveKind::AllGather))
      continue;
    int64_t weights = f.temporaryOf(i, true);
    for (size_t other = 0; other < f.step.buffers.size(); ++other) {
      if (!f.shareMemory(weights, other))
        continue;
      // All use of the other lies before, or all behind.
      std::vector<int64_t> users = f.usersOf(other, false);
      for (int64_t writer : f.usersOf(other, true))
        users.push_back(writer);
      std::vector<int64_t> readers = f.usersOf(weights, false);
      for (int64_t user : users) {
        bool before = f.closure.endsBefore(user, i);
        bool behind = llvm::all_of(readers, [&](int64_t reader) {
          return f.closure.endsBefore(reader, user);
        });
        EXPECT_TRUE(before || behind) << i << ", " << user;
      }
      ++reused;
    }
  }
  EXPECT_GT(reused, 0) << "no buffer is used twice";
}

TEST_F(ScheduledFsdpTest, GradientBuffersAreReducedBeforeTheyAreWrittenAgain) {
  Fsdp &f = *overlapped;
  int reused = 0, scatters = 0;
  for (size_t i = 0; i < f.step.commands.size(); ++i) {
    if (!f.isA(i, CollectiveKind::ReduceScatter))
      continue;
    ++scatters;
    int64_t gradient = f.temporaryOf(i, /*isWrite=*/false);
    ASSERT_GE(gradient, 0);
    for (size_t other = 0; other < f.step.buffers.size(); ++other)
      if (f.shareMemory(gradient, other))
        for (int64_t writer : f.usersOf(other, true)) {
          bool before = llvm::all_of(f.usersOf(gradient, true), [&](int64_t w) {
            return f.closure.endsBefore(writer, w);
          });
          EXPECT_TRUE(before || f.closure.endsBefore(i, writer))
              << i << ", " << writer;
          reused += !before;
        }
  }
  EXPECT_EQ(scatters, 6 * numLayers);
  EXPECT_GT(reused, 0);
}

TEST_F(ScheduledFsdpTest, ReductionsComeAfterTheirGradients) {
  Fsdp &f = *overlapped;
  for (size_t i = 0; i < f.step.commands.size(); ++i) {
    if (!f.isA(i, CollectiveKind::ReduceScatter))
      continue;
    std::vector<int64_t> writers =
        f.usersOf(f.temporaryOf(i, /*isWrite=*/false), true);
    EXPECT_FALSE(writers.empty());
    for (int64_t writer : writers)
      EXPECT_TRUE(f.closure.endsBefore(writer, i)) << i << ", " << writer;
  }
}

/// Gathering ahead takes no more than may be added, however many layers.
TEST_F(ScheduledFsdpTest, MemoryIsBounded) {
  Fsdp serial(/*overlap=*/false);
  ASSERT_TRUE(bool(serial)) << serial.messages();
  double most = 1 + CompileOptions().overlapMemory;
  EXPECT_LE(double(overlapped->step.arenaBytes),
            most * double(serial.step.arenaBytes));
  EXPECT_GT(overlapped->step.arenaBytes, serial.step.arenaBytes);
}

} // namespace
