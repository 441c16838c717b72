#include "CutSearch.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tpsp;

bool OverlapCandidate::isBetterThan(const OverlapCandidate &other) const {
  if (found.fits != other.found.fits)
    return found.fits;
  const ScheduledPlan &mine = found.best, &theirs = other.found.best;
  return found.fits ? mine.simulated.seconds < theirs.simulated.seconds
                    : mine.arenaBytes < theirs.arenaBytes;
}

/// The program without cuts, not scheduled yet.
static OverlapCandidate candidateOf(plan::ProgramOp program, const Plan &plan) {
  OverlapCandidate candidate;
  candidate.program = program;
  candidate.plan = std::make_shared<Plan>(plan);
  for (auto [i, op] : llvm::enumerate(commandsOf(program))) {
    const PlanCommand &command = plan.commands[i];
    int64_t row = command.collective.row;
    bool isPiece = row >= 0 && plan.ledger[row].whole >= 0;
    if (command.kind == CommandKind::Collective && !isPiece)
      candidate.numbers[op] = int64_t(i);
  }
  return candidate;
}

/// Copies the program and inserts the copy after it. The copy has no plan yet.
static OverlapCandidate copyOf(const OverlapCandidate &candidate) {
  OverlapCandidate copy;
  IRMapping mapping;
  plan::ProgramOp program = candidate.program;
  copy.program = cast<plan::ProgramOp>(program->clone(mapping));
  program->getBlock()->getOperations().insert(std::next(program->getIterator()),
                                              copy.program);
  copy.cuts = candidate.cuts;
  for (auto [op, number] : candidate.numbers)
    copy.numbers[mapping.lookup(op)] = number;
  return copy;
}

/// The first number that no collective which has been cut has.
static int64_t nextWhole(const Plan &plan) {
  int64_t next = 0;
  for (const LedgerRow &row : plan.ledger)
    next = std::max(next, row.whole + 1);
  return next;
}

FailureOr<OverlapCandidate> CutSearch::run(plan::ProgramOp program,
                                           const Plan &plan) {
  original = program;
  wholes = nextWhole(plan);
  tried.clear();
  OverlapCandidate best = candidateOf(program, plan);
  if (failed(schedule(best)) || failed(improveByCuts(best)))
    return failure();
  return best;
}

FailureOr<OverlapCandidate>
CutSearch::runWith(const std::vector<TriedCuts> &known, plan::ProgramOp program,
                   const Plan &plan, const std::vector<int64_t> &twins) {
  // A schedule may take longer than its estimate by this factor.
  constexpr double margin = 1.03;
  original = program;
  wholes = nextWhole(plan);
  const OverlapCandidate whole = candidateOf(program, plan);
  std::vector<OverlapCandidate> candidates;
  std::vector<std::unique_ptr<ScheduleSearch>> searches;
  std::vector<double> estimates;
  for (const TriedCuts &each : known) {
    candidates.push_back(cutLike(whole, each, twins));
    searches.push_back(std::make_unique<ScheduleSearch>(*candidates.back().plan,
                                                        cost, limits));
    llvm::Expected<double> seconds = searches.back()->estimate(each.settings);
    if (!seconds)
      return emitErrorAt(original) << llvm::toString(seconds.takeError());
    estimates.push_back(*seconds);
  }
  // The schedules with the least estimates come first. Then the others are
  // tried only if their estimates are less than the best schedule's time.
  SmallVector<size_t> order = llvm::to_vector(llvm::seq(estimates.size()));
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return estimates[a] < estimates[b]; });
  std::optional<OverlapCandidate> best;
  for (size_t i : order) {
    OverlapCandidate &candidate = candidates[i];
    bool isSlow = estimates[i] > margin * estimates[order.front()] ||
                  (best && best->found.fits &&
                   estimates[i] >= best->found.best.simulated.seconds);
    if (isSlow) {
      drop(candidate);
      continue;
    }
    if (failed(finish(candidate, searches[i]->run())))
      return failure();
    bool isBetter = !best || candidate.isBetterThan(*best);
    if (best)
      drop(isBetter ? *best : candidate);
    if (isBetter)
      best = std::move(candidate);
  }
  return std::move(*best);
}

OverlapCandidate
CutSearch::repeat(const std::vector<std::vector<int64_t>> &cuts,
                  plan::ProgramOp program, const Plan &plan) {
  original = program;
  wholes = nextWhole(plan);
  auto twins = llvm::to_vector(llvm::seq<int64_t>(0, plan.commands.size()));
  return cutLike(candidateOf(program, plan), {cuts, {}},
                 {twins.begin(), twins.end()});
}

