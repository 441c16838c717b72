/// The claim of a search about its best plan: that no plan is faster, or by how
/// much another may be.
///
/// Steps of deep programs are composed of few layers, and a composed step may
/// differ from the whole step by CompositionError. So the claim is about whole
/// steps. The best plan is compiled whole. Until another plan is compiled
/// whole, too, it counts with the least time that it may take.
#ifndef TPSP_PLANNER_CLAIM_H
#define TPSP_PLANNER_CLAIM_H

#include "EvaluationPool.h"

namespace tpsp::planner {

class Claim {
public:
  /// All arguments must outlive this object.
  Claim(const Space &space, const Bounds &bounds, const SearchOptions &options,
        EvaluationPool &pool, SearchResult &result)
      : space(space), bounds(bounds), options(options), pool(pool),
        result(result) {}

  /// Sorts the rows, best first. A whole step comes before a composed step that
  /// it may beat.
  void sort();
  /// Compiles composed rows whole, as time and evaluations allow: first those
  /// that may be the fastest, then the others of the best. The best are as many
  /// as there are finalists. Rows that are much too large are left out. There
  /// must be a plan.
  void evaluateFinalists();
  /// Compiles the best plan whole, even after the time limit: a claim about a
  /// composed plan might be wrong.
  void makeFirstWhole();
  /// Compiles some rows whole that may then be faster than the best. False if
  /// there are none, or no time is left.
  bool makeTiesWhole();
  /// The least seconds of any row, compiled whole with any settings that may
  /// fit. Infinite if no row may fit.
  double leastOfRows() const;
  /// The number of evaluations that are left.
  int64_t evaluationsLeft() const;

private:
  double leastOf(const Evaluation &row) const;
  Evaluation *best();
  EvaluationTask wholeTask(const Evaluation &row) const;
  size_t evaluate(const std::vector<Evaluation *> &rows,
                  std::vector<EvaluationTask> tasks);
  void replace(Evaluation &row, EvaluationTask &task);
  void raiseErrors();

  const Space &space;
  const Bounds &bounds;
  const SearchOptions &options;
  EvaluationPool &pool;
  SearchResult &result;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_CLAIM_H
