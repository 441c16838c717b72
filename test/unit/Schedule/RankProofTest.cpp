// Ranks that run different programs. Programs that fit each other are accepted.
// Others are refused with the rank's number, and the proof never hangs.
#include "RankProof.h"

#include "RandomStep.h"
#include "tpsp/Schedule/ScheduleProof.h"

#include <gmock/gmock.h>

using namespace tpsp;
using testing::HasSubstr;

namespace {

/// Returns a random, right step, the same for all ranks. Every collective has
/// its own size.
std::vector<Plan> sameOnAllRanks(std::mt19937 &random) {
  RandomStepShape shape;
  shape.commands = 16;
  for (;;) {
    Plan step = randomStep(random, shape);
    if (proveSchedule(step))
      continue;
    for (size_t i = 0; i < step.commands.size(); ++i) {
      step.commands[i].collective.bytes = 64 + int64_t(i);
      step.commands[i].call = "command " + std::to_string(i);
    }
    return std::vector<Plan>(step.numRanks(), step);
  }
}

bool communicate(const PlanCommand &a, const PlanCommand &b) {
  return a.kind == CommandKind::Collective &&
         b.kind == CommandKind::Collective &&
         a.collective.axes == b.collective.axes && a.stream == b.stream;
}

std::string messageOf(const std::vector<Plan> &steps) {
  std::optional<StepFault> fault = proveRanks(steps);
  return fault ? fault->message : "";
}

TEST(RankProof, TheSameProgramOnAllRanksIsFine) {
  std::mt19937 random(31);
  for (int trial = 0; trial < 300; ++trial)
    EXPECT_EQ(messageOf(sameOnAllRanks(random)), "") << "trial " << trial;
}

/// Changes one rank's step. Returns false if the step has nothing to change.
using Change = bool (*)(Plan &, std::mt19937 &);

bool swapTwo(Plan &step, std::mt19937 &) {
  for (size_t i = 0; i < step.commands.size(); ++i)
    for (size_t j = i + 1; j < step.commands.size(); ++j)
      if (communicate(step.commands[i], step.commands[j])) {
        std::swap(step.commands[i], step.commands[j]);
        return true;
      }
  return false;
}

PlanCommand *anyCollective(Plan &step, std::mt19937 &random) {
  std::vector<PlanCommand *> all;
  for (PlanCommand &command : step.commands)
    if (command.kind == CommandKind::Collective)
      all.push_back(&command);
  return all.empty() ? nullptr : all[random() % all.size()];
}

bool resizeOne(Plan &step, std::mt19937 &random) {
  PlanCommand *collective = anyCollective(step, random);
  if (collective)
    collective->collective.bytes += 1000;
  return collective;
}

bool changeKind(Plan &step, std::mt19937 &random) {
  PlanCommand *collective = anyCollective(step, random);
  if (collective)
    collective->collective.kind = CollectiveKind::ReduceScatter;
  return collective;
}

bool dropOne(Plan &step, std::mt19937 &random) {
  PlanCommand *collective = anyCollective(step, random);
  if (collective)
    step.commands.erase(step.commands.begin() +
                        (collective - step.commands.data()));
  return collective;
}

/// The message must name the rank that differs, or a rank that waits for it for
/// ever.
TEST(RankProof, OneRankThatDiffersIsRefused) {
  std::mt19937 random(32);
  for (Change change : {swapTwo, resizeOne, changeKind, dropOne}) {
    int changed = 0;
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<Plan> steps = sameOnAllRanks(random);
      size_t rank = random() % steps.size();
      if (!change(steps[rank], random))
        continue;
      ++changed;
      EXPECT_THAT(messageOf(steps), HasSubstr("rank ")) << "trial " << trial;
    }
    EXPECT_GT(changed, 50);
  }
}

