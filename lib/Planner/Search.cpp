#include "tpsp/Planner/Search.h"

#include "EvaluationPool.h"
#include "SearchQueue.h"

#include "tpsp/Planner/Prospects.h"

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

std::vector<Settings> settingsFor(const Candidate &candidate,
                                  const Bounds &bounds,
                                  const SearchOptions &options) {
  const std::vector<Settings> &all =
      candidate.hasStages() ? options.stageSettings : options.settings;
  return bounds.settingsToTry(candidate, all, options.memoryLimit);
}

void noteError(double &largest, double composed, double whole) {
  largest = std::max(largest, std::abs(composed - whole) / whole);
}

void replaceByWhole(Evaluation &composed, EvaluationTask &task,
                    SearchResult &result) {
  ++result.finalists;
  result.state.evaluations += task.evaluations;
  if (const Evaluation &same = *task.asBefore; same.isLegal()) {
    noteError(result.timeError, composed.seconds, same.seconds);
    noteError(result.memoryError, double(composed.memory.total),
              double(same.memory.total));
  }
  composed = std::move(*task.found);
}

/// Evaluates the best of what is composed as whole programs, as time allows.
/// The result is sorted before; after it, it is not.
void evaluateFinalists(SearchResult &result, EvaluationPool &pool,
                       const Bounds &bounds, const SearchOptions &options) {
  std::vector<EvaluationTask> tasks;
  std::vector<Evaluation *> composed;
  for (Evaluation &each : result.evaluations)
    if (each.isComposed && each.isLegal() &&
        composed.size() < options.finalists) {
      EvaluationTask &task = tasks.emplace_back();
      task.stage = Stage::Whole;
      task.candidate = each.candidate;
      task.settings = settingsFor(each.candidate, bounds, options);
      task.before = std::make_shared<Evaluation>(each);
      composed.push_back(&each);
    }
  pool.run(tasks);
  for (auto [old, task] : llvm::zip_equal(composed, tasks))
    if (task.found)
      replaceByWhole(*old, task, result);
}

/// Null if none does.
const Evaluation *fastestThatFits(const std::vector<Evaluation> &evaluations,
                                  int64_t memoryLimit) {
  const Evaluation *fastest = nullptr;
  for (const Evaluation &each : evaluations)
    if (each.isLegal() && each.memory.total <= memoryLimit &&
        (!fastest || each.seconds < fastest->seconds))
      fastest = &each;
  return fastest;
}

/// Whether its settings are those with overlap, too: the schedule's memory is
/// bounded.
bool surelyFits(const Evaluation &serial, const SearchOptions &options) {
  double share = 1 + options.mostAddedTo(serial.candidate);
  return share * double(serial.memory.total) <= double(options.memoryLimit);
}

/// Where time ran out before a plan was overlapped that is better than this
/// one without, this one counts: overlap makes it no slower. Or there is none.
std::optional<Evaluation>
bestSerial(const std::map<std::string, std::shared_ptr<const Evaluation>> &all,
           const std::set<std::string> &overlapped,
           const std::vector<Evaluation> &evaluations,
           const SearchOptions &options, const ProgramFacts &facts) {
  std::shared_ptr<const Evaluation> best;
  for (const auto &[text, each] : all)
    if (!overlapped.count(text) && surelyFits(*each, options) &&
        (!best || comesBefore(*each, *best, options.memoryLimit, facts)))
      best = each;
  const Evaluation *known = fastestThatFits(evaluations, options.memoryLimit);
  if (!best || (known && known->seconds <= best->seconds))
    return std::nullopt;
  Evaluation found = *best;
  found.isSerial = true;
  return found;
}

void sortRows(SearchResult &result, int64_t memoryLimit,
              const ProgramFacts &facts) {
  llvm::stable_sort(result.evaluations,
                    [&](const Evaluation &a, const Evaluation &b) {
                      return comesBefore(a, b, memoryLimit, facts);
                    });
}

