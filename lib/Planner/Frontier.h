/// The open nodes of a search: inner nodes of the space, and leaves.
#ifndef TPSP_PLANNER_FRONTIER_H
#define TPSP_PLANNER_FRONTIER_H

#include "SearchQueue.h"

#include "tpsp/Planner/Prospects.h"
#include "tpsp/Planner/Search.h"

#include <set>
#include <string>

namespace tpsp::planner {

/// Whether no settings suit the candidate's stages.
bool isImpossible(const Candidate &candidate, const Bound &bound);

/// The leaves that a search tries: all that may beat the best plan, or only
/// those that promise most.
enum class Extent { All, Promising };

class Frontier {
public:
  /// All references must outlive this object. It reads the best plan so far
  /// from `result`, and counts dropped nodes there. It begins with the
  /// root; for Extent::Promising with no node, only with prospects. If `known`
  /// is null, the prospects are found first.
  Frontier(const Space &space, const Bounds &bounds,
           const SearchOptions &options, SearchResult &result, Extent extent,
           std::unique_ptr<Prospects> known);

  /// Whether there are no more leaves.
  bool empty() const {
    return extent == Extent::Promising ? prospects->empty() : queue.empty();
  }
  /// Hands over the prospects, with what was learned about them.
  std::unique_ptr<Prospects> releaseProspects() { return std::move(prospects); }
  size_t size() const { return queue.size(); }
  const std::vector<Waiting> &waiting() const { return queue.all(); }

  /// The next leaves, at most a batch, in the order of their bounds. If leaves
  /// take long, returns fewer, because the first may exclude the others.
  std::vector<Waiting> nextLeaves();
  /// Marks a leaf that is known from elsewhere, so that it is not returned as
  /// new. False if it was known already.
  bool markSeen(const Candidate &candidate);
  /// Adds a leaf again after its step without overlap is known.
  void addAgain(Waiting leaf);
  /// learn() records a leaf's evaluation, and note() the effort spent on it.
  void learn(const Waiting &leaf, const Evaluation &found);
  /// Learns that the leaf's step takes so long; 0: that it is of no use.
  void learn(const Waiting &leaf, double seconds);
  void note(const Waiting &leaf, double effort) { dives.note(leaf, effort); }

  int64_t nextNumber() { return made++; }
  bool isTooSlow(const Bound &bound) const;

  /// Sets a node aside because of its bound, until reopen().
  void setAside(Waiting node);
  /// Takes back nodes that were set aside but may beat the best plan, which is
  /// slower now. False if there are none.
  bool reopen();
  /// Calls visit(node) for all nodes that wait or were set aside.
  void forEach(llvm::function_ref<void(const Waiting &)> visit) const;

private:
  void push(SpaceNode node);
  void addNew(std::vector<Prospect> taken, std::vector<Waiting> &leaves);
  std::vector<Waiting> nextProspects(size_t most);
  std::vector<Waiting> nextPromising();
  bool isNew(Candidate &candidate);
  size_t batchSize() const;

  const Space &space;
  const Bounds &bounds;
  const SearchOptions &options;
  SearchResult &result;

  WaitingQueue queue;
  std::vector<Waiting> aside;
  const Extent extent;
  std::unique_ptr<Prospects> prospects;
  Dives dives;
  int64_t made = 0;
  /// The numbers of leaves that are being or were overlapped.
  std::set<int64_t> begun;
  /// The subscripts of leaves that are already known.
  std::set<std::string> seen;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_FRONTIER_H
