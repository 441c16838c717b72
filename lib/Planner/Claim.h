/// What a search may say of its best plan: that none is faster, or by how much
/// one may be.
///
/// Steps of deep programs are composed of few layers, and a composed step may
/// differ from the whole one by CompositionError. So the claim is about whole
/// steps: the best plan is compiled whole, and another counts with the least
/// that it may take whole, until it is compiled whole, too.
#ifndef TPSP_PLANNER_CLAIM_H
#define TPSP_PLANNER_CLAIM_H

#include "EvaluationPool.h"

namespace tpsp::planner {

class Claim {
public:
  /// All must outlive it.
  Claim(const Space &space, const Bounds &bounds, const SearchOptions &options,
        EvaluationPool &pool, SearchResult &result)
      : space(space), bounds(bounds), options(options), pool(pool),
        result(result) {}

  /// Best first. A whole step comes before a composed one that it may beat.
  void sort();
  /// Compiles the best of what is composed, and not much too large, whole, as
  /// time and evaluations allow: at most so many rows as there are finalists.
  void evaluateFinalists();
  /// Compiles the best plan whole, also where time is up: what is said of a
  /// composed one might be wrong.
  void makeFirstWhole();
  /// Compiles some rows whole that may be faster then than the best. False if
  /// there are none, or no time.
  bool makeTiesWhole();
  /// What no row takes less than, compiled whole with any settings that may
  /// fit; infinite if no row may fit.
  double leastOfRows() const;
  /// How many evaluations are left.
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