/// Whether no settings go with the candidate's stages.
bool isImpossible(const Candidate &candidate, const Bound &bound) {
  return !bound.isPossible && candidate.hasStages();
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

EvaluationTask taskFor(const Waiting &leaf, const Bounds &bounds,
                       const SearchOptions &options) {
  EvaluationTask task;
  task.stage = options.overlaps && !leaf.serial ? Stage::Serial : Stage::Full;
  task.candidate = leaf.node.candidate;
  task.settings = settingsFor(task.candidate, bounds, options);
  task.before = leaf.serial;
  return task;
}

/// Whether overlap changes nothing: it is illegal, or much too large. Other
/// orders of a step's commands may need a little less.
bool isSettled(const Evaluation &serial, const SearchOptions &options) {
  constexpr double leastShare = 0.9;
  return !serial.isLegal() ||
         leastShare * double(serial.memory.total) > double(options.memoryLimit);
}

/// Of a task, about in proportion to its time: the compiler does as much for
/// each micro-batch, and a schedule takes longer than the rest.
double effortOf(const EvaluationTask &task) {
  constexpr double schedule = 16;
  if (!task.found)
    return 0;
  const Candidate &candidate = task.found->candidate;
  double parts =
      candidate.hasStages() ? 1 : double(candidate.settings.microBatches);
  return parts * double(task.evaluations) *
         (task.stage == Stage::Serial ? 1 : schedule);
}

/// What a step may take without overlap that may yet beat `best`, of one with
/// it: a third of it may hide.
double longestSerial(double best, const SearchOptions &options) {
  return (options.overlaps ? 1.5 : 1) * best;
}

void noteBest(double seconds, SearchState &state) {
  if (state.best == 0 || seconds < state.best)
    state.best = seconds;
}

class BranchAndBound {
public:
  BranchAndBound(const Space &space, const Bounds &bounds,
                 const EvaluatorFactory &makeEvaluator,
                 const SearchOptions &options, const SearchProgress &progress)
      : space(space), bounds(bounds), options(options), progress(progress),
        pool(makeEvaluator, options),
        prospects(space, bounds, options.memoryLimit) {}

  SearchResult run(const std::vector<Candidate> &notable) {
    push(space.root());
    while (!queue.empty() && !isSpent()) {
      evaluate(nextLeaves());
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
    sortRows(result, options.memoryLimit, space.program());
    evaluateFinalists(result, pool, bounds, options);
    sortRows(result, options.memoryLimit, space.program());
    result.state.seconds = pool.seconds();
    return std::move(result);
  }

private:
  bool isSpent() const {
    return pool.isOutOfTime() ||
           (options.evaluationsLimit > 0 &&
            result.state.evaluations >= options.evaluationsLimit);
  }

  double incumbent() const { return result.state.best; }
  bool isTooSlow(const Bound &bound) const {
    return incumbent() > 0 && bound.seconds > incumbent();
  }
  std::string textOf(const Candidate &candidate) const {
    return subscriptText(candidate, space.program());
  }

  void push(SpaceNode node) {
    Bound bound = bounds.of(node);
    if (isImpossible(node.candidate, bound)) {
      ++result.uncut;
    } else if (bound.bytes > options.memoryLimit) {
      ++result.tooLarge;
      if (result.leastTooLarge == 0 || bound.bytes < result.leastTooLarge)
        result.leastTooLarge = bound.bytes;
    } else if (isTooSlow(bound)) {
      ++result.tooSlow;
    } else {
      queue.push({std::move(node), bound, made++, nullptr});
    }
  }

  //===--------------------------------------------------------------------===//
  // Leaves
  //===--------------------------------------------------------------------===//

  /// Leaves from which good plans are expected.
  std::vector<Waiting> nextProspects(size_t most) {
    std::vector<Waiting> result;
    for (Prospect &each :
         prospects.take(most, longestSerial(incumbent(), options)))
      if (isNew(each.leaf.candidate))
        result.push_back({std::move(each.leaf), each.bound, made++, nullptr});
    return result;
  }

  /// The next leaves, at most a batch, in the order of their bounds. Of those
  /// that take long, fewer: the first may exclude the others.
  std::vector<Waiting> nextLeaves() {
    // Those that take longest come first: else the other threads wait for them.
    std::vector<Waiting> leaves =
        dives.take(options.overlappedBatch, [&](const Waiting &leaf) {
          return isTooSlow(leaf.bound) || begun.count(leaf.number);
        });
    for (const Waiting &dive : leaves)
      begun.insert(dive.number);
    size_t overlapped = leaves.size();
    std::vector<Waiting> later;
    llvm::append_range(
        leaves, nextProspects(options.batch - options.batch / 4 - overlapped));
    while (!queue.empty() && leaves.size() < options.batch) {
      Waiting next = queue.top();
      queue.pop();
      if (begun.count(next.number)) {
        continue;
      } else if (isTooSlow(next.bound)) {
        ++result.tooSlow;
      } else if (!space.isDone(next.node)) {
        for (SpaceNode &child : space.children(next.node, result.symmetric))
          push(std::move(child));
      } else if (next.serial && overlapped >= options.overlappedBatch) {
        later.push_back(std::move(next));
      } else if (next.serial) {
        ++overlapped;
        begun.insert(next.number);
        leaves.push_back(std::move(next));
      } else if (isNew(next.node.candidate)) {
        leaves.push_back(std::move(next));
      }
    }
    for (Waiting &each : later)
      queue.push(std::move(each));
    return leaves;
  }

  bool isNew(Candidate &candidate) {
    return space.satisfiesPins(candidate) &&
           seen.insert(textOf(candidate)).second;
  }

  void evaluate(std::vector<Waiting> leaves) {
    std::vector<EvaluationTask> tasks;
    for (const Waiting &leaf : leaves)
      tasks.push_back(taskFor(leaf, bounds, options));
    pool.run(tasks);
    for (auto [leaf, task] : llvm::zip_equal(leaves, tasks)) {
      result.state.evaluations += task.evaluations;
      dives.note(leaf, effortOf(task));
      if (task.found && !leaf.serial)
        learn(leaf, *task.found);
      if (task.found && task.stage == Stage::Full)
        finished.insert(leaf.number);
      if (!task.found)
        postpone(std::move(leaf), task);
      else if (task.stage == Stage::Full || isSettled(*task.found, options))
        take(std::move(*task.found));
      else
        refine(std::move(leaf), std::move(task.found));
    }
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

  void learn(const Waiting &leaf, const Evaluation &found) {
    bool isOfUse = found.isLegal() && found.memory.total <= options.memoryLimit;
    prospects.learn(leaf.node.candidate, leaf.bound,
                    isOfUse ? found.seconds : 0);
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
    dives.add(leaf);
    queue.push(std::move(leaf));
  }

  void take(Evaluation evaluation) {
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
                      made++,
                      serial == serials.end() ? nullptr : serial->second});
    }
    evaluate(std::move(open));
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
        task.settings = {options.settings.front()};
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
      for (const auto &[axes, seconds] : serial->second->links)
        row.parts["collectives over " + axes] = seconds;
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
    state.waiting = int64_t(queue.size() + postponed.size());
    double least = state.best;
    const std::vector<Waiting> *all[] = {&queue.all(), &postponed};
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
  Prospects prospects;

  WaitingQueue queue;
  int64_t made = 0;
  /// Numbers of leaves that are or were overlapped, and of those that were.
  std::set<int64_t> begun, finished;
  /// By their subscripts: leaves that were begun with, plans that have a row,
  /// and steps without overlap.
  std::set<std::string> seen, taken;
  /// What the compiler accepts though it does not divide extents.
  std::set<std::string> accepted;
  std::map<std::string, std::shared_ptr<const Evaluation>> serials;
  Dives dives;
  /// What there was no time for.
  std::vector<Waiting> postponed;
  SearchResult result;
};

} // namespace

SearchResult tpsp::planner::search(const Space &space, const Bounds &bounds,
                                   const EvaluatorFactory &makeEvaluator,
                                   const std::vector<Candidate> &notable,
                                   const SearchOptions &options,
                                   const SearchProgress &progress) {
  return BranchAndBound(space, bounds, makeEvaluator, options, progress)
      .run(notable);
}
