#include "Frontier.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

bool tpsp::planner::isImpossible(const Candidate &candidate,
                                 const Bound &bound) {
  return !bound.isPossible && candidate.hasStages();
}

/// The most seconds of a step without overlap that may still beat `best` with
/// overlap: a third of it may hide.
static double longestSerial(double best, const SearchOptions &options) {
  return (options.overlaps ? 1.5 : 1) * best;
}

Frontier::Frontier(const Space &space, const Bounds &bounds,
                   const SearchOptions &options, SearchResult &result,
                   Extent extent, std::unique_ptr<Prospects> known)
    : space(space), bounds(bounds), options(options), result(result),
      extent(extent), prospects(std::move(known)) {
  if (!prospects)
    prospects = std::make_unique<Prospects>(space, bounds, options.memoryLimit);
  if (extent == Extent::All)
    push(space.root());
}

bool Frontier::isTooSlow(const Bound &bound) const {
  return result.state.best > 0 && bound.seconds > result.state.best;
}

void Frontier::push(SpaceNode node) {
  Bound bound = bounds.of(node);
  if (isImpossible(node.candidate, bound)) {
    ++result.uncut;
  } else if (bound.bytes > options.memoryLimit) {
    ++result.tooLarge;
    if (result.leastTooLarge == 0 || bound.bytes < result.leastTooLarge)
      result.leastTooLarge = bound.bytes;
  } else if (isTooSlow(bound)) {
    setAside({std::move(node), bound, made++, nullptr});
  } else {
    queue.push({std::move(node), bound, made++, nullptr});
  }
}

void Frontier::setAside(Waiting node) {
  ++result.tooSlow;
  aside.push_back(std::move(node));
}

bool Frontier::reopen() {
  auto open = std::stable_partition(
      aside.begin(), aside.end(),
      [&](const Waiting &each) { return isTooSlow(each.bound); });
  bool isAny = open != aside.end();
  for (Waiting &each : llvm::make_range(open, aside.end())) {
    --result.tooSlow;
    queue.push(std::move(each));
  }
  aside.erase(open, aside.end());
  return isAny;
}

void Frontier::forEach(llvm::function_ref<void(const Waiting &)> visit) const {
  llvm::for_each(queue.all(), visit);
  llvm::for_each(aside, visit);
}

/// The first batch is small: a known best plan excludes settings of other
/// leaves.
size_t Frontier::batchSize() const {
  constexpr unsigned first = 2;
  bool hasBest = result.state.best > 0 || options.overlaps;
  return hasBest ? options.batch : std::min(options.batch, first);
}

bool Frontier::markSeen(const Candidate &candidate) {
  return seen.insert(subscriptText(candidate, space.program())).second;
}

void Frontier::addAgain(Waiting leaf) {
  dives.add(leaf);
  queue.push(std::move(leaf));
}

void Frontier::learn(const Waiting &leaf, const Evaluation &found) {
  bool isOfUse = found.isLegal() && found.memory.total <= options.memoryLimit;
  learn(leaf, isOfUse ? found.seconds : 0);
}

void Frontier::learn(const Waiting &leaf, double seconds) {
  prospects->learn(leaf.node.candidate, leaf.bound, seconds);
}

/// Adds prospects that are new and may beat the best plan.
void Frontier::addNew(std::vector<Prospect> taken,
                      std::vector<Waiting> &leaves) {
  for (Prospect &each : taken) {
    Bound bound = bounds.of(each.leaf);
    if (!isTooSlow(bound) && isNew(each.leaf.candidate))
      leaves.push_back({std::move(each.leaf), bound, made++, nullptr});
  }
}

/// Leaves from which good plans are expected.
std::vector<Waiting> Frontier::nextProspects(size_t most) {
  std::vector<Waiting> leaves;
  addNew(prospects->take(most, longestSerial(result.state.best, options)),
         leaves);
  return leaves;
}

/// Leaves of a search that has only prospects. Expectations may be wrong for
/// leaves unlike the known ones, so some leaves are taken by their bounds
/// alone.
std::vector<Waiting> Frontier::nextPromising() {
  size_t batch = batchSize();
  std::vector<Waiting> leaves = nextProspects(batch - batch / 4);
  while (leaves.size() < batch && !prospects->empty())
    addNew(prospects->takeFirst(batch - leaves.size()), leaves);
  return leaves;
}

std::vector<Waiting> Frontier::nextLeaves() {
  if (extent == Extent::Promising)
    return nextPromising();
  // Leaves that take longest come first, so that other threads do not wait for
  // them.
  std::vector<Waiting> leaves =
      dives.take(options.overlappedBatch, [&](const Waiting &leaf) {
        return isTooSlow(leaf.bound) || begun.count(leaf.number);
      });
  for (const Waiting &dive : leaves)
    begun.insert(dive.number);
  size_t overlapped = leaves.size();
  std::vector<Waiting> later;
  size_t batch = batchSize();
  llvm::append_range(leaves, nextProspects(batch - batch / 4 - overlapped));
  while (!queue.empty() && leaves.size() < batch) {
    Waiting next = queue.top();
    queue.pop();
    if (begun.count(next.number)) {
      continue;
    } else if (isTooSlow(next.bound)) {
      setAside(std::move(next));
    } else if (!space.isDone(next.node)) {
      for (SpaceNode &child : space.children(next.node, result.symmetric))
        push(std::move(child));
    } else if (next.serial && (overlapped >= options.overlappedBatch ||
                               !dives.hasRoomFor(next))) {
      later.push_back(std::move(next));
    } else if (next.serial) {
      ++overlapped;
      begun.insert(next.number);
      leaves.push_back(std::move(next));
    } else if (isNew(next.node.candidate)) {
      leaves.push_back(std::move(next));
    }
  }
  for (Waiting &each : later)
    if (leaves.empty()) {
      begun.insert(each.number);
      leaves.push_back(std::move(each));
    } else {
      queue.push(std::move(each));
    }
  return leaves;
}

bool Frontier::isNew(Candidate &candidate) {
  return space.satisfiesPins(candidate) &&
         seen.insert(subscriptText(candidate, space.program())).second;
}
