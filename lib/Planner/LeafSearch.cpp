#include "LeafSearch.h"

#include "Finalists.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

using Stage = EvaluationTask::Stage;

/// The row of a candidate from its bound alone.
Evaluation tpsp::planner::rowOf(const Candidate &candidate,
                                const Bound &bound) {
  Evaluation row;
  row.candidate = candidate;
  row.parts = {{"computing", bound.computing},
               {"collectives of data axes", bound.data},
               {"collectives of model axes", bound.model}};
  if (isImpossible(candidate, bound))
    row.refusal = std::to_string(candidate.numStages()) +
                  " stages take as many micro-batches, and no number of them "
                  "divides what the axes leave of the batch; give a larger "
                  "batch";
  return row;
}

/// Makes the task for the settings that may take at most `longest` seconds.
static EvaluationTask taskFor(const Waiting &leaf, const Bounds &bounds,
                              const SearchOptions &options, double longest) {
  EvaluationTask task;
  task.stage = options.overlaps && !leaf.serial ? Stage::Serial : Stage::Full;
  task.candidate = leaf.node.candidate;
  task.trials = settingsFor(task.candidate, bounds, options, longest);
  task.before = leaf.serial;
  task.longest = longest;
  return task;
}

/// Whether overlap cannot help: the leaf is illegal, or much too large.
static bool isSettled(const Evaluation &serial, const SearchOptions &options) {
  return !serial.isLegal() || isMuchTooLarge(serial, options);
}

static double taskEffort(const EvaluationTask &task) {
  return task.found
             ? double(task.evaluations) *
                   effortOf(task.found->candidate, task.stage != Stage::Serial)
             : 0;
}

static void noteBest(double seconds, SearchState &state) {
  if (state.best == 0 || seconds < state.best)
    state.best = seconds;
}

/// Makes leaves of the three usual candidates that promise most and may fit.
static std::vector<Waiting> promisingOf(const std::vector<Candidate> &usual,
                                        const Space &space,
                                        const Bounds &bounds,
                                        const SearchOptions &options,
                                        Frontier &frontier) {
  std::vector<Waiting> result;
  for (const Candidate &each : usual) {
    Bound bound = bounds.of({each, 1});
    if (space.divides(each) && bound.bytes <= options.memoryLimit &&
        rowOf(each, bound).isLegal())
      result.push_back({{each, 1}, bound, frontier.nextNumber(), nullptr});
  }
  llvm::stable_sort(result, [](const Waiting &a, const Waiting &b) {
    return a.promise() < b.promise();
  });
  result.resize(std::min<size_t>(result.size(), 3));
  llvm::erase_if(result, [&](const Waiting &leaf) {
    return !frontier.markSeen(leaf.node.candidate);
  });
  return result;
}

LeafSearch::LeafSearch(const Space &space, const Bounds &bounds,
                       const EvaluatorFactory &makeEvaluator,
                       const SearchOptions &options,
                       const SearchProgress &progress, Extent extent,
                       KnownSteps known)
    : space(space), bounds(bounds), options(options),
      pool(makeEvaluator, options, known.seconds),
      frontier(space, bounds, options, result, extent,
               std::move(known.prospects)),
      claim(space, bounds, options, pool, result), progress(progress) {
  beginWith(known);
}

void LeafSearch::beginWithUsual(const std::vector<Candidate> &usual) {
  evaluate(promisingOf(usual, space, bounds, options, frontier), any);
}

void LeafSearch::beginWith(const KnownSteps &known) {
  result.state.evaluations = known.evaluations;
  for (const Evaluation &step : known.steps) {
    Waiting leaf = {{step.candidate, 1},
                    bounds.of({step.candidate, 1}),
                    frontier.nextNumber(),
                    nullptr};
    frontier.markSeen(step.candidate);
    frontier.note(leaf, effortOf(step.candidate, /*isOverlapped=*/false));
    isComposing |= step.isComposed;
    refine(std::move(leaf), std::make_shared<Evaluation>(step));
  }
}

bool LeafSearch::isOver() const {
  return pool.isOutOfTime() || claim.evaluationsLeft() == 0;
}

/// Whether time or evaluations are used up. If steps are composed, a quarter of
/// both is kept for whole programs.
bool LeafSearch::isSpent() {
  constexpr double share = 0.75;
  bool isKept = isComposing && options.finalists > 0 && !isFinishing;
  if (isKept)
    pool.useShare(share);
  double evaluations = double(result.state.evaluations);
  return isOver() || (options.endsWithAny && incumbent() > 0) ||
         (isKept && options.evaluationsLimit > 0 &&
          evaluations >= share * double(options.evaluationsLimit));
}

