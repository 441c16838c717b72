// A wrong schedule is detected. Every single event and collective of overlapped
// examples is removed or moved. The proof must refuse the mutant unless brute
// force (ScheduleOracle) finds it harmless.
#include "../Schedule/ScheduleOracle.h"
#include "ExamplePlan.h"

#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"
#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Schedule/IssueOrder.h"
#include "tpsp/Schedule/ScheduleProof.h"
#include "tpsp/Schedule/StageSteps.h"

#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <numeric>

using namespace mlir;
using namespace tpsp;

namespace {

/// A CPU with slow collectives and a fast permute, for which gathers are best
/// sent around the ring.
constexpr const char *ringMachine = "ring";

struct Case {
  const char *example;
  /// A built-in description, or ringMachine.
  const char *hardware;
  int64_t chunks;
};

/// Writes the description of ringMachine and returns its path.
std::string writeRingMachine() {
  llvm::Expected<Hardware> machine = findHardware("cpu");
  if (!machine)
    return llvm::toString(machine.takeError());
  for (CollectiveRates &rates : machine->collectives) {
    bool isHop = rates.kind == CollectiveKind::Permute;
    rates.measured.clear();
    rates.hop = 0;
    rates.latency = isHop ? 1e-6 : 1e-3;
    rates.busBandwidth = isHop ? 1e11 : 5e8;
  }
  std::string path = testing::TempDir() + "tpsp-ring-machine." +
                     std::to_string(getpid()) + ".json";
  std::ofstream(path) << toJson(*machine);
  return path;
}

std::string nameOf(const Case &c) {
  std::string name = std::string(c.example) + "_" + c.hardware + "_chunks" +
                     std::to_string(c.chunks);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Positions of the step's commands, in the order in which a rank issues them.
using Issue = std::vector<int64_t>;

struct Mutant {
  std::string what;
  Issue issue;
};

/// Changes one command. `at` is its position in `intact`.
class Mutator {
public:
  Mutator(const Plan &step, const Issue &intact) : step(step), intact(intact) {}

  std::vector<Mutant> mutantsOf(size_t at) const {
    std::vector<Mutant> mutants = {{"removed", without(at)}};
    auto move = [&](const char *what, std::optional<size_t> to) {
      if (to && *to != at)
        mutants.push_back({what, moved(at, *to)});
    };
    size_t last = intact.size() - 1;
    move("one later", at < last ? std::optional(at + 1) : std::nullopt);
    move("one earlier", at > 0 ? std::optional(at - 1) : std::nullopt);
    move("one later on its stream", neighbour(at, 1));
    move("one earlier on its stream", neighbour(at, -1));
    move("last", last);
    return mutants;
  }

private:
  Issue without(size_t at) const {
    Issue issue = intact;
    issue.erase(issue.begin() + at);
    return issue;
  }

  Issue moved(size_t at, size_t to) const {
    Issue issue = without(at);
    issue.insert(issue.begin() + to, intact[at]);
    return issue;
  }

  /// Returns the next or previous command of the same stream.
  std::optional<size_t> neighbour(size_t at, int direction) const {
    int64_t stream = step.commands[intact[at]].stream;
    for (size_t i = at + direction; i < intact.size(); i += direction)
      if (step.commands[intact[i]].stream == stream)
        return i;
    return std::nullopt;
  }

  const Plan &step;
  const Issue &intact;
};

Plan issued(const Plan &step, const Issue &issue) {
  Plan result = step;
  result.commands.clear();
  for (int64_t command : issue)
    result.commands.push_back(step.commands[command]);
  return result;
}

class OverlapMutationTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    std::string hardware = GetParam().hardware;
    bool isWritten = hardware == ringMachine;
    if (isWritten)
      hardware = writeRingMachine();
    plan.emplace(GetParam().example, Example::Stage::Plan, 0,
                 [&](CompileOptions &options) {
                   options.overlap = "on";
                   options.hardware = hardware;
                   options.overlapChunks = GetParam().chunks;
                 });
    if (isWritten)
      std::remove(hardware.c_str());
    ASSERT_TRUE(bool(*plan)) << plan->takeMessages();
    step = planOf(*plan->module().getOps<plan::ProgramOp>().begin());
    intact.resize(step.commands.size());
    std::iota(intact.begin(), intact.end(), 0);
  }

