/// The search itself: evaluates leaves until none is left that may beat the
/// best plan. Search.h describes the method.
#ifndef TPSP_PLANNER_LEAFSEARCH_H
#define TPSP_PLANNER_LEAFSEARCH_H

#include "Claim.h"
#include "Frontier.h"

#include <map>
#include <set>

namespace tpsp::planner {

/// The result of a search without overlap.
struct KnownSteps {
  /// Steps without overlap, best first.
  std::vector<Evaluation> steps;
  /// The evaluations and seconds that it used, which count against the limits.
  int64_t evaluations = 0;
  double seconds = 0;
  /// Its prospects; null if there was no such search.
  std::unique_ptr<Prospects> prospects;
};

/// The row of a candidate that was not compiled, from its bound.
Evaluation rowOf(const Candidate &candidate, const Bound &bound);

class LeafSearch {
public:
  /// All references must outlive this object.
  LeafSearch(const Space &space, const Bounds &bounds,
             const EvaluatorFactory &makeEvaluator,
             const SearchOptions &options, const SearchProgress &progress,
             Extent extent, KnownSteps known);

  /// Compiles the most promising of the `usual` candidates first, so that even
  /// a short search has a plan that people would choose without it.
  void beginWithUsual(const std::vector<Candidate> &usual);

protected:
  static constexpr double any = std::numeric_limits<double>::infinity();

  /// Searches until nothing is left that may beat the best plan, or time is up.
  void searchOn();
  /// Evaluates leaves with settings that may take at most `longest` seconds.
  void evaluate(std::vector<Waiting> leaves, double longest);
  /// Adds a row. `untried`: as in Evaluation.
  void take(Evaluation evaluation, double untried = any);
  /// Whether time or evaluations are used up.
  bool isOver() const;
  /// Reports the progress of the search, and records the gap.
  void report();
  /// Fills in SearchResult::open.
  void noteOpen();

  double incumbent() const { return result.state.best; }
  bool isTooSlow(const Bound &bound) const { return frontier.isTooSlow(bound); }
  std::string textOf(const Candidate &candidate) const {
    return subscriptText(candidate, space.program());
  }

  const Space &space;
  const Bounds &bounds;
  const SearchOptions &options;
  EvaluationPool pool;
  SearchResult result;
  Frontier frontier;
  Claim claim;
  /// Whether the search has ended, and its best plan is being compared with the
  /// others.
  bool isFinishing = false;
  /// Plans that have a row, and steps without overlap, by their subscripts.
  std::set<std::string> taken;
  std::map<std::string, std::shared_ptr<const Evaluation>> serials;
  /// Leaves whose only settings that may fit are too slow.
  std::vector<Waiting> leftOut;

private:
  void beginWith(const KnownSteps &known);
  bool isSpent();
  void learn(Waiting leaf, EvaluationTask &task);
  void leaveOut(Waiting leaf, const EvaluationTask &task);
  void exclude(Waiting leaf, const Evaluation &known);
  void postpone(Waiting leaf, const EvaluationTask &task);
  void refine(Waiting leaf, std::shared_ptr<const Evaluation> serial);
  void forEachOpen(llvm::function_ref<void(const Waiting &)> visit) const;
  double leastOpen() const;

  const SearchProgress &progress;
  /// Whether steps are composed of few layers.
  bool isComposing = false;
  /// Numbers of leaves that were overlapped.
  std::set<int64_t> finished;
  /// Leaves for which there was no time.
  std::vector<Waiting> postponed;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_LEAFSEARCH_H
