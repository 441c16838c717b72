#include "tpsp/Schedule/StreamIssue.h"

#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

class Issuer {
public:
  Issuer(const OverlapProblem &problem, const OverlapSchedule &schedule)
      : problem(problem), after(problem.commands.size()),
        place(problem.commands.size()), known(problem.commands.size()),
        queues(problem.numStreams), next(problem.numStreams, 0),
        clocks(problem.numStreams, StreamClock(problem.numStreams, 0)),
        issued(problem.commands.size(), false),
        waitedFor(problem.commands.size(), false),
        order(startOrder(problem, schedule)) {
    for (auto [i, command] : llvm::enumerate(problem.commands))
      after[i] = command.after;
    for (auto [earlier, later] : schedule.added)
      after[later].push_back(earlier);
    for (int64_t command : order) {
      auto &queue = queues[problem.commands[command].stream];
      place[command] = queue.size();
      queue.push_back(command);
    }
  }

  std::vector<IssueItem> run() {
    // Issues commands by start, but communication as early as possible.
    for (int64_t command : order) {
      issueCommunication();
      if (!issued[command])
        issue(command);
    }
    return withRecords();
  }

private:
  /// Issues the heads of communication streams whose predecessors have been
  /// issued.
  void issueCommunication() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int64_t stream = 1; stream < problem.numStreams; ++stream)
        while (std::optional<int64_t> head = issuableHead(stream)) {
          issue(*head);
          progress = true;
        }
    }
  }

  std::optional<int64_t> issuableHead(int64_t stream) {
    if (next[stream] == queues[stream].size())
      return std::nullopt;
    int64_t head = queues[stream][next[stream]];
    // Predecessors that were found issued are not checked again.
    size_t &found = foundIssued[head];
    while (found < after[head].size() && issued[after[head][found]])
      ++found;
    return found == after[head].size() ? std::optional(head) : std::nullopt;
  }

  void issue(int64_t command) {
    int64_t stream = problem.commands[command].stream;
    StreamClock &clock = clocks[stream];
    // The latest predecessor comes first, because its clock may make events for
    // the others needless.
    std::vector<int64_t> others;
    for (int64_t earlier : after[command])
      if (problem.commands[earlier].stream != stream)
        others.push_back(earlier);
    llvm::sort(others,
               [&](int64_t a, int64_t b) { return issuedAt[a] > issuedAt[b]; });
    for (int64_t earlier : others) {
      if (place[earlier] < clock[problem.commands[earlier].stream])
        continue;
      items.push_back({IssueItem::Wait, earlier, stream});
      waitedFor[earlier] = true;
      raiseTo(clock, known[earlier]);
    }
    items.push_back({IssueItem::Run, command, stream});
    issuedAt[command] = items.size();
    issued[command] = true;
    ++next[stream];
    clock[stream] = place[command] + 1;
    known[command] = clock;
  }

  /// Until now waits name commands. Gives these commands events.
  std::vector<IssueItem> withRecords() {
    std::vector<int64_t> event(problem.commands.size(), -1);
    int64_t numEvents = 0;
    std::vector<IssueItem> result;
    for (IssueItem item : items) {
      if (item.kind == IssueItem::Wait)
        item.number = event[item.number];
      result.push_back(item);
      if (item.kind == IssueItem::Run && waitedFor[item.number]) {
        event[item.number] = numEvents++;
        result.push_back({IssueItem::Record, event[item.number], item.stream});
      }
    }
    return result;
  }

  const OverlapProblem &problem;
  std::vector<std::vector<int64_t>> after;
  /// For each command, its position on its stream, and the commands that have
  /// ended when it has.
  std::vector<int64_t> place;
  std::vector<StreamClock> known;
  std::vector<std::vector<int64_t>> queues;
  std::vector<size_t> next;
  std::vector<StreamClock> clocks;
  std::vector<bool> issued, waitedFor;
  std::vector<size_t> foundIssued = std::vector<size_t>(issued.size(), 0);
  std::vector<int64_t> order;
  std::vector<int64_t> issuedAt = std::vector<int64_t>(order.size(), -1);
  std::vector<IssueItem> items;
};

} // namespace

std::vector<IssueItem> tpsp::issueOf(const OverlapProblem &problem,
                                     const OverlapSchedule &schedule) {
  return Issuer(problem, schedule).run();
}
