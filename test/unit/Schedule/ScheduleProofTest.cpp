// Compares the proof with brute force on random steps. A step that it accepts
// is right. It accepts all right steps but a few, for which it is too careful.
#include "tpsp/Schedule/ScheduleProof.h"

#include "RandomStep.h"
#include "ScheduleOracle.h"

#include <gmock/gmock.h>

using namespace tpsp;
using testing::HasSubstr;

namespace {

std::string text(const Plan &step) {
  std::string all;
  for (const PlanCommand &c : step.commands) {
    static const char *kinds[] = {"matmul",     "attention", "kernel", "copy",
                                  "collective", "record",    "wait"};
    all +=
        std::string(kinds[int(c.kind)]) + " stream " + std::to_string(c.stream);
    if (c.isEvent())
      all += " event " + std::to_string(c.event);
    for (const PlanAccess &a : c.accesses)
      all += std::string(a.isWrite ? " writes " : " reads ") +
             std::to_string(a.buffer) + "@" +
             std::to_string(*step.buffers[a.buffer].offset) + "[" +
             std::to_string(a.part.begin) + " " +
             std::to_string(a.part.length) + "x" +
             std::to_string(a.part.count) + "/" + std::to_string(a.part.pitch) +
             " of " + std::to_string(step.buffers[a.buffer].bytes) + "]";
    all += "\n";
  }
  return all;
}

PlanBuffer bufferAt(int64_t bytes, int64_t offset) {
  PlanBuffer buffer;
  buffer.bytes = bytes;
  buffer.offset = offset;
  return buffer;
}

struct Agreement {
  int right = 0, wrong = 0, tooCareful = 0;
};

Agreement compareOn(int trials, unsigned seed, const RandomStepShape &shape) {
  std::mt19937 random(seed);
  Agreement count;
  for (int trial = 0; trial < trials; ++trial) {
    Plan step = randomStep(random, shape);
    std::string bad = ScheduleOracle(step).judge();
    std::optional<StepFault> fault = proveSchedule(step);
    (bad.empty() ? count.right : count.wrong)++;
    count.tooCareful += bad.empty() && fault;
    EXPECT_TRUE(fault || bad.empty())
        << "trial " << trial << " was accepted, but " << bad << "\n"
        << text(step);
    if (!fault && !bad.empty())
      break;
  }
  return count;
}

TEST(ScheduleProof, AcceptsWhatIsRightAndNothingElse) {
  Agreement count = compareOn(8000, 1, {});
  std::printf("%d right, of which %d refused; %d wrong, all refused\n",
              count.right, count.tooCareful, count.wrong);
  EXPECT_GT(count.right, 3000);
  EXPECT_GT(count.wrong, 2000);
  // The proof counts a buffer as lost when any byte of it is overwritten, and
  // parts of different shapes as overlapping.
  EXPECT_LT(count.tooCareful, count.right / 8);
}

/// Without planted mistakes nearly all steps are right, and the proof must
/// accept them.
TEST(ScheduleProof, AcceptsCarefulSteps) {
  RandomStepShape careful;
  careful.forgotten = careful.careless = 0;
  Agreement count = compareOn(3000, 2, careful);
  std::printf("%d right, of which %d refused; %d wrong\n", count.right,
              count.tooCareful, count.wrong);
  EXPECT_GT(count.right, 2000);
  EXPECT_LT(count.tooCareful, count.right / 20);
}

/// On one stream only memory can be wrong.
TEST(ScheduleProof, MemoryAloneOnOneStream) {
  RandomStepShape shape;
  shape.streams = 1;
  shape.arenaBytes = 80;
  Agreement count = compareOn(4000, 3, shape);
  EXPECT_GT(count.right, 500);
  EXPECT_GT(count.wrong, 500);
}

//===----------------------------------------------------------------------===//
// One fault each
//===----------------------------------------------------------------------===//

/// Returns a step with buffers of 8, 4 and 4 bytes. The latter two have the
/// memory of the first.
Plan threeTenants() {
  Plan step;
  step.arenaBytes = 8;
  step.numStreams = 2;
  auto buffer = [&](int64_t bytes, int64_t offset) {
    step.buffers.push_back(bufferAt(bytes, offset));
  };
  buffer(8, 0);
  buffer(4, 0);
  buffer(4, 4);
  auto command = [&](int64_t stream, std::vector<PlanAccess> accesses) {
    PlanCommand c;
    c.stream = stream;
    c.accesses = std::move(accesses);
    step.commands.push_back(c);
  };
  command(0, {{0, {0, 8, 1, 0}, true}});
  command(0, {{0, {0, 8, 1, 0}, false}, {1, {0, 4, 1, 0}, true}});
  return step;
}

/// The first half's new owner must not hide the users of the second half.
TEST(ScheduleProof, RemembersTheRestOfAHalfOverwrittenBuffer) {
  Plan step = threeTenants();
  step.commands.pop_back();
  PlanCommand c;
  c.accesses = {{1, {0, 4, 1, 0}, true}};
  step.commands.push_back(c);
  c.stream = 1;
  c.accesses = {{2, {0, 4, 1, 0}, true}};
  step.commands.push_back(c);
  EXPECT_NE(ScheduleOracle(step).judge(), "");
  std::optional<StepFault> fault = proveSchedule(step);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("uses the same memory"));
  EXPECT_EQ(fault->command, 2);
  EXPECT_EQ(fault->otherCommand, 0);
  EXPECT_EQ(fault->otherBuffer, 0);
}

