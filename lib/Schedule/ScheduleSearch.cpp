#include "tpsp/Schedule/ScheduleSearch.h"

#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/OwnProducts.h"
#include "tpsp/Schedule/StepOverlap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>

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

/// All but what is simulated. `most`: bytes of the arena.
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

namespace {

class ScheduleSearch {
public:
  ScheduleSearch(const Plan &plan, const CostModel &cost,
                 const ArenaLimits &limits,
                 const std::vector<ListSetting> &settings)
      : plan(plan), cost(cost), limits(limits), settings(settings),
        problem(overlapProblemOf(plan, cost, /*bytes=*/0)),
        lastingBytes(-problem.capacity) {}

  llvm::Expected<SearchedSchedule> run() {
    if (std::optional<std::string> wrong = problem.check())
      return llvm::createStringError("cannot be scheduled: " + *wrong);
    if (llvm::Error error = tryAmounts())
      return error;
    if (!found.fits) {
      problem.waitsForRoom = true;
      if (llvm::Error error = tryAmount(0, everyMiss))
        return error;
    }
    if (!found.fits)
      if (llvm::Error error = simulateInto(found.best, cost))
        return error;
    note(found.best.setting);
    return std::move(found);
  }

private:
  static constexpr int enough = 2, fewMisses = 4, everyMiss = 1000;

  /// With all that may be added, with half of it and with none.
  llvm::Error tryAmounts() {
    const int64_t extra = limits.mostBytes - limits.serialBytes;
    for (int64_t more = extra;;) {
      bool isLast = more == 0;
      if (llvm::Error error =
              tryAmount(more, isLast && !found.fits ? everyMiss : fewMisses))
        return error;
      if (isLast)
        return llvm::Error::success();
      int64_t less = more > extra / 2 ? extra / 2 : 0;
      // Else by as much as was missing, in a few steps.
      if (missing > 0)
        less = more - std::max({missing, extra / 4, int64_t(1)});
      more = std::max<int64_t>(less, 0);
    }
  }

  /// Schedules with so many bytes more than one command after another takes,
  /// the fastest first, until a few have been found that fit or `mostMisses`
  /// do not.
  llvm::Error tryAmount(int64_t more, int mostMisses) {
    problem.capacity = limits.serialBytes + more - lastingBytes;
    std::vector<ListVariant> variants = scheduleVariants(problem, settings);
    int fitting = 0, misses = 0;
    missing = 0;
    for (auto [i, variant] : llvm::enumerate(variants)) {
      if (i < enough)
        note(variant.setting);
      llvm::Expected<ScheduledPlan> next =
          scheduledPlan(plan, problem, variant, limits.mostBytes);
      if (!next)
        return next.takeError();
      if (int64_t over = next->arenaBytes - limits.mostBytes; over > 0) {
        missing = misses++ ? std::min(missing, over) : over;
      } else {
        ++fitting;
      }
      if (llvm::Error error = consider(std::move(*next)))
        return error;
      if (fitting == enough || misses >= mostMisses)
        break;
    }
    if (fitting > 0)
      missing = 0;
    return llvm::Error::success();
  }

  /// Keeps the better one of it and the best so far.
  llvm::Error consider(ScheduledPlan next) {
    bool isFirst = found.best.items.empty();
    if (next.arenaBytes > limits.mostBytes) {
      if (isFirst ||
          (!found.fits && next.arenaBytes < found.best.arenaBytes))
        found.best = std::move(next);
      return llvm::Error::success();
    }
    if (llvm::Error error = simulateInto(next, cost))
      return error;
    if (!found.fits ||
        next.simulated.seconds < found.best.simulated.seconds)
      found.best = std::move(next);
    found.fits = true;
    return llvm::Error::success();
  }

  void note(const ListSetting &setting) {
    if (!llvm::is_contained(found.promising, setting))
      found.promising.push_back(setting);
  }

  const Plan &plan;
  const CostModel &cost;
  const ArenaLimits limits;
  const std::vector<ListSetting> &settings;
  OverlapProblem problem;
  const int64_t lastingBytes;
  /// By how much the latest schedules, none of which fits, do not fit: the
  /// least of them. 0 if one fits.
  int64_t missing = 0;
  SearchedSchedule found;
};

} // namespace

llvm::Expected<SearchedSchedule>
tpsp::searchSchedules(const Plan &plan, const CostModel &cost,
                      const ArenaLimits &limits,
                      const std::vector<ListSetting> &settings) {
  return ScheduleSearch(plan, cost, limits, settings).run();
}

llvm::Expected<SearchedSchedule>
tpsp::scheduleOwnProducts(const Plan &plan, const CostModel &cost) {
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  OverlapProblem problem = overlapProblemOf(plan, cost, /*bytes=*/0);
  problem.capacity = unlimited;
  if (std::optional<std::string> wrong = problem.check())
    return llvm::createStringError("cannot be scheduled: " + *wrong);
  llvm::Expected<ScheduledPlan> only = scheduledPlan(
      plan, problem, {{}, scheduleOwnProducts(plan, problem)}, unlimited);
  if (!only)
    return only.takeError();
  if (llvm::Error error = simulateInto(*only, cost))
    return error;
  return SearchedSchedule{std::move(*only), /*fits=*/true, {}};
}
