/// The search itself: leaves are evaluated until none is left that may beat the
/// best. Search.h says how.
#ifndef TPSP_PLANNER_LEAFSEARCH_H
#define TPSP_PLANNER_LEAFSEARCH_H

#include "Claim.h"
#include "Frontier.h"

#include <map>
#include <set>

namespace tpsp::planner {

/// What a search without overlap has found.
struct KnownSteps {
  /// Steps without overlap, best first.
  std::vector<Evaluation> steps;
  /// What it took, which counts against the limits.
  int64_t evaluations = 0;
  double seconds = 0;
};

/// What bounds say of a candidate: a row that was not compiled.
Evaluation rowOf(const Candidate &candidate, const Bound &bound);

class LeafSearch {
public:
  /// All must outlive it, but for what is known.
  LeafSearch(const Space &space, const Bounds &bounds,
             const EvaluatorFactory &makeEvaluator,
             const SearchOptions &options, const SearchProgress &progress,
             const KnownSteps &known);

  /// Compiles those of `usual` first that promise most. Else a short search
  /// might end without what people take anyway.
  void beginWithUsual(const std::vector<Candidate> &usual);

protected:
  static constexpr double any = std::numeric_limits<double>::infinity();

  /// Until nothing is left that may beat the best, or time is up.
  void searchOn();
  /// With settings that may take at most `longest` seconds.
  void evaluate(std::vector<Waiting> leaves, double longest);
  /// `untried`: as Evaluation has it.
  void take(Evaluation evaluation, double untried = any);
  /// Whether time or evaluations are over.
  bool isOver() const;
  /// Tells how the search is getting on, and notes the gap.
  void report();

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
  /// Whether the search is over, and its best plan is held against the others.
  bool isFinishing = false;
  /// By their subscripts: plans that have a row, and steps without overlap.
  std::set<std::string> taken;
  std::map<std::string, std::shared_ptr<const Evaluation>> serials;
  /// Leaves of which only slower settings may fit.
  std::vector<Waiting> leftOut;

private:
  void beginWith(const KnownSteps &known);
  bool isSpent();
  void learn(Waiting leaf, EvaluationTask &task);
  void leaveOut(Waiting leaf, const EvaluationTask &task);
  void postpone(Waiting leaf, const EvaluationTask &task);
  void refine(Waiting leaf, std::shared_ptr<const Evaluation> serial);
  double leastOpen() const;

  const SearchProgress &progress;
  /// Whether steps are composed of few layers.
  bool isComposing = false;
  /// Numbers of leaves that were overlapped.
  std::set<int64_t> finished;
  /// What there was no time for.
  std::vector<Waiting> postponed;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_LEAFSEARCH_H