  bool isMutated(int64_t command) const {
    return step.commands[command].isEvent() ||
           step.commands[command].kind == CommandKind::Collective;
  }

  std::optional<Example> plan;
  Plan step;
  Issue intact;
};

TEST_P(OverlapMutationTest, TheIntactScheduleIsRight) {
  EXPECT_EQ(ScheduleOracle(step).judge(), "");
  EXPECT_FALSE(proveSchedule(step));
}

TEST_P(OverlapMutationTest, OnlyHarmlessMutantsAreAccepted) {
  ScheduleOracle oracle(step);
  Mutator mutator(step, intact);
  int refused = 0, harmless = 0, tooCareful = 0, commands = 0;
  for (size_t at = 0; at < intact.size(); ++at) {
    if (!isMutated(at))
      continue;
    ++commands;
    for (const Mutant &mutant : mutator.mutantsOf(at)) {
      std::string wrong = oracle.judge(mutant.issue);
      bool isRefused = bool(proveSchedule(issued(step, mutant.issue)));
      ASSERT_TRUE(isRefused || wrong.empty())
          << "command " << at << " (" << step.commands[at].name() << ") "
          << mutant.what << " was accepted, but " << wrong;
      refused += !wrong.empty();
      harmless += wrong.empty();
      tooCareful += wrong.empty() && isRefused;
    }
  }
  std::printf("%d events and collectives: %d harmful mutants, all refused; %d "
              "harmless, of which %d refused\n",
              commands, refused, harmless, tooCareful);
  EXPECT_GT(commands, 0);
  EXPECT_GT(refused, 0);
  EXPECT_LE(tooCareful, harmless / 20);
}

/// Otherwise the examples above would not test rings.
TEST_P(OverlapMutationTest, TheRingMachineHasRings) {
  int hops = llvm::count_if(step.commands, [](const PlanCommand &command) {
    return command.kind == CommandKind::Collective &&
           command.collective.kind == CollectiveKind::Permute;
  });
  bool canCut = llvm::is_contained({"gpt-block-sp", "cp-attention"},
                                   StringRef(GetParam().example));
  if (GetParam().hardware == StringRef(ringMachine) && canCut) {
    // Each gather has three hops, each in two parts.
    EXPECT_GE(hops, 18);
  }
}

/// No wait is superfluous.
TEST_P(OverlapMutationTest, EveryWaitIsNeeded) {
  ScheduleOracle oracle(step);
  Mutator mutator(step, intact);
  int waits = 0, idle = 0;
  for (size_t at = 0; at < intact.size(); ++at) {
    if (step.commands[at].kind != CommandKind::EventWait)
      continue;
    ++waits;
    idle += oracle.judge(mutator.mutantsOf(at).front().issue).empty();
  }
  std::printf("%d waits, of which %d only keep memory in bounds\n", waits,
              idle);
  // Some waits bound gathering ahead. They order nothing if the allocator gave
  // the buffers different memory after all. Others keep communication from
  // beginning too early.
  EXPECT_LE(idle, waits / 3);
}

/// Whether two commands touch a byte that one of them writes, or are
/// collectives of the same ranks. Transfers have a communicator for each
/// stream.
bool conflict(const Plan &step, const PlanCommand &a, const PlanCommand &b) {
  auto meets = [](const PlanCommand &command) {
    return command.kind == CommandKind::Collective &&
           command.collective.kind != CollectiveKind::Transfer;
  };
  if (meets(a) && meets(b) && a.collective.axes == b.collective.axes)
    return true;
  auto touch = [&](const PlanAccess &one, const PlanAccess &other) {
    if (one.buffer == other.buffer)
      return one.part.overlaps(other.part);
    const PlanBuffer &mine = step.buffers[one.buffer],
                     &theirs = step.buffers[other.buffer];
    return *mine.offset < *theirs.offset + theirs.bytes &&
           *theirs.offset < *mine.offset + mine.bytes;
  };
  return llvm::any_of(a.accesses, [&](const PlanAccess &one) {
    return llvm::any_of(b.accesses, [&](const PlanAccess &other) {
      return (one.isWrite || other.isWrite) && touch(one, other);
    });
  });
}