/// A copy of `whole` with the same cuts, or `whole` if there are none.
OverlapCandidate CutSearch::cutLike(const OverlapCandidate &whole,
                                    const TriedCuts &known,
                                    const std::vector<int64_t> &twins) {
  if (known.cuts.empty())
    return whole;
  OverlapCandidate copy = copyOf(whole);
  SmallVector<Operation *> commands = commandsOf(copy.program);
  for (const std::vector<int64_t> &round : known.cuts) {
    llvm::BitVector isCut(commands.size());
    for (int64_t number : round)
      isCut.set(number);
    copy.cuts.emplace_back();
    for (auto [op, twin] : llvm::zip_equal(commands, twins))
      if (twin >= 0 && isCut.test(twin) && copy.numbers.contains(op))
        if (std::optional<CollectiveCut> chosen = chooseCut(op, cost, chunks))
          cut(copy, op, *chosen);
  }
  copy.plan = std::make_shared<Plan>(planOf(copy.program));
  return copy;
}

LogicalResult CutSearch::schedule(OverlapCandidate &candidate) {
  if (failed(finish(candidate,
                    ScheduleSearch(*candidate.plan, cost, limits).run())))
    return failure();
  tried.push_back({candidate.cuts, candidate.found.promising});
  return success();
}

LogicalResult CutSearch::finish(OverlapCandidate &candidate,
                                llvm::Expected<SearchedSchedule> found) {
  if (!found)
    return emitErrorAt(original) << llvm::toString(found.takeError());
  candidate.found = std::move(*found);
  return success();
}

/// Tries schedules with collectives cut, as long as they get better. A cut can
/// expose communication that was hidden, so there are a few rounds.
LogicalResult CutSearch::improveByCuts(OverlapCandidate &best) {
  if (chunks == 1)
    return success();
  if (chunks > 1)
    return tryCuts(best, Cuts::All, /*keepAnyway=*/true, best);
  OverlapCandidate whole = best;
  constexpr int mostRounds = 3;
  for (int round = 0; round < mostRounds; ++round) {
    FailureOr<bool> wasBetter = tryCuts(best, Cuts::Exposed, false, best);
    if (failed(wasBetter))
      return failure();
    if (!*wasBetter)
      break;
  }
  return tryCuts(whole, Cuts::Paying, false, best);
}

/// Cuts a copy of `base` and replaces `best` by it if it is faster, or if
/// `keepAnyway`. Returns whether it did.
FailureOr<bool> CutSearch::tryCuts(OverlapCandidate &base, Cuts cuts,
                                   bool keepAnyway, OverlapCandidate &best) {
  OverlapCandidate next = copyOf(base);
  cutIn(next, base, cuts);
  if (next.cuts.back().empty()) {
    next.program.erase();
    return false;
  }
  next.plan = std::make_shared<Plan>(planOf(next.program));
  if (failed(schedule(next)))
    return failure();
  if (!keepAnyway && !next.isBetterThan(best)) {
    next.program.erase();
    return false;
  }
  drop(best);
  best = std::move(next);
  return true;
}

bool CutSearch::shouldCut(Cuts cuts, const CollectiveCut &cut,
                          double exposed) const {
  bool pays = cut.secondsAfter < cut.secondsBefore;
  return cuts == Cuts::All || (pays && (cuts == Cuts::Paying || exposed > 0));
}

/// Cuts collectives of `copy`, which is a copy of `base`, in a further round.
void CutSearch::cutIn(OverlapCandidate &copy, const OverlapCandidate &base,
                      Cuts cuts) {
  const ScheduledPlan &best = base.found.best;
  std::vector<double> exposed(base.plan->commands.size(), 0);
  for (auto [item, times] :
       llvm::zip_equal(best.items, best.simulated.exposure.commands))
    if (item.kind == IssueItem::Run)
      exposed[item.number] = times.exposed;
  copy.cuts.emplace_back();
  for (auto [i, op] : llvm::enumerate(commandsOf(copy.program))) {
    if (!copy.numbers.contains(op))
      continue;
    std::optional<CollectiveCut> chosen = chooseCut(op, cost, chunks);
    if (chosen && shouldCut(cuts, *chosen, exposed[i]))
      cut(copy, op, *chosen);
  }
}

void CutSearch::cut(OverlapCandidate &candidate, Operation *collective,
                    const CollectiveCut &chosen) {
  auto known = candidate.numbers.find(collective);
  candidate.cuts.back().push_back(known->second);
  candidate.numbers.erase(known);
  applyCut(collective, chosen, wholes++);
}

void CutSearch::drop(OverlapCandidate &candidate) {
  if (candidate.program != original)
    candidate.program.erase();
}
