/// What a search has yet to look at: inner nodes of the space, and leaves.
#ifndef TPSP_PLANNER_FRONTIER_H
#define TPSP_PLANNER_FRONTIER_H

#include "SearchQueue.h"

#include "tpsp/Planner/Prospects.h"
#include "tpsp/Planner/Search.h"

#include <set>
#include <string>

namespace tpsp::planner {

/// Whether no settings go with the candidate's stages.
bool isImpossible(const Candidate &candidate, const Bound &bound);

class Frontier {
public:
  /// All must outlive it. It begins with the root, reads the best so far from
  /// `result`, and counts there what it drops.
  Frontier(const Space &space, const Bounds &bounds,
           const SearchOptions &options, SearchResult &result);

  bool empty() const { return queue.empty(); }
  size_t size() const { return queue.size(); }
  const std::vector<Waiting> &waiting() const { return queue.all(); }

  /// The next leaves, at most a batch, in the order of their bounds. Of those
  /// that take long, fewer: the first may exclude the others.
  std::vector<Waiting> nextLeaves();
  /// A leaf that is known from elsewhere: not to be given out as a new one.
  /// False if it was known.
  bool markSeen(const Candidate &candidate);
  /// A leaf again, whose step without overlap is known.
  void addAgain(Waiting leaf);
  /// What was found of a leaf, and how much was done for it.
  void learn(const Waiting &leaf, const Evaluation &found);
  void note(const Waiting &leaf, double effort) { dives.note(leaf, effort); }

  int64_t nextNumber() { return made++; }
  bool isTooSlow(const Bound &bound) const;

  /// What goes because of its bound, until reopen().
  void setAside(Waiting node);
  /// Takes back what was set aside and may beat the best, which is slower now.
  /// False if there is nothing.
  bool reopen();
  /// Seconds that no node waiting or set aside can beat; infinite if there are
  /// none. Of leaves, those that are not `isDone`.
  double leastSeconds(llvm::function_ref<bool(const Waiting &)> isDone) const;

private:
  void push(SpaceNode node);
  std::vector<Waiting> nextProspects(size_t most);
  bool isNew(Candidate &candidate);
  size_t batchSize() const;

  const Space &space;
  const Bounds &bounds;
  const SearchOptions &options;
  SearchResult &result;

  WaitingQueue queue;
  std::vector<Waiting> aside;
  Prospects prospects;
  Dives dives;
  int64_t made = 0;
  /// Numbers of leaves that are or were overlapped.
  std::set<int64_t> begun;
  /// By their subscripts: leaves that were begun with.
  std::set<std::string> seen;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_FRONTIER_H