void LeafSearch::searchOn() {
  while (!frontier.empty() && !isSpent()) {
    evaluate(frontier.nextLeaves(), incumbent() > 0 ? incumbent() : any);
    report();
  }
  if (std::optional<Evaluation> best = bestSerial(
          serials, taken, result.evaluations, options, space.program()))
    take(*best);
  report();
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

void LeafSearch::evaluate(std::vector<Waiting> leaves, double longest) {
  std::vector<EvaluationTask> tasks;
  std::vector<Waiting> open;
  for (Waiting &leaf : leaves) {
    EvaluationTask task = taskFor(leaf, bounds, options, longest);
    if (task.trials.settings.empty()) {
      leaveOut(std::move(leaf), task);
      continue;
    }
    tasks.push_back(std::move(task));
    open.push_back(std::move(leaf));
  }
  pool.run(tasks);
  for (auto [leaf, task] : llvm::zip_equal(open, tasks))
    learn(std::move(leaf), task);
}

void LeafSearch::learn(Waiting leaf, EvaluationTask &task) {
  result.state.evaluations += task.evaluations;
  frontier.note(leaf, taskEffort(task));
  if (task.excluding)
    return exclude(std::move(leaf), *task.excluding);
  if (!task.found)
    return postpone(std::move(leaf), task);
  if (!leaf.serial)
    frontier.learn(leaf, *task.found);
  isComposing |= task.found->isComposed;
  if (task.stage == Stage::Full)
    finished.insert(leaf.number);
  if (task.mayFitSlower(options.memoryLimit))
    leaveOut(std::move(leaf), task);
  else if (task.stage == Stage::Full || isSettled(*task.found, options))
    take(std::move(*task.found), task.trials.leftOut);
  else
    refine(std::move(leaf), std::move(task.found));
}

/// Leaves out the leaf: its settings that fit are slower than the best plan.
void LeafSearch::leaveOut(Waiting leaf, const EvaluationTask &task) {
  ++result.tooSlow;
  leaf.bound.seconds = task.trials.leftOut;
  leftOut.push_back(std::move(leaf));
}

/// Leaves out the leaf: `known` does not fit, and shows that all settings that
/// may fit are slower than the best plan.
void LeafSearch::exclude(Waiting leaf, const Evaluation &known) {
  frontier.learn(leaf, known.seconds);
  isComposing |= known.isComposed;
  ++result.tooSlow;
  leaf.bound.seconds = std::max(leaf.bound.seconds, known.leastOfSettings);
  leftOut.push_back(std::move(leaf));
}

/// Postpones the leaf for lack of time. Keeps a plan that was found, which need
/// not be the leaf's best.
void LeafSearch::postpone(Waiting leaf, const EvaluationTask &task) {
  if (task.soFar && task.stage == Stage::Serial)
    serials.emplace(textOf(leaf.node.candidate), task.soFar);
  else if (task.soFar)
    take(*task.soFar);
  postponed.push_back(std::move(leaf));
}

/// Improves the leaf's bound by its step without overlap, and opens it again.
void LeafSearch::refine(Waiting leaf,
                        std::shared_ptr<const Evaluation> serial) {
  if (surelyFits(*serial, options)) {
    leaf.bound.seconds = std::max(leaf.bound.seconds, serial->busiestSeconds());
    noteBest(serial->seconds, result.state);
  } else {
    leaf.bound.seconds = std::max(leaf.bound.seconds, serial->leastOfSettings);
  }
  leaf.serial = serial;
  serials.emplace(textOf(leaf.node.candidate), serial);
  if (isTooSlow(leaf.bound))
    frontier.setAside(std::move(leaf));
  else
    frontier.addAgain(std::move(leaf));
}

void LeafSearch::take(Evaluation evaluation, double untried) {
  evaluation.untried = untried;
  if (!evaluation.isLegal())
    ++result.illegal;
  else if (evaluation.memory.total <= options.memoryLimit)
    noteBest(evaluation.seconds, result.state);
  taken.insert(textOf(evaluation.candidate));
  result.evaluations.push_back(std::move(evaluation));
}

//===----------------------------------------------------------------------===//
// The gap
//===----------------------------------------------------------------------===//

/// Calls visit(node) for all nodes of which only a bound is known.
void LeafSearch::forEachOpen(
    llvm::function_ref<void(const Waiting &)> visit) const {
  auto unlessDone = [&](const Waiting &leaf) {
    if (!finished.count(leaf.number))
      visit(leaf);
  };
  frontier.forEach(unlessDone);
  llvm::for_each(postponed, unlessDone);
  llvm::for_each(leftOut, visit);
}

/// The least seconds of any plan, as far as known.
double LeafSearch::leastOpen() const {
  double least = claim.leastOfRows();
  forEachOpen([&](const Waiting &each) {
    least = std::min(least, each.bound.seconds);
  });
  return least;
}

void LeafSearch::noteOpen() {
  constexpr size_t most = 10;
  double best = result.state.best;
  std::vector<const Waiting *> open;
  forEachOpen([&](const Waiting &each) {
    if (each.bound.seconds < best)
      open.push_back(&each);
  });
  llvm::stable_sort(open, [](const Waiting *a, const Waiting *b) {
    return a->bound.seconds < b->bound.seconds;
  });
  result.numOpen = int64_t(open.size());
  open.resize(std::min(open.size(), most));
  for (const Waiting *each : open)
    result.open.push_back({each->node.candidate, each->node.remaining,
                           each->bound,
                           each->serial ? each->serial->seconds : 0});
}

void LeafSearch::report() {
  SearchState &state = result.state;
  state.seconds = pool.seconds();
  state.waiting = int64_t(frontier.size() + postponed.size());
  if (const Evaluation *best = result.best(options.memoryLimit);
      best && isFinishing)
    state.best = best->seconds;
  double gap = state.best > 0 ? std::max(0.0, 1 - leastOpen() / state.best)
               : state.waiting == 0 ? 0
                                    : 1;
  if (gap != state.gap)
    result.certifiedSeconds = state.seconds;
  state.gap = gap;
  progress(state);
}
