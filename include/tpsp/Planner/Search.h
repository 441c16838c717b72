/// Best-first branch and bound over a space.
///
/// Nodes wait in the order of their bounds. With overlap many are equal: of
/// these, what takes least if nothing hides comes first. The best leaves are
/// evaluated, `batch` at a time, by several threads; the result does not depend
/// on how many. What cannot beat the best so far, or cannot fit, goes. When no
/// node is left the best is the best of the space: the gap is 0. If time or
/// evaluations run out before, the gap says how much faster the best of the
/// space may be.
///
/// Evaluations may be composed of few layers, with an error. Then the best is
/// evaluated whole, and so is what may be faster than it, as long as there is
/// time. Until then it counts in the gap with its error.
///
/// Scheduling communication under computation takes most of an evaluation's
/// time. So a leaf is evaluated without overlap first. How long each stream is
/// busy there is a bound that no schedule beats, and the step's time one that
/// none exceeds. Only what may still win then is overlapped.
///
/// Plans that are good without overlap are mostly good with it, and are found
/// soon. So where bounds of steps without overlap are given, the space is
/// searched by these first, and what was found there is overlapped first.
#ifndef TPSP_PLANNER_SEARCH_H
#define TPSP_PLANNER_SEARCH_H

#include "tpsp/Planner/Bounds.h"
#include "tpsp/Planner/Evaluation.h"

namespace tpsp::planner {

struct SearchOptions {
  /// Of a rank, in bytes.
  int64_t memoryLimit = 0;
  /// In the order in which they are tried; at least one.
  std::vector<Settings> settings = {{}};
  /// Likewise of candidates with stages. Of those with one rematerialisation,
  /// fewer micro-batches come first.
  std::vector<Settings> stageSettings;
  unsigned threads = 1;
  /// Leaves that are evaluated together.
  unsigned batch = 8;
  /// Whether evaluate() overlaps, and evaluateSerially() does not. Then so many
  /// of a batch are overlapped, and a schedule takes at most this share of the
  /// memory more than the step without.
  bool overlaps = false;
  unsigned overlappedBatch = 2;
  double overlapMemory = 0;
  /// Of steps without overlap; null: it is not asked for them. Must outlive the
  /// search.
  const Bounds *serialBounds = nullptr;
  /// The share for a candidate. With stages, what a schedule adds to a
  /// micro-batch may be there once for each that is saved.
  double mostAddedTo(const Candidate &candidate) const {
    return candidate.hasStages()
               ? overlapMemory * double(1 + candidate.settings.microBatches)
               : overlapMemory;
  }
  /// Of the best plans that are composed of fewer layers, so many are evaluated
  /// whole, and ranked by that, as time allows.
  unsigned finalists = 12;
  /// 0: as long, and as many, as it takes.
  double secondsLimit = 0;
  int64_t evaluationsLimit = 0;
  /// Whether the first plan that fits is enough.
  bool endsWithAny = false;
  /// Plans that people name, each by all candidates that are called so: unless
  /// one of them was compiled, the first is, also where time is up.
  std::vector<std::vector<Candidate>> named;
};

/// How the search is getting on.
struct SearchState {
  double seconds = 0;
  int64_t evaluations = 0, waiting = 0;
  /// Of the best candidate so far that fits; 0 if there is none.
  double best = 0;
  /// 0 to 1: how much less than `best` the best of the space may take.
  double gap = 1;
};

using SearchProgress = std::function<void(const SearchState &)>;

struct SearchResult {
  /// All that were evaluated, in the order of comesBefore().
  std::vector<Evaluation> evaluations;
  SearchState state;
  /// Leaves and inner nodes that went because of their bounds, and uses that
  /// are another node's.
  int64_t tooSlow = 0, tooLarge = 0, symmetric = 0;
  /// Nodes that went because no number of micro-batches goes with their stages.
  int64_t uncut = 0;
  /// Candidates that the compiler refused.
  int64_t illegal = 0;
  /// Least memory, in bytes, that a node promised which went because of it; 0
  /// if none did.
  int64_t leastTooLarge = 0;

  /// How long it took until the gap was what it is.
  double certifiedSeconds = 0;
  /// How many composed plans were evaluated whole: the finalists, and what may
  /// be as fast as the best.
  int64_t finalists = 0;

  /// The largest difference between a composed and a whole program: a share of
  /// the time, and of the bytes. 0 if nothing was composed.
  double timeError = 0, memoryError = 0;

  /// The best that fits; null if none does.
  const Evaluation *best(int64_t memoryLimit) const;
};

/// `notable` are looked at, too. The most promising come first, so that a short
/// search has them. What bounds do not exclude of the others comes after the
/// search, as far as there is time.
SearchResult search(const Space &space, const Bounds &bounds,
                    const EvaluatorFactory &makeEvaluator,
                    const std::vector<Candidate> &notable,
                    const SearchOptions &options,
                    const SearchProgress &progress);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SEARCH_H
