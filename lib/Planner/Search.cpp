#include "tpsp/Planner/Search.h"

#include "Finalists.h"
#include "LeafSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

using Stage = EvaluationTask::Stage;

const Evaluation *SearchResult::best(int64_t memoryLimit) const {
  for (const Evaluation &each : evaluations)
    if (each.isPlan(memoryLimit))
      return &each;
  return nullptr;
}

namespace {

/// The search, and then the plans to be reported: the usual plans, the named
/// plans, and the certainty of the best.
class BranchAndBound : public LeafSearch {
public:
  using LeafSearch::LeafSearch;

  SearchResult run(const std::vector<Candidate> &notable) {
    searchOn();
    takeRefused(notable);
    // Twice: first without overlap, then with overlap unless the first stage
    // excluded it.
    for (int stage = 0; stage < 2 && !isOver(); ++stage)
      evaluateNotable(notable);
    for (const Candidate &each : notable)
      takeByBound(each);
    fillUp();
    evaluateNamed();
    claim.sort();
    completeRows(notable);
    claim.sort();
    pool.useShare(1);
    finish();
    report();
    noteOpen();
    return std::move(result);
  }

  SearchResult runNamed() {
    evaluateNamed();
    claim.sort();
    return std::move(result);
  }

  std::unique_ptr<Prospects> releaseProspects() {
    return frontier.releaseProspects();
  }

private:
  /// Compiles the best plan whole, and then plans that may be faster, because
  /// the claim is about whole programs.
  void finish() {
    if (options.finalists == 0 || !result.best(options.memoryLimit))
      return;
    isFinishing = true;
    claim.evaluateFinalists();
    do {
      claim.makeFirstWhole();
    } while (!isOver() && goOn());
  }

  /// Continues if the best plan turned out slower when compiled whole: dropped
  /// nodes may beat it.
  bool goOn() {
    if (const Evaluation *best = result.best(options.memoryLimit))
      result.state.best = best->seconds;
    int64_t before = result.state.evaluations;
    bool isAny = frontier.reopen();
    if (isAny)
      searchOn();
    openSettings();
    claim.makeTiesWhole();
    report();
    return isAny || result.state.evaluations > before;
  }

  /// Tries settings that were left out and may now beat the best plan.
  void openSettings() {
    std::vector<Evaluation *> rows;
    for (Evaluation &row : result.evaluations)
      if (row.isPlan(options.memoryLimit) && row.untried < incumbent())
        rows.push_back(&row);
    trySlowerSettings(rows, pool, bounds, options, result.state.evaluations);
    auto end = std::stable_partition(
        leftOut.begin(), leftOut.end(),
        [&](const Waiting &leaf) { return !isTooSlow(leaf.bound); });
    evaluateLeftOut(size_t(end - leftOut.begin()));
  }

  //===--------------------------------------------------------------------===//
  // Notable and named plans
  //===--------------------------------------------------------------------===//

  void evaluateNotable(const std::vector<Candidate> &notable) {
    std::vector<Waiting> open;
    for (const Candidate &each : notable) {
      std::string text = textOf(each);
      if (taken.count(text) || takeByBound(each))
        continue;
      auto serial = serials.find(text);
      open.push_back({{each, 1},
                      bounds.of({each, 1}),
                      frontier.nextNumber(),
                      serial == serials.end() ? nullptr : serial->second});
    }
    evaluate(std::move(open), any);
  }

  void evaluateNamed() {
    std::vector<EvaluationTask> tasks;
    for (const std::vector<Candidate> &plan : options.named)
      if (!plan.empty() && !isCompiled(plan) && hasSettings(plan.front())) {
        EvaluationTask &task = tasks.emplace_back();
        task.candidate = plan.front();
        task.trials = settingsFor(task.candidate, bounds, options);
        task.isNeeded = true;
      }
    pool.run(tasks);
    for (EvaluationTask &task : tasks) {
      result.state.evaluations += task.evaluations;
      llvm::erase_if(result.evaluations, [&](const Evaluation &row) {
        return textOf(row.candidate) == textOf(task.candidate);
      });
      take(std::move(*task.found));
    }
  }

