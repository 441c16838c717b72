// A wrong plan is detected: tpsp-check-schedule finds any single command of a
// compiled example that is missing or late.
#include "ExamplePlan.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace tpsp;

class ScheduleMutationTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    plan.emplace(GetParam(), Example::Stage::Plan);
    ASSERT_TRUE(bool(*plan)) << plan->takeMessages();
    for (Operation *command : commandsOf(plan->module()))
      descriptions.push_back(command->getName().getStringRef().str());
    ASSERT_FALSE(descriptions.empty());
  }

  bool hasStages() {
    auto program = *plan->module().getOps<plan::ProgramOp>().begin();
    return bool(program.getStageAxis());
  }

  static bool isCollective(Operation *command) {
    return command->hasAttr("ledger");
  }

  /// Removes each command for which `applies` holds, and expects a rejection
  /// for a buffer that nothing has written. Returns the number of such
  /// commands.
  template <typename Applies> int expectNeeded(Applies applies) {
    std::vector<Operation *> commands = commandsOf(plan->module());
    int count = 0;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (!applies(commands[i]))
        continue;
      ++count;
      EXPECT_FALSE(plan->acceptsAfter([&](ArrayRef<Operation *> copies) {
        copies[i]->erase();
      })) << descriptions[i]
          << ", command " << i;
      // With stages, a slot may hold what another micro-batch has written.
      testing::Matcher<std::string> expected =
          testing::HasSubstr("before anything has written it");
      if (hasStages())
        expected = testing::Not(testing::IsEmpty());
      EXPECT_THAT(plan->takeMessages(), expected);
    }
    return count;
  }

  std::optional<Example> plan;
  std::vector<std::string> descriptions;
};

TEST_P(ScheduleMutationTest, TheIntactPlanIsAccepted) {
  EXPECT_TRUE(plan->acceptsAfter([](ArrayRef<Operation *>) {}))
      << plan->takeMessages();
}

TEST_P(ScheduleMutationTest, EveryCollectiveIsNeeded) {
  int count = expectNeeded(isCollective);
  std::printf("%d collectives\n", count);
  EXPECT_GE(count, 1); // data parallelism has an all-reduce
}

TEST_P(ScheduleMutationTest, EveryMatmulIsNeeded) {
  int count =
      expectNeeded([](Operation *op) { return isa<plan::MatmulOp>(op); });
  std::printf("%d matmuls\n", count);
  EXPECT_GE(count, 6);
}

TEST_P(ScheduleMutationTest, EveryKernelIsNeeded) {
  int count =
      expectNeeded([](Operation *op) { return isa<plan::KernelOp>(op); });
  std::printf("%d kernels\n", count);
  // All kernels of an MLP have become epilogues.
  int epilogues = llvm::count_if(commandsOf(plan->module()), [](auto *op) {
    auto matmul = dyn_cast<plan::MatmulOp>(op);
    return matmul && matmul.getEpilogue();
  });
  EXPECT_GE(count + epilogues, 2);
}

/// Returns the buffers that a command reads or writes.
template <typename Effect>
static std::vector<Operation *> buffersOf(Operation *command) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(command).getEffects(effects);
  std::vector<Operation *> buffers;
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (isa<Effect>(effect.getEffect()) && effect.getValue())
      buffers.push_back(plan::bufferOf(effect.getValue()));
  return buffers;
}

/// Returns the first command after number `i` that reads a buffer which `i`
/// writes; 0 if none does.
static size_t firstReader(ArrayRef<Operation *> commands, size_t i) {
  std::vector<Operation *> written =
      buffersOf<MemoryEffects::Write>(commands[i]);
  for (size_t j = i + 1; j < commands.size(); ++j)
    for (Operation *buffer : buffersOf<MemoryEffects::Read>(commands[j]))
      if (llvm::is_contained(written, buffer))
        return j;
  return 0;
}

TEST_P(ScheduleMutationTest, NoCommandMayFollowItsReader) {
  std::vector<Operation *> commands = commandsOf(plan->module());
  int count = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    size_t reader = firstReader(commands, i);
    if (reader == 0)
      continue; // a result of the program
    ++count;
    EXPECT_FALSE(plan->acceptsAfter([&](ArrayRef<Operation *> copies) {
      copies[reader]->moveBefore(copies[i]);
    })) << descriptions[i]
        << ", command " << i << " behind " << reader;
    plan->takeMessages();
  }
  EXPECT_GE(count, 4);
}

/// Returns a buffer that command `i` neither reads nor writes, but that is
/// written before it and read after it; null if there is none.
static Operation *liveAcross(ArrayRef<Operation *> commands, size_t i) {
  std::vector<Operation *> own = buffersOf<MemoryEffects::Write>(commands[i]);
  llvm::append_range(own, buffersOf<MemoryEffects::Read>(commands[i]));
  for (size_t before = 0; before < i; ++before)
    for (Operation *buffer : buffersOf<MemoryEffects::Write>(commands[before]))
      for (Operation *behind : commands.drop_front(i + 1))
        if (!llvm::is_contained(own, buffer) &&
            llvm::is_contained(buffersOf<MemoryEffects::Read>(behind), buffer))
          return buffer;
  return nullptr;
}

TEST_P(ScheduleMutationTest, NothingIsWrittenOverALiveBuffer) {
  if (hasStages())
    GTEST_SKIP() << "buffers of different stages may have the same offsets";
  int count = 0;
  for (size_t i = 0; i < descriptions.size(); ++i) {
    bool changed = false;
    bool accepted = plan->acceptsAfter([&](ArrayRef<Operation *> copies) {
      Operation *live = liveAcross(copies, i);
      if (!live)
        return;
      changed = true;
      auto written = buffersOf<MemoryEffects::Write>(copies[i]).front();
      cast<plan::BufferOp>(written).setOffset(
          *cast<plan::BufferOp>(live).getOffset());
    });
    EXPECT_EQ(accepted, !changed) << descriptions[i] << ", command " << i;
    EXPECT_EQ(plan->takeMessages().empty(), !changed);
    count += changed;
  }
  EXPECT_GE(count, 3);
}

INSTANTIATE_TEST_SUITE_P(Examples, ScheduleMutationTest,
                         testing::ValuesIn(exampleNames()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
