#include "tpsp/Planner/Search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <queue>
#include <set>
#include <thread>

using namespace tpsp;
using namespace tpsp::planner;
using Clock = std::chrono::steady_clock;

const Evaluation *SearchResult::best(int64_t memoryLimit) const {
  for (const Evaluation &each : evaluations)
    if (each.isLegal() && !each.isBound && each.memory.total <= memoryLimit)
      return &each;
  return nullptr;
}

namespace {

struct Waiting {
  SpaceNode node;
  Bound bound;
  /// Numbered as they are made, so that equal bounds have an order.
  int64_t number = 0;
};

struct IsLater {
  bool operator()(const Waiting &a, const Waiting &b) const {
    return std::tie(a.bound.seconds, a.number) >
           std::tie(b.bound.seconds, b.number);
  }
};

class BranchAndBound {
public:
  BranchAndBound(const Space &space, const Bounds &bounds,
                 const EvaluatorFactory &makeEvaluator,
                 const SearchOptions &options, const SearchProgress &progress)
      : space(space), bounds(bounds), makeEvaluator(makeEvaluator),
        options(options), progress(progress), begin(Clock::now()) {}

  SearchResult run(const std::vector<Candidate> &notable) {
    push(space.root());
    while (!queue.empty() && !isSpent())
      evaluate(nextLeaves());
    report();
    result.certifiedSeconds = seconds();
    std::vector<Candidate> open;
    for (const Candidate &each : notable)
      if (!takeByBound(each))
        open.push_back(each);
    evaluate(open);
    finish();
    return std::move(result);
  }

private:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  bool isOutOfTime() const {
    return options.secondsLimit > 0 && seconds() > options.secondsLimit;
  }
  bool isSpent() const {
    return isOutOfTime() ||
           (options.evaluationsLimit > 0 &&
            result.state.evaluations >= options.evaluationsLimit);
  }

  double incumbent() const { return result.state.best; }
  bool isTooSlow(const Bound &bound) const {
    return incumbent() > 0 && bound.seconds > incumbent();
  }

  void push(SpaceNode node) {
    Bound bound = bounds.of(node);
    if (bound.bytes > options.memoryLimit) {
      ++result.tooLarge;
      if (result.leastTooLarge == 0 || bound.bytes < result.leastTooLarge)
        result.leastTooLarge = bound.bytes;
    } else if (isTooSlow(bound)) {
      ++result.tooSlow;
    } else {
      queue.push({std::move(node), bound, made++});
    }
  }

  bool isDone(const SpaceNode &node) const {
    return node.isLeaf() &&
           node.candidate.axes.size() >= space.program().mesh.size();
  }

  /// The next leaves, at most a batch, in the order of their bounds.
  std::vector<Candidate> nextLeaves() {
    std::vector<Candidate> leaves;
    while (!queue.empty() && leaves.size() < options.batch) {
      Waiting next = queue.top();
      queue.pop();
      if (isTooSlow(next.bound)) {
        ++result.tooSlow;
        continue;
      }
      if (!isDone(next.node)) {
        for (SpaceNode &child : space.children(next.node, result.symmetric))
          push(std::move(child));
        continue;
      }
      if (space.satisfiesPins(next.node.candidate))
        leaves.push_back(std::move(next.node.candidate));
    }
    return leaves;
  }

  void evaluate(const std::vector<Candidate> &candidates) {
    std::vector<const Candidate *> fresh;
    for (const Candidate &candidate : candidates)
      if (seen.insert(subscriptText(candidate, space.program())).second)
        fresh.push_back(&candidate);
    std::vector<Evaluation> found(fresh.size());
    std::atomic<size_t> next{0};
    std::atomic<int64_t> count{0};
    auto work = [&](Evaluator &evaluator) {
      for (size_t i = next++; i < fresh.size(); i = next++) {
        int64_t evaluations = 0;
        found[i] =
            evaluateWithSettings(evaluator, *fresh[i], settingsFor(*fresh[i]),
                                 options.memoryLimit, evaluations);
        count += evaluations;
      }
    };
    runOnThreads(std::min<size_t>(options.threads, fresh.size()), work);
    result.state.evaluations += count;
    for (Evaluation &each : found)
      take(std::move(each));
    report();
  }

