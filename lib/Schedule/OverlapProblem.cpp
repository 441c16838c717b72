#include "tpsp/Schedule/OverlapProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

using namespace tpsp;

template <typename... Args>
static std::string message(const char *format, const Args &...args) {
  return llvm::formatv(format, args...).str();
}

/// Sums of seconds are rounded: what begins this much too early begins in time.
static constexpr double roundingSeconds = 1e-12;

std::optional<std::string> OverlapProblem::check() const {
  std::vector<int64_t> claimant(pools.size(), -1);
  for (auto [i, command] : llvm::enumerate(commands)) {
    int64_t position = i;
    if (!(command.seconds >= 0) || !std::isfinite(command.seconds))
      return message("command {0} takes {1} s", i, command.seconds);
    if (command.stream < 0 || command.stream >= numStreams)
      return message("command {0} is on stream {1} of {2}", i, command.stream,
                     numStreams);
    for (int64_t earlier : command.after)
      if (earlier < 0 || earlier >= position)
        return message("command {0} comes after command {1}, which is not "
                       "before it",
                       i, earlier);
    for (const BufferClaim &claim : command.claims) {
      if (claim.pool < 0 || claim.pool >= int64_t(pools.size()) ||
          claim.bytes < 0)
        return message("command {0} claims {1} bytes of pool {2} of {3}", i,
                       claim.bytes, claim.pool, pools.size());
      if (claimant[claim.pool] >= 0 && claimant[claim.pool] != command.stream)
        return message("streams {0} and {1} both claim from pool {2}",
                       claimant[claim.pool], command.stream, claim.pool);
      claimant[claim.pool] = command.stream;
      for (int64_t user : claim.releasedBy)
        if (user <= position || user >= int64_t(commands.size()))
          return message("the claim of command {0} is released by command {1}, "
                         "which is not after it",
                         i, user);
      if (claim.releasedBy.empty())
        return message("the claim of command {0} is never released", i);
    }
  }
  return std::nullopt;
}

std::vector<int64_t> tpsp::startOrder(const OverlapProblem &problem,
                                      const OverlapSchedule &schedule) {
  size_t count = problem.commands.size();
  // Commands that take no time can start together and still follow each other.
  std::vector<std::vector<int64_t>> behind(count);
  std::vector<int64_t> missing(count, 0);
  auto note = [&](int64_t earlier, int64_t later) {
    if (schedule.start[earlier] != schedule.start[later])
      return;
    behind[earlier].push_back(later);
    ++missing[later];
  };
  for (size_t i = 0; i < count; ++i)
    for (int64_t earlier : problem.commands[i].after)
      note(earlier, i);
  for (auto [earlier, later] : schedule.added)
    note(earlier, later);
  std::set<std::tuple<double, bool, int64_t>> next;
  auto insert = [&](int64_t command) {
    next.insert({schedule.start[command], problem.commands[command].seconds > 0,
                 command});
  };
  for (size_t i = 0; i < count; ++i)
    if (missing[i] == 0)
      insert(i);
  std::vector<int64_t> order;
  while (!next.empty()) {
    int64_t command = std::get<2>(*next.begin());
    next.erase(next.begin());
    order.push_back(command);
    for (int64_t later : behind[command])
      if (--missing[later] == 0)
        insert(later);
  }
  // Commands that wait for each other in a circle have no valid schedule.
  for (size_t i = 0; i < count; ++i)
    if (missing[i] > 0)
      order.push_back(i);
  return order;
}

int64_t OverlapProblem::Command::bytesClaimed(int64_t pool) const {
  int64_t bytes = 0;
  for (const BufferClaim &claim : claims)
    bytes += claim.pool == pool ? claim.bytes : 0;
  return bytes;
}

std::vector<double> tpsp::remainingChain(const OverlapProblem &problem) {
  std::vector<double> chain(problem.commands.size(), 0);
  for (size_t i = chain.size(); i-- > 0;) {
    chain[i] += problem.commands[i].seconds;
    for (int64_t earlier : problem.commands[i].after)
      chain[earlier] = std::max(chain[earlier], chain[i]);
  }
  return chain;
}