  /// A target may take no schedule that was asked for.
  bool hasSettings(const Candidate &candidate) const {
    return !candidate.hasStages() || !options.stageSettings.empty();
  }

  bool isCompiled(llvm::ArrayRef<Candidate> plan) const {
    return llvm::any_of(plan, [&](const Candidate &candidate) {
      return llvm::any_of(result.evaluations, [&](const Evaluation &row) {
        return !row.isBound && textOf(row.candidate) == textOf(candidate);
      });
    });
  }

  size_t numFitting() const {
    return llvm::count_if(result.evaluations, [&](const Evaluation &each) {
      return each.isPlan(options.memoryLimit);
    });
  }

  /// Adds the most promising of the leaves that were left out, because people
  /// want to see more plans than the best. With overlap that would take too
  /// long.
  void fillUp() {
    if (options.overlaps || isOver())
      return;
    llvm::stable_sort(leftOut, [](const Waiting &a, const Waiting &b) {
      return a.bound.seconds < b.bound.seconds;
    });
    evaluateLeftOut(options.rows - std::min(numFitting(), options.rows));
  }

  /// Evaluates all settings of the first `most` leaves that were left out.
  void evaluateLeftOut(size_t most) {
    llvm::erase_if(leftOut, [&](const Waiting &leaf) {
      return taken.count(textOf(leaf.node.candidate));
    });
    auto end = leftOut.begin() + ptrdiff_t(std::min(leftOut.size(), most));
    std::vector<Waiting> open(std::make_move_iterator(leftOut.begin()),
                              std::make_move_iterator(end));
    leftOut.erase(leftOut.begin(), end);
    result.tooSlow -= int64_t(open.size());
    evaluate(std::move(open), any);
  }

  /// Completes the rows that are shown: the first rows and the notable ones.
  void completeRows(const std::vector<Candidate> &notable) {
    if (isOver())
      return;
    std::set<std::string> asked;
    for (const Candidate &each : notable)
      asked.insert(textOf(each));
    std::vector<Evaluation *> rows;
    for (auto [i, row] : llvm::enumerate(result.evaluations))
      if (i < options.rows || asked.count(textOf(row.candidate)))
        rows.push_back(&row);
    trySlowerSettings(rows, pool, bounds, options, result.state.evaluations);
  }

  /// Compiles notable candidates that do not divide extents, because the
  /// compiler may refuse them. Bounds cannot tell that. If bounds exclude the
  /// candidate otherwise, one compilation is enough.
  void takeRefused(const std::vector<Candidate> &notable) {
    std::vector<EvaluationTask> tasks;
    for (const Candidate &each : notable)
      if (!space.divides(each) && !taken.count(textOf(each)) &&
          isTooSlow(bounds.of({each, 1}))) {
        EvaluationTask &task = tasks.emplace_back();
        task.stage = Stage::Serial;
        task.candidate = each;
        task.trials.settings = {options.settings.front()};
      }
    pool.run(tasks);
    for (EvaluationTask &task : tasks) {
      result.state.evaluations += task.evaluations;
      if (task.found && task.found->isLegal())
        accepted.insert(textOf(task.candidate));
      else if (task.found)
        take(std::move(*task.found));
    }
  }