TEST(RankProof, NamesRanksAndSizes) {
  Plan step;
  step.mesh = {{"tp", 2, AxisRole::None}};
  PlanCommand collective;
  collective.kind = CommandKind::Collective;
  collective.collective.axes.push_back(0);
  collective.collective.group = 2;
  collective.collective.bytes = 64;
  collective.call = "all_reduce x";
  step.commands.push_back(collective);
  std::vector<Plan> steps(2, step);
  EXPECT_EQ(messageOf(steps), "");
  steps[1].commands[0].collective.bytes = 128;
  std::string message = messageOf(steps);
  for (const char *part :
       {"rank 0", "rank 1", "all_reduce x", "(64 bytes)", "(128 bytes)"})
    EXPECT_THAT(message, HasSubstr(part));
  steps[1].commands.clear();
  EXPECT_THAT(messageOf(steps),
              HasSubstr("rank 0 never gets past all_reduce x"));
}

/// Returns a step with two communicators, each on its stream. The second call
/// waits for the first.
Plan oneAfterTheOther(bool firstStreamFirst) {
  Plan step;
  // Both ranks are in both groups.
  step.mesh = {{"a", 2, AxisRole::None}, {"b", 1, AxisRole::None}};
  step.numStreams = 3;
  step.numEvents = 1;
  auto collective = [](int64_t stream) {
    PlanCommand c;
    c.kind = CommandKind::Collective;
    c.stream = stream;
    c.collective.axes.push_back(0);
    if (stream == 2)
      c.collective.axes.push_back(1);
    c.collective.group = 2;
    c.call = "collective of stream " + std::to_string(stream);
    return c;
  };
  PlanCommand event;
  event.event = 0;
  int64_t first = firstStreamFirst ? 1 : 2;
  step.commands.push_back(collective(first));
  event.kind = CommandKind::EventRecord;
  event.stream = first;
  step.commands.push_back(event);
  event.kind = CommandKind::EventWait;
  event.stream = 3 - first;
  step.commands.push_back(event);
  step.commands.push_back(collective(3 - first));
  return step;
}

TEST(RankProof, RanksThatWaitForEachOtherInACircleAreRefused) {
  Plan one = oneAfterTheOther(true), other = oneAfterTheOther(false);
  for (const Plan &step : {one, other}) {
    EXPECT_FALSE(proveSchedule(step)) << "each is right by itself";
    EXPECT_EQ(messageOf({step, step}), "");
  }
  EXPECT_THAT(messageOf({one, other}),
              HasSubstr("rank 0 never gets past collective of stream 1"));
  EXPECT_THAT(messageOf({other, one}),
              HasSubstr("rank 0 never gets past collective of stream 2"));
}

/// Four ranks wait in a circle although no two disagree on any communicator. A
/// rank on the diagonal calls its row's collective first, the others their
/// column's.
TEST(RankProof, ACircleOverFourRanksIsFound) {
  std::vector<Plan> steps;
  for (int64_t rank = 0; rank < 4; ++rank) {
    Plan step;
    step.mesh = {{"row", 2, AxisRole::None}, {"column", 2, AxisRole::None}};
    bool onDiagonal = rank == 0 || rank == 3;
    for (int64_t axis : {onDiagonal ? 0 : 1, onDiagonal ? 1 : 0}) {
      PlanCommand c;
      c.kind = CommandKind::Collective;
      c.collective.axes.push_back(axis);
      c.collective.group = 2;
      c.call = axis ? "column" : "row";
      step.commands.push_back(c);
    }
    steps.push_back(step);
  }
  EXPECT_THAT(messageOf(steps), HasSubstr("rank 0 never gets past row"));
}

TEST(RankProof, RefusesWhatIsNoStepOfTheMesh) {
  Plan step = oneAfterTheOther(true);
  EXPECT_THAT(messageOf({step}), HasSubstr("1 ranks on a mesh of 2"));
  Plan bad = step;
  bad.commands[0].stream = 7;
  EXPECT_THAT(messageOf({step, bad}), HasSubstr("rank 1"));
  bad = step;
  bad.commands[1].event = -1;
  EXPECT_THAT(messageOf({step, bad}), HasSubstr("rank 1"));
}

} // namespace