namespace {

class Verifier {
public:
  Verifier(const OverlapProblem &problem, const OverlapSchedule &schedule)
      : problem(problem), schedule(schedule) {}

  std::optional<std::string> run() const {
    if (schedule.start.size() != problem.commands.size())
      return message("{0} starts for {1} commands", schedule.start.size(),
                     problem.commands.size());
    if (auto wrong = checkDependences())
      return wrong;
    if (auto wrong = checkStreams())
      return wrong;
    return checkPools();
  }

private:
  double end(int64_t command) const {
    return schedule.start[command] + problem.commands[command].seconds;
  }

  bool isBefore(int64_t earlier, int64_t later) const {
    return end(earlier) <= schedule.start[later] + roundingSeconds;
  }

  std::optional<std::string> checkDependences() const {
    double last = 0;
    for (auto [i, command] : llvm::enumerate(problem.commands)) {
      if (!(schedule.start[i] >= 0))
        return message("command {0} starts at {1} s", i, schedule.start[i]);
      for (int64_t earlier : command.after)
        if (!isBefore(earlier, i))
          return message("command {0} starts at {1} s, before command {2}, "
                         "which it comes after, has ended at {3} s",
                         i, schedule.start[i], earlier, end(earlier));
      last = std::max(last, end(i));
    }
    for (auto [earlier, later] : schedule.added)
      if (!isBefore(earlier, later))
        return message("command {0} starts before command {1} has ended, which "
                       "the schedule made it wait for",
                       later, earlier);
    if (std::abs(last - schedule.seconds) > roundingSeconds)
      return message("the schedule ends at {0} s, not at {1} s", last,
                     schedule.seconds);
    return std::nullopt;
  }

  std::optional<std::string> checkStreams() const {
    std::vector<int64_t> latest(problem.numStreams, -1);
    for (int64_t command : startOrder(problem, schedule)) {
      int64_t &previous = latest[problem.commands[command].stream];
      if (previous >= 0 && !isBefore(previous, command))
        return message("stream {0} starts command {1} at {2} s, while command "
                       "{3} runs until {4} s",
                       problem.commands[command].stream, command,
                       schedule.start[command], previous, end(previous));
      previous = command;
    }
    return std::nullopt;
  }

  /// By time: releases before the claims of the same moment.
  std::optional<std::string> checkPools() const {
    struct Change {
      double time;
      int64_t bytes, pool, command;
    };
    std::vector<Change> changes;
    std::set<std::pair<int64_t, int64_t>> seen;
    for (int64_t command : startOrder(problem, schedule))
      for (const BufferClaim &claim : problem.commands[command].claims) {
        double claimed = schedule.start[command], released = claimed;
        for (int64_t user : claim.releasedBy)
          released = std::max(released, end(user) - roundingSeconds);
        // All of a command's claims on a pool come with the first.
        bool isFirst = seen.insert({command, claim.pool}).second;
        if (isFirst)
          changes.push_back({claimed,
                             problem.commands[command].bytesClaimed(claim.pool),
                             claim.pool, command});
        changes.push_back({released, -claim.bytes, claim.pool, command});
      }
    llvm::stable_sort(changes, [](const Change &a, const Change &b) {
      return a.time < b.time;
    });
    std::vector<int64_t> held(problem.pools.size(), 0);
    for (const Change &change : changes) {
      int64_t before = held[change.pool];
      held[change.pool] += change.bytes;
      if (change.bytes > 0 && before > 0 &&
          held[change.pool] > problem.pools[change.pool].capacity &&
          !llvm::is_contained(schedule.overdrawn, change.command))
        return message("command {0} takes pool {1} to {2} bytes of {3}",
                       change.command, change.pool, held[change.pool],
                       problem.pools[change.pool].capacity);
    }
    return std::nullopt;
  }

  const OverlapProblem &problem;
  const OverlapSchedule &schedule;
};

} // namespace

std::optional<std::string> tpsp::verify(const OverlapProblem &problem,
                                        const OverlapSchedule &schedule) {
  return Verifier(problem, schedule).run();
}
