#include "tpsp/Planner/Search.h"

#include "EvaluationPool.h"
#include "Finalists.h"
#include "Frontier.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

const Evaluation *SearchResult::best(int64_t memoryLimit) const {
  for (const Evaluation &each : evaluations)
    if (each.isLegal() && !each.isBound && each.memory.total <= memoryLimit)
      return &each;
  return nullptr;
}

namespace {

using Stage = EvaluationTask::Stage;

void sortRows(SearchResult &result, int64_t memoryLimit,
              const ProgramFacts &facts) {
  llvm::stable_sort(result.evaluations,
                    [&](const Evaluation &a, const Evaluation &b) {
                      return comesBefore(a, b, memoryLimit, facts);
                    });
}

/// What bounds say of a candidate.
Evaluation rowOf(const Candidate &candidate, const Bound &bound) {
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

/// Of settings, those that may take at most `longest` seconds.
EvaluationTask taskFor(const Waiting &leaf, const Bounds &bounds,
                       const SearchOptions &options, double longest) {
  EvaluationTask task;
  task.stage = options.overlaps && !leaf.serial ? Stage::Serial : Stage::Full;
  task.candidate = leaf.node.candidate;
  task.trials = settingsFor(task.candidate, bounds, options, longest);
  task.before = leaf.serial;
  return task;
}

/// Whether overlap changes nothing: it is illegal, or much too large.
bool isSettled(const Evaluation &serial, const SearchOptions &options) {
  return !serial.isLegal() || isMuchTooLarge(serial, options);
}

double effortOf(const EvaluationTask &task) {
  return task.found
             ? double(task.evaluations) *
                   effortOf(task.found->candidate, task.stage != Stage::Serial)
             : 0;
}

void noteBest(double seconds, SearchState &state) {
  if (state.best == 0 || seconds < state.best)
    state.best = seconds;
}

constexpr double any = std::numeric_limits<double>::infinity();

/// What a search without overlap has found.
struct KnownSteps {
  /// Steps without overlap, best first.
  std::vector<Evaluation> steps;
  /// What it took, which counts against the limits.
  int64_t evaluations = 0;
  double seconds = 0;
};

/// Of `usual` the three that promise most, of those that may fit, as new
/// leaves.
std::vector<Waiting> promisingOf(const std::vector<Candidate> &usual,
                                 const Space &space, const Bounds &bounds,
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

class BranchAndBound {
public:
  BranchAndBound(const Space &space, const Bounds &bounds,
                 const EvaluatorFactory &makeEvaluator,
                 const SearchOptions &options, const SearchProgress &progress,
                 const KnownSteps &known = {})
      : space(space), bounds(bounds), options(options), progress(progress),
        pool(makeEvaluator, options, known.seconds),
        frontier(space, bounds, options, result) {
    beginWith(known);
  }

  /// Compiles those of `usual` first that promise most. Else a short search
  /// might end without what people take anyway.
  void beginWithUsual(const std::vector<Candidate> &usual) {
    evaluate(promisingOf(usual, space, bounds, options, frontier), any);
  }

  SearchResult run(const std::vector<Candidate> &notable) {
    while (!frontier.empty() && !isSpent()) {
      evaluate(frontier.nextLeaves(), longestOfUse());
      report();
    }
    report();
    result.certifiedSeconds = pool.seconds();
    if (std::optional<Evaluation> best = bestSerial(
            serials, taken, result.evaluations, options, space.program()))
      take(*best);
    takeRefused(notable);
    // Twice: what its own step without overlap excludes, is not overlapped.
    for (int stage = 0; stage < 2 && !pool.isOutOfTime(); ++stage)
      evaluateNotable(notable);
    for (const Candidate &each : notable)
      takeByBound(each);
    fillUp();
    sortRows(result, options.memoryLimit, space.program());
    completeRows(notable);
    sortRows(result, options.memoryLimit, space.program());
    evaluateFinalists(result, pool, bounds, options);
    sortRows(result, options.memoryLimit, space.program());
    result.state.seconds = pool.seconds();
    return std::move(result);
  }

private:
  void beginWith(const KnownSteps &known) {
    result.state.evaluations = known.evaluations;
    for (const Evaluation &step : known.steps) {
      Waiting leaf = {{step.candidate, 1},
                      bounds.of({step.candidate, 1}),
                      frontier.nextNumber(),
                      nullptr};
      frontier.markSeen(step.candidate);
      frontier.note(leaf, effortOf(step.candidate, /*isOverlapped=*/false));
      frontier.learn(leaf, step);
      refine(std::move(leaf), std::make_shared<Evaluation>(step));
    }
  }

  bool isSpent() const {
    return pool.isOutOfTime() || (options.endsWithAny && incumbent() > 0) ||
           (options.evaluationsLimit > 0 &&
            result.state.evaluations >= options.evaluationsLimit);
  }

  double incumbent() const { return result.state.best; }
  /// Seconds of a step that may yet be the best; infinite if there is none.
  double longestOfUse() const { return incumbent() > 0 ? incumbent() : any; }
  bool isTooSlow(const Bound &bound) const { return frontier.isTooSlow(bound); }
  std::string textOf(const Candidate &candidate) const {
    return subscriptText(candidate, space.program());
  }

  //===--------------------------------------------------------------------===//
  // Leaves
  //===--------------------------------------------------------------------===//

  /// With settings that may take at most `longest` seconds.
  void evaluate(std::vector<Waiting> leaves, double longest) {
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
    for (auto [leaf, task] : llvm::zip_equal(open, tasks)) {
      result.state.evaluations += task.evaluations;
      frontier.note(leaf, effortOf(task));
      if (task.found && !leaf.serial)
        frontier.learn(leaf, *task.found);
      if (task.found && task.stage == Stage::Full)
        finished.insert(leaf.number);
      if (!task.found)
        postpone(std::move(leaf), task);
      else if (task.mayFitSlower(options.memoryLimit))
        leaveOut(std::move(leaf), task);
      else if (task.stage == Stage::Full || isSettled(*task.found, options))
        take(std::move(*task.found), task.trials.leftOut);
      else
        refine(std::move(leaf), std::move(task.found));
    }
  }

  /// What fits of the leaf is slower than the best.
  void leaveOut(Waiting leaf, const EvaluationTask &task) {
    ++result.tooSlow;
    leaf.bound.seconds = task.trials.leftOut;
    leftOut.push_back(std::move(leaf));
  }

  /// What was found of some settings is a plan, but perhaps not the leaf's
  /// best.
  void postpone(Waiting leaf, const EvaluationTask &task) {
    if (task.soFar && task.stage == Stage::Serial)
      serials.emplace(textOf(leaf.node.candidate), task.soFar);
    else if (task.soFar)
      take(*task.soFar);
    postponed.push_back(std::move(leaf));
  }

  /// The step without overlap says more than the bounds.
  void refine(Waiting leaf, std::shared_ptr<const Evaluation> serial) {
    if (surelyFits(*serial, options)) {
      leaf.bound.seconds =
          std::max(leaf.bound.seconds, serial->busiestSeconds());
      noteBest(serial->seconds, result.state);
    }
    leaf.serial = serial;
    serials.emplace(textOf(leaf.node.candidate), serial);
    if (isTooSlow(leaf.bound)) {
      ++result.tooSlow;
      return;
    }
    frontier.addAgain(std::move(leaf));
  }

  /// `untried`: as Evaluation has it.
  void take(Evaluation evaluation, double untried = any) {
    evaluation.untried = untried;
    if (!evaluation.isLegal())
      ++result.illegal;
    else if (evaluation.memory.total <= options.memoryLimit)
      noteBest(evaluation.seconds, result.state);
    taken.insert(textOf(evaluation.candidate));
    result.evaluations.push_back(std::move(evaluation));
  }

  //===--------------------------------------------------------------------===//
  // What people ask about
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

  size_t numFitting() const {
    return llvm::count_if(result.evaluations, [&](const Evaluation &each) {
      return each.isLegal() && !each.isBound &&
             each.memory.total <= options.memoryLimit;
    });
  }

  /// People want to see more plans than the best: of what was left out, the
  /// most promising. With overlap that takes too long.
  void fillUp() {
    if (options.overlaps)
      return;
    llvm::erase_if(leftOut, [&](const Waiting &leaf) {
      return taken.count(textOf(leaf.node.candidate));
    });
    llvm::stable_sort(leftOut, [](const Waiting &a, const Waiting &b) {
      return a.bound.seconds < b.bound.seconds;
    });
    size_t fitting = numFitting(),
           missing =
               options.finalists - std::min<size_t>(fitting, options.finalists);
    leftOut.resize(std::min(leftOut.size(), missing));
    result.tooSlow -= int64_t(leftOut.size());
    evaluate(std::move(leftOut), any);
  }

  /// Those that people see: the first rows, and what they ask about.
  void completeRows(const std::vector<Candidate> &notable) {
    std::set<std::string> asked;
    for (const Candidate &each : notable)
      asked.insert(textOf(each));
    std::vector<Evaluation *> rows;
    for (auto [i, row] : llvm::enumerate(result.evaluations))
      if (i < options.finalists || asked.count(textOf(row.candidate)))
        rows.push_back(&row);
    trySlowerSettings(rows, pool, bounds, options, result.state.evaluations);
  }

  /// The compiler may refuse what does not divide extents: bounds do not say
  /// that. Where they say all else, one compilation is enough.
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

  /// What its bounds answer: it is too large, or slower than the best.
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

  //===--------------------------------------------------------------------===//
  // The end
  //===--------------------------------------------------------------------===//

  void report() {
    SearchState &state = result.state;
    state.seconds = pool.seconds();
    state.waiting = int64_t(frontier.size() + postponed.size());
    double least = state.best;
    const std::vector<Waiting> *all[] = {&frontier.waiting(), &postponed};
    for (const std::vector<Waiting> *open : all)
      for (const Waiting &each : *open)
        if (!finished.count(each.number))
          least = std::min(least, each.bound.seconds);
    state.gap = state.waiting == 0 ? 0
                : state.best > 0   ? std::max(0.0, 1 - least / state.best)
                                   : 1;
    progress(state);
  }

  const Space &space;
  const Bounds &bounds;
  const SearchOptions &options;
  const SearchProgress &progress;
  EvaluationPool pool;
  SearchResult result;
  Frontier frontier;

  /// Numbers of leaves that were overlapped.
  std::set<int64_t> finished;
  /// By their subscripts: plans that have a row, and steps without overlap.
  std::set<std::string> taken;
  /// What the compiler accepts though it does not divide extents.
  std::set<std::string> accepted;
  std::map<std::string, std::shared_ptr<const Evaluation>> serials;
  /// What there was no time for, and of what slower settings alone may fit.
  std::vector<Waiting> postponed, leftOut;
};

/// One command after another.
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

/// With a third of the time and the evaluations that there are.
static KnownSteps searchWithoutOverlap(const Space &space,
                                       const EvaluatorFactory &makeEvaluator,
                                       const std::vector<Candidate> &notable,
                                       SearchOptions options,
                                       const SearchProgress &progress) {
  options.overlaps = false;
  options.finalists = 0;
  options.secondsLimit /= 3;
  options.evaluationsLimit = (options.evaluationsLimit + 2) / 3;
  EvaluatorFactory serial = [&] {
    return std::make_unique<SerialSteps>(makeEvaluator());
  };
  // Of steps with overlap it says nothing.
  SearchProgress withoutGap = [&](SearchState state) {
    state.gap = 1;
    progress(state);
  };
  BranchAndBound serially(space, *options.serialBounds, serial, options,
                          withoutGap);
  serially.beginWithUsual(notable);
  SearchResult found = serially.run({});
  // Of the others, settings that were left out may be faster without overlap.
  KnownSteps known;
  for (Evaluation &each : found.evaluations)
    if (each.isLegal() && each.memory.total <= options.memoryLimit &&
        each.untried >= each.seconds)
      known.steps.push_back(std::move(each));
  known.evaluations = found.state.evaluations;
  known.seconds = found.state.seconds;
  return known;
}

SearchResult tpsp::planner::search(const Space &space, const Bounds &bounds,
                                   const EvaluatorFactory &makeEvaluator,
                                   const std::vector<Candidate> &notable,
                                   const SearchOptions &options,
                                   const SearchProgress &progress) {
  KnownSteps known;
  if (options.overlaps && options.serialBounds)
    known =
        searchWithoutOverlap(space, makeEvaluator, notable, options, progress);
  BranchAndBound steps(space, bounds, makeEvaluator, options, progress, known);
  steps.beginWithUsual(notable);
  return steps.run(notable);
}
