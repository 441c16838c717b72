#include "tpsp/Schedule/ScheduleSearch.h"

#include "tpsp/Schedule/ArenaPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace tpsp;

/// The plan as it will be issued.
static Plan issuedPlan(const Plan &plan, const std::vector<IssueItem> &items,
                       int64_t numStreams) {
  Plan result;
  result.mesh = plan.mesh;
  result.buffers = plan.buffers;
  result.ledger = plan.ledger;
  for (LedgerRow &row : result.ledger)
    row.commands.clear();
  result.numStreams = numStreams;
  result.commands.reserve(items.size());
  for (const IssueItem &item : items) {
    PlanCommand &command = result.commands.emplace_back();
    if (item.kind == IssueItem::Run) {
      command = plan.commands[item.number];
      if (int64_t row = command.collective.row; row >= 0)
        result.ledger[row].commands.push_back(int64_t(result.commands.size()) -
                                              1);
    } else {
      command.kind = item.kind == IssueItem::Record ? CommandKind::EventRecord
                                                    : CommandKind::EventWait;
      command.event = item.number;
      result.numEvents = std::max(result.numEvents, item.number + 1);
    }
    command.stream = item.stream;
  }
  return result;
}

/// A schedule of the plan, not simulated yet. `most`: the bytes that its arena
/// may have. Fails if the schedule breaks a rule of the problem or of streams
/// and events.
static llvm::Expected<ScheduledPlan>
scheduledPlan(const Plan &plan, const OverlapProblem &problem,
              const ListVariant &variant, int64_t most) {
  if (std::optional<std::string> wrong = verify(problem, variant.schedule))
    return llvm::createStringError("was scheduled wrongly: " + *wrong);
  ScheduledPlan result;
  result.setting = variant.setting;
  result.items = issueOf(problem, variant.schedule);
  result.issued = issuedPlan(plan, result.items, problem.numStreams);
  HappensBefore before;
  if (auto fault = HappensBefore::analyse(result.issued, before))
    return llvm::createStringError(
        llvm::formatv("command {0} {1}", fault->command, fault->message));
  result.arenaBytes = arenaBytesWithin(most, result.issued, before);
  return result;
}