/// The steps of a plan with micro-batches: one, or that of each stage.
std::vector<Plan> stepsOf(const Plan &plan) {
  std::vector<Plan> steps;
  for (int64_t stage = 0; stage < plan.numStages(); ++stage)
    steps.push_back((plan.stageAxis < 0
                         ? writtenOut(plan, plan.microBatches)
                         : StageSteps(plan, plan.microBatches).of(stage))
                        .plan);
  return steps;
}

/// Says by brute force whether the streams of a step keep the order of its
/// commands.
bool keepsOrder(const Plan &step) {
  Issue issue(step.commands.size());
  std::iota(issue.begin(), issue.end(), 0);
  std::string wrong;
  IssueClosure closure(step, issue, wrong);
  if (!wrong.empty())
    return false;
  for (size_t i = 0; i < issue.size(); ++i)
    for (size_t j = i + 1; j < issue.size(); ++j)
      if (conflict(step, step.commands[i], step.commands[j]) &&
          !closure.endsBefore(i, j))
        return false;
  return true;
}

struct MicroBatchCase {
  const char *example;
  int64_t microBatches;
};

class MicroBatchMutationTest : public testing::TestWithParam<MicroBatchCase> {};

/// Events of segments that run for several micro-batches.
TEST_P(MicroBatchMutationTest, OnlyHarmlessMutantsAreAccepted) {
  const MicroBatchCase &given = GetParam();
  Example example(
      given.example, Example::Stage::Plan, 0,
      [&](CompileOptions &options) {
        options.overlap = "on";
        options.hardware = "h100-sxm";
        options.microBatches = given.microBatches;
      },
      [](ModuleOp module) {
        CompileOptions options;
        options.extents = {"b=12"};
        PassManager pm(module.getContext());
        addPass(pm, createSetExtents(), options);
        ASSERT_TRUE(succeeded(pm.run(module)));
      });
  ASSERT_TRUE(bool(example)) << example.takeMessages();
  Plan step = planOf(*example.module().getOps<plan::ProgramOp>().begin());
  ASSERT_EQ(step.microBatches, given.microBatches);
  // Three stand for all.
  step.microBatches = 3;
  auto isRefused = [](const Plan &plan) {
    return llvm::any_of(stepsOf(plan), [](const Plan &written) {
      return bool(proveSchedule(written));
    });
  };
  auto isRight = [](const Plan &plan) {
    return llvm::all_of(stepsOf(plan), keepsOrder);
  };
  EXPECT_FALSE(isRefused(step));
  EXPECT_TRUE(isRight(step));
  Issue intact(step.commands.size());
  std::iota(intact.begin(), intact.end(), 0);
  Mutator mutator(step, intact);
  int harmful = 0, harmless = 0, tooCareful = 0;
  for (size_t at = 0; at < intact.size(); ++at) {
    if (!step.commands[at].isEvent())
      continue;
    for (const Mutant &mutant : mutator.mutantsOf(at)) {
      Plan changed = issued(step, mutant.issue);
      // A segment's commands stand together.
      if (!llvm::is_sorted(changed.commands, [](auto &a, auto &b) {
            return a.segment < b.segment;
          }))
        continue;
      bool isHarmless = isRight(changed), refused = isRefused(changed);
      ASSERT_TRUE(refused || isHarmless)
          << "command " << at << " (" << step.commands[at].name() << ") "
          << mutant.what << " was accepted, but is harmful";
      harmful += !isHarmless;
      harmless += isHarmless;
      tooCareful += isHarmless && refused;
    }
  }
  std::printf("%d harmful mutants, all refused; %d harmless, of which %d "
              "refused\n",
              harmful, harmless, tooCareful);
  EXPECT_GT(harmful, 50);
  EXPECT_LE(tooCareful, harmless / 20);
}

INSTANTIATE_TEST_SUITE_P(Examples, MicroBatchMutationTest,
                         testing::Values(MicroBatchCase{"tp-sp-fsdp", 6},
                                         MicroBatchCase{"pp", 3}));

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char *example :
       {"gpt-block-sp", "fsdp", "tp-sp-fsdp", "ddp", "moe-ep", "cp-attention"})
    for (Case c : {Case{example, "cpu", 0}, Case{example, "cpu", 2},
                   Case{example, "h100-sxm", 0}, Case{example, ringMachine, 2}})
      all.push_back(c);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Examples, OverlapMutationTest,
                         testing::ValuesIn(cases()),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