  /// Adds a row from the bound alone, if the candidate is too large or slower
  /// than the best plan.
  bool takeByBound(const Candidate &candidate) {
    std::string text = textOf(candidate);
    if (taken.count(text) ||
        (!space.divides(candidate) && !accepted.count(text)))
      return false;
    Bound bound = bounds.of({candidate, 1});
    Evaluation row = rowOf(candidate, bound);
    if (!row.isLegal()) {
      take(std::move(row));
      return true;
    }
    auto serial = serials.find(text);
    if (serial != serials.end() && surelyFits(*serial->second, options)) {
      row.candidate.settings = serial->second->candidate.settings;
      bound.seconds = std::max(bound.seconds, serial->second->busiestSeconds());
      row.parts = {{"computing", serial->second->computing}};
      for (const auto &[links, seconds] : serial->second->links)
        row.parts[links] = seconds;
    }
    if (bound.bytes <= options.memoryLimit && !isTooSlow(bound))
      return false;
    row.isBound = true;
    row.seconds = bound.seconds;
    row.memory.total = bound.bytes;
    taken.insert(text);
    result.evaluations.push_back(std::move(row));
    return true;
  }

  /// Candidates that the compiler accepts although they do not divide extents.
  std::set<std::string> accepted;
};

/// Evaluates steps with one command after another.
class SerialSteps : public Evaluator {
public:
  explicit SerialSteps(std::unique_ptr<Evaluator> steps)
      : steps(std::move(steps)) {}
  Evaluation evaluate(const Candidate &candidate) override {
    return steps->evaluateSerially(candidate);
  }

private:
  std::unique_ptr<Evaluator> steps;
};

} // namespace

/// Makes a step known to the search with overlap: its nearly fitting settings
/// are serial, and with overlap its settings may take less time.
static Evaluation withoutOverlap(Evaluation step) {
  step.leastOfSettings = 0;
  if (!step.nearlyFits)
    return step;
  auto nearly = std::make_shared<Evaluation>(*step.nearlyFits);
  nearly->isSerial = true;
  step.nearlyFits = std::move(nearly);
  return step;
}

/// Searches without overlap, with a third of the time and the evaluations.
static KnownSteps searchWithoutOverlap(const Space &space,
                                       const EvaluatorFactory &makeEvaluator,
                                       const std::vector<Candidate> &notable,
                                       SearchOptions options,
                                       const SearchProgress &progress) {
  options.overlaps = false;
  options.finalists = 0;
  options.rows = 0;
  options.named.clear();
  options.secondsLimit /= 3;
  options.evaluationsLimit = (options.evaluationsLimit + 2) / 3;
  EvaluatorFactory serial = [&] {
    return std::make_unique<SerialSteps>(makeEvaluator());
  };
  // This search's gap says nothing about steps with overlap.
  SearchProgress withoutGap = [&](SearchState state) {
    state.gap = 1;
    progress(state);
  };
  BranchAndBound serially(space, *options.serialBounds, serial, options,
                          withoutGap, Extent::Promising, KnownSteps());
  serially.beginWithUsual(notable);
  SearchResult found = serially.run({});
  // Rows are skipped if untried settings may be faster without overlap.
  KnownSteps known;
  for (Evaluation &each : found.evaluations)
    if (each.isLegal() && each.memory.total <= options.memoryLimit &&
        each.untried >= each.seconds)
      known.steps.push_back(withoutOverlap(std::move(each)));
  known.evaluations = found.state.evaluations;
  known.seconds = found.state.seconds;
  known.prospects = serially.releaseProspects();
  return known;
}

SearchResult tpsp::planner::search(const Space &space, const Bounds &bounds,
                                   const EvaluatorFactory &makeEvaluator,
                                   const std::vector<Candidate> &notable,
                                   const SearchOptions &options,
                                   const SearchProgress &progress) {
  if (options.onlyNamed)
    return BranchAndBound(space, bounds, makeEvaluator, options, progress,
                          Extent::Promising, KnownSteps())
        .runNamed();
  KnownSteps known;
  if (options.overlaps && options.serialBounds)
    known =
        searchWithoutOverlap(space, makeEvaluator, notable, options, progress);
  BranchAndBound steps(space, bounds, makeEvaluator, options, progress,
                       Extent::All, std::move(known));
  steps.beginWithUsual(notable);
  return steps.run(notable);
}
