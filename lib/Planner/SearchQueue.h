/// What a search has open.
#ifndef TPSP_PLANNER_SEARCHQUEUE_H
#define TPSP_PLANNER_SEARCHQUEUE_H

#include "tpsp/Planner/Bounds.h"
#include "tpsp/Planner/Evaluation.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace tpsp::planner {

struct Waiting {
  SpaceNode node;
  Bound bound;
  /// Numbered as they are made, so that equal bounds have an order.
  int64_t number = 0;
  /// Of a leaf: the step without overlap, once it is known.
  std::shared_ptr<const Evaluation> serial;

  /// What the step takes at least if nothing hides: where communication is
  /// short, little is exposed. Bounds of overlapped steps are often alike.
  double promise() const { return serial ? serial->seconds : bound.promise(); }
};

/// Of equal bounds the more promising comes first: a good plan that is found
/// early excludes others.
struct IsLater {
  bool operator()(const Waiting &a, const Waiting &b) const {
    return std::tuple(a.bound.seconds, a.promise(), a.number) >
           std::tuple(b.bound.seconds, b.promise(), b.number);
  }
};

/// By their bounds; its container can be looked through.
struct WaitingQueue
    : std::priority_queue<Waiting, std::vector<Waiting>, IsLater> {
  const std::vector<Waiting> &all() const { return c; }
};

/// What a step may take of which the busiest stream takes `busiest` seconds,
/// and all streams one after the other `serial`. Of the rest about three
/// quarters hide: two thirds to four fifths, in plans of Llama-3.1-8B on 64
/// devices.
inline double likelySeconds(double busiest, double serial) {
  return busiest + std::max(serial - busiest, 0.0) / 4;
}

/// Of an evaluation, about in proportion to its time: the compiler does as much
/// for each micro-batch, and a schedule takes longer than the rest.
inline double effortOf(const Candidate &candidate, bool isOverlapped) {
  constexpr double schedule = 16;
  double parts =
      candidate.hasStages() ? 1 : double(candidate.settings.microBatches);
  return parts * (isOverlapped ? schedule : 1);
}

/// Leaves that were evaluated without overlap, and are still to be with it.
class Dives {
public:
  void add(Waiting leaf) { leaves.push_back(std::move(leaf)); }

  /// So much was done for the leaf.
  void note(const Waiting &leaf, double effort) {
    (leaf.serial ? overlapEffort : serialEffort) += effort;
  }

  /// Whether there is room for a leaf's overlap: together these take about as
  /// long as what is known without. One that takes long comes when much is
  /// known.
  bool hasRoomFor(const Waiting &leaf) const {
    double effort = effortOf(leaf.serial->candidate, /*isOverlapped=*/true);
    return overlapEffort + effort <= 2 * serialEffort;
  }

  /// Takes out at most `most`, those that may soon give a good plan, and all
  /// that are over: the leaves are overlapped before their turn. None, while
  /// more was done with overlap than without, or for which there is no room:
  /// without, a better plan may be found sooner.
  std::vector<Waiting> take(size_t most,
                            llvm::function_ref<bool(const Waiting &)> isOver) {
    llvm::erase_if(leaves, isOver);
    if (overlapEffort > serialEffort)
      most = 0;
    llvm::stable_sort(leaves, [](const Waiting &a, const Waiting &b) {
      return likelySeconds(a.bound.seconds, a.promise()) <
             likelySeconds(b.bound.seconds, b.promise());
    });
    std::vector<Waiting> taken, rest;
    for (Waiting &leaf : leaves)
      (taken.size() < most && hasRoomFor(leaf) ? taken : rest)
          .push_back(std::move(leaf));
    leaves = std::move(rest);
    return taken;
  }

private:
  std::vector<Waiting> leaves;
  double serialEffort = 0, overlapEffort = 0;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SEARCHQUEUE_H
