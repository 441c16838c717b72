/// An open node of a search.
#ifndef TPSP_PLANNER_SEARCHQUEUE_H
#define TPSP_PLANNER_SEARCHQUEUE_H

#include "tpsp/Abi/WrittenOut.h"
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
  /// The order of creation, which decides between equal bounds.
  int64_t number = 0;
  /// For a leaf: the step without overlap, once it is known.
  std::shared_ptr<const Evaluation> serial;

  /// Least seconds of the step if nothing hides. Bounds of overlapped steps are
  /// often equal; then short communication promises little exposure.
  double promise() const { return serial ? serial->seconds : bound.promise(); }
};

/// Orders nodes by their bounds. Among equal bounds the more promising node
/// comes first: a good plan that is found early excludes others.
struct IsLater {
  bool operator()(const Waiting &a, const Waiting &b) const {
    return std::tuple(a.bound.seconds, a.promise(), a.number) >
           std::tuple(b.bound.seconds, b.promise(), b.number);
  }
};

/// A queue ordered by bounds, whose container can be iterated.
struct WaitingQueue
    : std::priority_queue<Waiting, std::vector<Waiting>, IsLater> {
  const std::vector<Waiting> &all() const { return c; }
};

/// The likely seconds of a step. Its busiest stream takes `busiest` seconds,
/// and all streams one after the other `serial`. About three quarters of the
/// difference hide: two thirds to four fifths, in plans of Llama-3.1-8B on 64
/// devices.
inline double likelySeconds(double busiest, double serial) {
  return busiest + std::max(serial - busiest, 0.0) / 4;
}

/// The effort of an evaluation, roughly proportional to its time. Scheduling
/// takes longer than the rest.
inline double effortOf(const Candidate &candidate, bool isOverlapped) {
  constexpr double schedule = 16;
  if (!isOverlapped)
    return 1;
  return candidate.hasStages()
             ? schedule
             : schedule * double(scheduledMicroBatches(
                              candidate.settings.microBatches));
}

/// Leaves that were evaluated without overlap, and are yet to be evaluated with
/// it.
class Dives {
public:
  void add(Waiting leaf) { leaves.push_back(std::move(leaf)); }

  /// Records the effort spent on the leaf.
  void note(const Waiting &leaf, double effort) {
    (leaf.serial ? overlapEffort : serialEffort) += effort;
  }

  /// Whether there is room for overlapping the leaf. Overlapping may take about
  /// as much effort as evaluations without overlap. So an expensive leaf waits
  /// until much is known.
  bool hasRoomFor(const Waiting &leaf) const {
    double effort = effortOf(leaf.serial->candidate, /*isOverlapped=*/true);
    return overlapEffort + effort <= 2 * serialEffort;
  }

  /// Takes out at most `most` leaves that are likely to give a good plan; they
  /// are overlapped before their turn. Removes all leaves for which `isOver`
  /// holds. Returns none while more effort went into overlap than into steps
  /// without it, since the latter may find a better plan sooner. Leaves without
  /// room stay.
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