  /// What people ask about, and its bounds answer: it is too large, or slower
  /// than the best. Not what the compiler may refuse: bounds do not say that.
  bool takeByBound(const Candidate &candidate) {
    if (!space.divides(candidate))
      return false;
    Bound bound = bounds.of({candidate, 1});
    if (bound.bytes <= options.memoryLimit && !isTooSlow(bound))
      return false;
    if (!seen.insert(subscriptText(candidate, space.program())).second)
      return true;
    Evaluation row;
    row.candidate = candidate;
    row.isBound = true;
    row.seconds = bound.seconds;
    row.memory.total = bound.bytes;
    row.parts = {{"computing", bound.computing},
                 {"collectives of data axes", bound.data},
                 {"collectives of model axes", bound.model}};
    result.evaluations.push_back(std::move(row));
    return true;
  }

  /// Those that its bounds do not exclude; the last, if all are.
  std::vector<Settings> settingsFor(const Candidate &candidate) const {
    std::vector<Settings> result;
    for (const Settings &each : options.settings)
      if (bounds.bytesWith({candidate, 1}, each) <= options.memoryLimit)
        result.push_back(each);
    if (result.empty())
      result.push_back(options.settings.back());
    return result;
  }

  template <typename Work> void runOnThreads(size_t count, const Work &work) {
    while (evaluators.size() < count)
      evaluators.push_back(makeEvaluator());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < count; ++i)
      threads.emplace_back([&, i] { work(*evaluators[i]); });
    if (count > 0)
      work(*evaluators[0]);
    for (std::thread &thread : threads)
      thread.join();
  }

  void take(Evaluation evaluation) {
    if (!evaluation.isLegal())
      ++result.illegal;
    else if (evaluation.memory.total <= options.memoryLimit &&
             (incumbent() == 0 || evaluation.seconds < incumbent()))
      result.state.best = evaluation.seconds;
    result.evaluations.push_back(std::move(evaluation));
  }

  void report() {
    SearchState &state = result.state;
    state.seconds = seconds();
    state.waiting = int64_t(queue.size());
    double least = queue.empty() ? state.best : queue.top().bound.seconds;
    state.gap = queue.empty()    ? 0
                : state.best > 0 ? std::max(0.0, 1 - least / state.best)
                                 : 1;
    progress(state);
  }

  void sort() {
    llvm::stable_sort(
        result.evaluations, [&](const Evaluation &a, const Evaluation &b) {
          return comesBefore(a, b, options.memoryLimit, space.program());
        });
  }

  /// Evaluates the best of what is composed as whole programs.
  void finish() {
    report();
    sort();
    std::vector<Evaluation *> finalists;
    for (Evaluation &each : result.evaluations)
      if (each.isComposed && each.isLegal() &&
          finalists.size() < options.finalists)
        finalists.push_back(&each);
    std::atomic<size_t> next{0}, done{0};
    auto work = [&](Evaluator &evaluator) {
      for (size_t i = next++; i < finalists.size(); i = next++)
        if (i == 0 || !isOutOfTime()) {
          replaceByWhole(*finalists[i], evaluator);
          ++done;
        }
    };
    runOnThreads(std::min<size_t>(options.threads, finalists.size()), work);
    result.state.evaluations += int64_t(done);
    result.finalists = int64_t(done);
    sort();
    result.state.seconds = seconds();
  }

  void replaceByWhole(Evaluation &composed, Evaluator &evaluator) {
    Evaluation whole = evaluator.evaluateWhole(composed.candidate);
    std::lock_guard<std::mutex> lock(errors);
    if (whole.isLegal()) {
      noteError(result.timeError, composed.seconds, whole.seconds);
      noteError(result.memoryError, double(composed.memory.total),
                double(whole.memory.total));
    }
    composed = std::move(whole);
  }

  static void noteError(double &largest, double composed, double whole) {
    largest = std::max(largest, std::abs(composed - whole) / whole);
  }

  const Space &space;
  const Bounds &bounds;
  const EvaluatorFactory &makeEvaluator;
  const SearchOptions &options;
  const SearchProgress &progress;
  const Clock::time_point begin;

  std::priority_queue<Waiting, std::vector<Waiting>, IsLater> queue;
  int64_t made = 0;
  std::set<std::string> seen;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  SearchResult result;
  std::mutex errors;
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