/// The order of a command's accesses does not matter.
TEST(ScheduleProof, CommandsMayNotOverwriteWhatTheyRead) {
  for (bool writesFirst : {false, true}) {
    Plan step = threeTenants();
    if (writesFirst)
      std::swap(step.commands[1].accesses[0], step.commands[1].accesses[1]);
    std::optional<StepFault> fault = proveSchedule(step);
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->message, HasSubstr("writes over what it reads itself"));
    EXPECT_EQ(fault->command, 1);
  }
}

/// Bytes that were written outside the part do not count.
TEST(ScheduleProof, CountsOnlyWrittenBytesOfWhatIsRead) {
  Plan step;
  step.arenaBytes = 12;
  step.buffers.push_back(bufferAt(12, 0));
  PlanCommand c;
  c.accesses = {{0, {0, 8, 1, 0}, true}};
  step.commands.push_back(c);
  c.accesses = {{0, {4, 8, 1, 0}, false}};
  step.commands.push_back(c);
  std::optional<StepFault> fault = proveSchedule(step);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("before all of it has been written"));
  // A part of the written bytes may be read.
  step.commands.back().accesses = {{0, {2, 4, 1, 0}, false}};
  EXPECT_FALSE(proveSchedule(step));
}

/// An argument must be intact for the next step, too.
TEST(ScheduleProof, ArgumentsOutlastTheStep) {
  Plan step;
  step.arenaBytes = 8;
  step.buffers.push_back(bufferAt(8, 0));
  step.buffers.back().name = "x";
  step.buffers.back().kind = BufferKind::Input;
  step.buffers.push_back(bufferAt(4, 4));
  PlanCommand c;
  c.accesses = {{1, {0, 4, 1, 0}, true}};
  step.commands.push_back(c);
  std::optional<StepFault> fault = proveSchedule(step);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message,
              HasSubstr("is needed by the next step after another"));
}

/// Only its update writes an argument, as a whole and after its readers.
TEST(ScheduleProof, ArgumentsAreUpdatedBehindTheirReaders) {
  PlanCommand read, half, rest, whole;
  read.accesses = {{0, {0, 8, 1, 0}, false}};
  half.accesses = {{0, {0, 4, 1, 0}, true}};
  rest.accesses = {{0, {4, 4, 1, 0}, true}};
  whole.accesses = {{0, {0, 8, 1, 0}, false}, {0, {0, 8, 1, 0}, true}};
  auto faultOf = [&](std::vector<PlanCommand> commands, int64_t updatedBy) {
    Plan step;
    step.arenaBytes = 8;
    step.buffers.push_back(bufferAt(8, 0));
    step.buffers.back().name = "w";
    step.buffers.back().kind = BufferKind::Parameter;
    step.buffers.back().updatedBy = updatedBy;
    step.commands = std::move(commands);
    std::optional<StepFault> fault = proveSchedule(step);
    return fault ? fault->message : "";
  };
  EXPECT_EQ(faultOf({read, whole}, 0), "");
  EXPECT_EQ(faultOf({read, half, rest}, 0), "");
  EXPECT_THAT(faultOf({read, whole}, -1), HasSubstr("writes an argument, 'w'"));
  EXPECT_THAT(faultOf({whole, read}, 0),
              HasSubstr("reads 'w' after its update"));
  EXPECT_THAT(faultOf({read, half}, 0), HasSubstr("next step"));
  EXPECT_THAT(faultOf({read}, 0), HasSubstr("never updates 'w'"));
  EXPECT_THAT(faultOf({whole, whole}, 0), HasSubstr("'w' after its update"));
}

} // namespace