static llvm::Error simulateInto(ScheduledPlan &scheduled,
                                const CostModel &cost) {
  llvm::Expected<SimulatedStep> step = simulate(scheduled.issued, cost);
  if (!step)
    return step.takeError();
  scheduled.simulated = std::move(*step);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// ScheduleSearch
//===----------------------------------------------------------------------===//

/// Less memory is tried after this number of schedules that fit.
static constexpr int enoughFits = 2;
static constexpr int everyMiss = std::numeric_limits<int>::max();

/// The least step from one amount of memory to the next, in bytes.
static constexpr int64_t leastStep = 4096;

/// Less memory is tried after this number of schedules that do not fit. The
/// time for them is independent of the plan's length, unless the plan is very
/// long.
static int mostMisses(const Plan &plan) {
  constexpr size_t commands = 8000, least = 2;
  return int(std::max(commands / plan.commands.size(), least));
}

llvm::Expected<double>
ScheduleSearch::estimate(const std::vector<ListSetting> &settings) {
  if (std::optional<std::string> wrong = problem.check())
    return llvm::createStringError("cannot be scheduled: " + *wrong);
  problem.capacity = limits.mostBytes - lastingBytes;
  estimated = scheduleVariants(problem, settings, std::move(estimated));
  return estimated.front().schedule.seconds;
}

llvm::Expected<SearchedSchedule> ScheduleSearch::run() {
  if (llvm::Expected<double> seconds = estimate(listSettings()); !seconds)
    return seconds.takeError();
  for (const ListVariant &variant : estimated)
    settings.push_back(variant.setting);
  // The settings that are left gave the same schedule as another setting.
  for (const ListSetting &setting : listSettings())
    if (!llvm::is_contained(settings, setting))
      settings.push_back(setting);
  if (llvm::Error error = tryAmounts())
    return error;
  if (!found.fits)
    if (llvm::Error error = tryWaiting(0, everyMiss))
      return error;
  if (!found.fits)
    if (llvm::Error error = simulateInto(found.best, cost))
      return error;
  found.promising = promisingSettings();
  return std::move(found);
}

/// Tries all the memory that may be added, then half of it, then none. Tries
/// less than one command after another takes if a faster schedule was found no
/// arena for: in less memory, gaps are smaller.
llvm::Error ScheduleSearch::tryAmounts() {
  const int64_t temporaries = limits.serialBytes - lastingBytes;
  const int most = mostMisses(plan);
  for (int64_t more = extraBytes();; more = lessThan(more)) {
    if (llvm::Error error = tryAmount(more, most))
      return error;
    if (fits < enoughFits && size_t(most) >= settings.size())
      if (llvm::Error error = tryWaiting(more, most))
        return error;
    bool isLast = temporaries < leastStep || more < -temporaries / 2;
    if (more <= 0 && (isLast || !missesFaster()))
      return llvm::Error::success();
  }
}

/// Whether the fastest of the latest schedules that found no arena is clearly
/// faster than the best one that did.
bool ScheduleSearch::missesFaster() const {
  constexpr double worthwhile = 0.98;
  return !found.fits || fastestMiss < worthwhile * bestEstimate;
}

/// The memory to try after `more`. If no schedule fits, it shrinks by the
/// missing bytes, in a few steps. Gaps are smaller in less memory, too.
int64_t ScheduleSearch::lessThan(int64_t more) const {
  const int64_t extra = extraBytes(), least = extra / 4;
  if (more <= 0)
    return more - std::max({missing, leastStep,
                            (limits.serialBytes - lastingBytes) / 16});
  if (missing == 0)
    return more > extra / 2 ? extra / 2 : 0;
  return more > least ? std::max(more - std::max(missing, least), more / 2) : 0;
}

/// Tries schedules whose commands wait for those that left room, even if the
/// capacity does not require it.
llvm::Error ScheduleSearch::tryWaiting(int64_t more, int mostMisses) {
  problem.waitsForRoom = true;
  llvm::Error error = tryAmount(more, mostMisses);
  problem.waitsForRoom = false;
  return error;
}

/// Tries schedules that may take `more` bytes than the serial step, the fastest
/// first. Stops after `enoughFits` schedules that fit, or `mostMisses` that do
/// not.
llvm::Error ScheduleSearch::tryAmount(int64_t more, int mostMisses) {
  int misses = 0;
  fits = 0;
  missing = 0;
  fastestMiss = std::numeric_limits<double>::infinity();
  for (const ListVariant &variant : variantsIn(more, mostMisses)) {
    llvm::Expected<ScheduledPlan> next =
        scheduledPlan(plan, problem, variant, limits.mostBytes);
    if (!next)
      return next.takeError();
    double estimate = variant.schedule.seconds;
    if (int64_t over = next->arenaBytes - limits.mostBytes; over > 0) {
      missing = misses++ ? std::min(missing, over) : over;
      fastestMiss = std::min(fastestMiss, estimate);
    } else {
      ++fits;
    }
    if (llvm::Error error = consider(std::move(*next), estimate))
      return error;
    if (fits == enoughFits || misses >= mostMisses)
      break;
  }
  if (fits > 0)
    missing = 0;
  return llvm::Error::success();
}

std::vector<ListVariant> ScheduleSearch::variantsIn(int64_t more,
                                                    int mostMisses) {
  problem.capacity =
      std::max<int64_t>(limits.serialBytes + more - lastingBytes, 0);
  if (!estimated.empty() && !problem.waitsForRoom)
    return std::exchange(estimated, {});
  // Settings that are slow with much memory are also slow with less. Only the
  // first ones are tried if misses are limited.
  size_t most = settings.size();
  if (size_t(mostMisses) < most)
    most = most / 4 + size_t(mostMisses);
  return scheduleVariants(problem,
                          {settings.begin(), settings.begin() + int64_t(most)});
}

/// Keeps `next`, of which a list schedule is estimated to take `estimate`
/// seconds, if it is better than the best so far.
llvm::Error ScheduleSearch::consider(ScheduledPlan next, double estimate) {
  bool isFirst = found.best.items.empty();
  if (next.arenaBytes > limits.mostBytes) {
    if (isFirst || (!found.fits && next.arenaBytes < found.best.arenaBytes))
      found.best = std::move(next);
    return llvm::Error::success();
  }
  if (llvm::Error error = simulateInto(next, cost))
    return error;
  if (!found.fits || next.simulated.seconds < found.best.simulated.seconds) {
    found.best = std::move(next);
    bestEstimate = estimate;
  }
  found.fits = true;
  return llvm::Error::success();
}

std::vector<ListSetting> ScheduleSearch::promisingSettings() const {
  std::vector<ListSetting> promising = {found.best.setting};
  for (const ListSetting &setting : settings)
    if (llvm::none_of(promising, [&](const ListSetting &other) {
          return other.isLike(setting);
        }))
      promising.push_back(setting);
  return promising;
}

llvm::Expected<SearchedSchedule>
tpsp::scheduledInOrder(const Plan &plan, const CostModel &cost,
                       InOrderOverlap overlap) {
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  OverlapProblem problem = overlapProblemOf(plan, cost, /*bytes=*/0);
  problem.capacity = unlimited;
  if (std::optional<std::string> wrong = problem.check())
    return llvm::createStringError("cannot be scheduled: " + *wrong);
  llvm::Expected<ScheduledPlan> only = scheduledPlan(
      plan, problem, {{}, scheduleInOrder(plan, problem, overlap)}, unlimited);
  if (!only)
    return only.takeError();
  if (llvm::Error error = simulateInto(*only, cost))
    return error;
  return SearchedSchedule{std::move(*only), /*fits=*/true, {}};
}
