// The order of issue keeps every dependence whatever time commands really take,
// without superfluous events. Communication is never issued after computation
// that it need not wait for.
#include "tpsp/Schedule/StreamIssue.h"

#include "RandomProblem.h"
#include "ScheduleOracle.h"

#include "tpsp/Schedule/OverlapSchedulers.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

using namespace tpsp;

namespace {

/// A problem, its schedule, and the items to issue.
struct Issued {
  OverlapProblem problem;
  OverlapSchedule schedule;
  std::vector<IssueItem> items;
  Plan step;
  /// The position in `items` of each of the problem's commands.
  std::vector<int64_t> positionOf;

  Issued(OverlapProblem given, double reserve)
      : problem(std::move(given)), schedule(scheduleList(problem, reserve)),
        items(issueOf(problem, schedule)),
        positionOf(problem.commands.size(), -1) {
    step.numStreams = problem.numStreams;
    for (auto [i, item] : llvm::enumerate(items)) {
      PlanCommand &command = step.commands.emplace_back();
      command.stream = item.stream;
      command.event = item.kind == IssueItem::Run ? -1 : item.number;
      if (item.kind == IssueItem::Run)
        positionOf[item.number] = i;
      else
        command.kind = item.kind == IssueItem::Record ? CommandKind::EventRecord
                                                      : CommandKind::EventWait;
    }
  }

  std::vector<std::pair<int64_t, int64_t>> dependences() const {
    std::vector<std::pair<int64_t, int64_t>> all = schedule.added;
    for (auto [i, command] : llvm::enumerate(problem.commands))
      for (int64_t earlier : command.after)
        all.push_back({earlier, i});
    return all;
  }

  /// Returns a dependence that the items without number `dropped` do not keep;
  /// "" if there is none.
  std::string broken(std::optional<size_t> dropped = std::nullopt) const {
    std::vector<int64_t> issue;
    std::vector<int64_t> place(items.size(), -1);
    for (size_t i = 0; i < items.size(); ++i)
      if (i != dropped) {
        place[i] = issue.size();
        issue.push_back(i);
      }
    std::string wrong;
    IssueClosure closure(step, issue, wrong);
    if (!wrong.empty())
      return wrong;
    for (auto [earlier, later] : dependences())
      if (!closure.endsBefore(place[positionOf[earlier]],
                              place[positionOf[later]]))
        return std::to_string(later) + " may begin before " +
               std::to_string(earlier) + " has ended";
    return "";
  }
};

/// Calls `body` for problems of all sorts: with and without memory bounds, and
/// with more or less delay.
template <typename Body> void forEachIssued(int trials, Body body) {
  std::mt19937 random(21);
  for (int trial = 0; trial < trials; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    double reserve = trial % 3 == 0 ? 0 : trial % 3 * 4e-3;
    body(Issued(randomProblem(random, 1 + trial % 50, trial % 2), reserve));
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(StreamIssue, EveryCommandOnceOnItsStreamByStart) {
  forEachIssued(600, [](const Issued &issued) {
    std::vector<int> runs(issued.problem.commands.size(), 0);
    std::vector<double> latest(issued.problem.numStreams, 0);
    for (const IssueItem &item : issued.items) {
      if (item.kind != IssueItem::Run)
        continue;
      ++runs[item.number];
      EXPECT_EQ(item.stream, issued.problem.commands[item.number].stream);
      EXPECT_GE(issued.schedule.start[item.number], latest[item.stream]);
      latest[item.stream] = issued.schedule.start[item.number];
    }
    EXPECT_THAT(runs, testing::Each(1));
  });
}

TEST(StreamIssue, EveryEventIsRecordedOnceBehindItsCommandAndWaitedFor) {
  int events = 0;
  forEachIssued(600, [&](const Issued &issued) {
    std::map<int64_t, int> waits;
    int64_t recorded = 0;
    for (size_t i = 0; i < issued.items.size(); ++i) {
      const IssueItem &item = issued.items[i];
      if (item.kind == IssueItem::Wait) {
        EXPECT_LT(item.number, recorded) << "is waited for before its record";
        ++waits[item.number];
      }
      if (item.kind != IssueItem::Record)
        continue;
      EXPECT_EQ(item.number, recorded++) << "events are numbered as recorded";
      ASSERT_GT(i, 0u);
      EXPECT_EQ(issued.items[i - 1].kind, IssueItem::Run);
      EXPECT_EQ(issued.items[i - 1].stream, item.stream);
    }
    EXPECT_EQ(int64_t(waits.size()), recorded) << "nobody waits for an event";
    events += recorded;
  });
  EXPECT_GT(events, 1000);
}

TEST(StreamIssue, KeepsEveryDependenceAndNeedsEveryWait) {
  int waits = 0, added = 0;
  forEachIssued(600, [&](const Issued &issued) {
    EXPECT_EQ(issued.broken(), "");
    added += issued.schedule.added.size();
    for (size_t i = 0; i < issued.items.size(); ++i) {
      if (issued.items[i].kind != IssueItem::Wait)
        continue;
      ++waits;
      EXPECT_NE(issued.broken(i), "") << "item " << i << " waits for nothing";
    }
  });
  EXPECT_GT(waits, 1000);
  EXPECT_GT(added, 100) << "memory that runs full";
}

/// No computation is issued between a collective and the last command on which
/// it depends.
TEST(StreamIssue, CommunicationIsIssuedAsSoonAsItCanBe) {
  int overtaken = 0;
  forEachIssued(600, [&](const Issued &issued) {
    std::vector<int64_t> ready(issued.problem.commands.size(), -1);
    for (auto [earlier, later] : issued.dependences())
      ready[later] = std::max(ready[later], issued.positionOf[earlier]);
    std::vector<int64_t> latest(issued.problem.numStreams, -1);
    for (int64_t i = 0; i < int64_t(issued.items.size()); ++i) {
      const IssueItem &item = issued.items[i];
      if (item.kind != IssueItem::Run)
        continue;
      int64_t from = std::max(ready[item.number], latest[item.stream]);
      latest[item.stream] = i;
      for (int64_t between = from + 1; item.stream && between < i; ++between) {
        const IssueItem &other = issued.items[between];
        EXPECT_FALSE(other.kind == IssueItem::Run && other.stream == 0)
            << "command " << item.number << " is issued behind computation "
            << other.number;
      }
      overtaken += item.stream && from + 1 < i;
    }
  });
  EXPECT_GT(overtaken, 100);
}

} // namespace
