/// Best-first branch and bound over a space.
///
/// Nodes wait in the order of their bounds. With overlap many bounds are equal;
/// then the node that takes least if nothing hides comes first. Several threads
/// evaluate the best leaves, `batch` at a time; the result does not depend on
/// the number of threads. A node that cannot beat the best plan so far, or
/// cannot fit, is dropped. When no node is left, the best plan is the best of
/// the space: the gap is 0. If time or evaluations run out earlier, the gap
/// says how much faster the best of the space may be.
///
/// Evaluations may be composed of few layers, with an error. Then the best plan
/// is compiled whole, and so are plans that may be faster, as long as there is
/// time. A plan that was not compiled whole counts in the gap with its error.
///
/// Scheduling communication under computation takes most of an evaluation's
/// time. So a leaf is evaluated without overlap first. Its streams' busy times
/// are a lower bound on the step with overlap, and its own step time is an
/// upper bound. Only leaves that may still win are overlapped.
///
/// Plans that are good without overlap are mostly good with it, and are found
/// quickly. So if `serialBounds` are given, the most promising leaves are first
/// evaluated without overlap, and the best of them are overlapped first.
#ifndef TPSP_PLANNER_SEARCH_H
#define TPSP_PLANNER_SEARCH_H

#include "tpsp/Planner/Bounds.h"
#include "tpsp/Planner/Evaluation.h"

namespace tpsp::planner {

struct SearchOptions {
  /// The memory of a rank, in bytes.
  int64_t memoryLimit = 0;
  /// The settings, in the order in which they are tried; at least one.
  std::vector<Settings> settings = {{}};
  /// The settings of candidates with stages. Within one rematerialisation,
  /// fewer micro-batches come first.
  std::vector<Settings> stageSettings;
  unsigned threads = 1;
  /// The number of leaves that are evaluated together.
  unsigned batch = 8;
  /// Whether evaluate() overlaps, and evaluateSerially() does not. If so,
  /// `overlappedBatch` leaves are overlapped together, and a schedule adds at
  /// most the share `overlapMemory` to the serial step's memory.
  bool overlaps = false;
  unsigned overlappedBatch = 2;
  double overlapMemory = 0;
  /// Bounds of steps without overlap. Null: no search without overlap. Not
  /// owned; must outlive the search.
  const Bounds *serialBounds = nullptr;
  /// The number of the best composed plans that are evaluated whole, and ranked
  /// by the result, as time allows.
  unsigned finalists = 4;
  /// The number of the best plans whose settings are all tried, and that are
  /// compiled even if they cannot be the fastest.
  size_t rows = 10;
  /// Limits on seconds and evaluations; 0: no limit.
  double secondsLimit = 0;
  int64_t evaluationsLimit = 0;
  /// Whether the search ends with the first plan that fits.
  bool endsWithAny = false;
  /// Named plans, each with all candidates of that name. If the search compiled
  /// none of them, the first is compiled even after the time limit.
  std::vector<std::vector<Candidate>> named;
  /// Whether only the named plans are evaluated.
  bool onlyNamed = false;
};

/// The progress of the search.
struct SearchState {
  double seconds = 0;
  int64_t evaluations = 0, waiting = 0;
  /// Seconds of the best candidate so far that fits; 0 if there is none.
  double best = 0;
  /// 0 to 1: how much less than `best` the best of the space may take.
  double gap = 1;
};

using SearchProgress = std::function<void(const SearchState &)>;

/// A plan of which only a bound is known, or all plans that begin with its
/// axes.
struct OpenPlan {
  Candidate candidate;
  /// The devices that its axes leave to further axes; 1: it is a plan.
  int64_t devicesLeft = 1;
  Bound bound;
  /// Seconds of its step without overlap; 0: not compiled.
  double serialSeconds = 0;
};

struct SearchResult {
  /// All evaluations, in the order of comesBefore().
  std::vector<Evaluation> evaluations;
  SearchState state;
  /// Numbers of leaves and inner nodes that were dropped because of their
  /// bounds, and of uses that equal another node's.
  int64_t tooSlow = 0, tooLarge = 0, symmetric = 0;
  /// Nodes that were dropped because no number of micro-batches suits their
  /// stages.
  int64_t uncut = 0;
  /// Candidates that the compiler refused.
  int64_t illegal = 0;
  /// The least bytes that a node dropped as too large would need; 0 if there
  /// was none.
  int64_t leastTooLarge = 0;

  /// With a gap: a few plans with the least bounds, which may be faster than
  /// the best one, and the number of all such plans. Rows may be faster, too.
  std::vector<OpenPlan> open;
  int64_t numOpen = 0;

  /// Seconds until the gap reached its final value.
  double certifiedSeconds = 0;
  /// The number of composed plans that were evaluated whole: the finalists, and
  /// plans that may be as fast as the best.
  int64_t finalists = 0;

  /// The largest differences seen between composed figures and those of whole
  /// programs. 0 if nothing was composed.
  CompositionError seen;

  /// The best plan that fits; null if none does.
  const Evaluation *best(int64_t memoryLimit) const;
};

/// Searches the space, and reports on the `notable` candidates, too. The most
/// promising of them are evaluated first, so that a short search has them.
/// Other notable candidates that bounds do not exclude are evaluated after the
/// search, as time allows.
SearchResult search(const Space &space, const Bounds &bounds,
                    const EvaluatorFactory &makeEvaluator,
                    const std::vector<Candidate> &notable,
                    const SearchOptions &options,
                    const SearchProgress &progress);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SEARCH_H
