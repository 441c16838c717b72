// Decides for all operations together where each is computed, by the bytes that
// their collectives send.
#include "AxisProblem.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_set>

using namespace tpsp;

namespace {

/// The uses of a value. A value that no operation computes has one slot for
/// each micro-batch.
struct Slot {
  unsigned value;
  States given = 0; ///< its states if no operation computes it
  size_t first = 0, last = 0;
};

/// A way's choice at one operation, and its predecessor.
struct Trace {
  unsigned before = 0; ///< number in the frontier before the operation
  unsigned way = 0;
  unsigned kept = 0; ///< per result a bit: whether it stays as it comes out
};

/// The ways that are open at one time. The first of equally cheap ways wins.
struct Frontier {
  /// The number of slots in which ways differ; each way has states for these.
  size_t width = 0;
  std::vector<States> states; ///< way after way
  std::vector<SearchCost> costs;

  size_t size() const { return costs.size(); }
  const States *statesOf(size_t way) const {
    return states.data() + way * width;
  }
  bool operator==(const Frontier &other) const {
    return width == other.width && states == other.states &&
           costs == other.costs;
  }

  /// The cost if every tensor that an idle gather made whole turns out to be
  /// needed whole. Slots in which all ways agree are left out.
  SearchCost atBest(size_t way) const {
    SearchCost cost = costs[way];
    for (States each : llvm::ArrayRef(statesOf(way), width))
      cost.idle -= (each & idleBit) != 0;
    return cost;
  }

  size_t cheapest() const {
    return std::min_element(costs.begin(), costs.end()) - costs.begin();
  }
};

llvm::hash_code hashOf(const States *states, size_t count) {
  return llvm::hash_combine_range(
      reinterpret_cast<const uint32_t *>(states),
      reinterpret_cast<const uint32_t *>(states + count));
}

struct HashFrontier {
  size_t operator()(const Frontier &frontier) const {
    llvm::hash_code code =
        hashOf(frontier.states.data(), frontier.states.size());
    // Hashes all members of a cost: a long program has frontiers that differ in
    // only one of them.
    for (const SearchCost &cost : frontier.costs)
      code = llvm::hash_combine(code, cost.idle, cost.againstRole,
                                cost.collectives, cost.small, cost.moved,
                                uint64_t(cost.work), uint64_t(cost.work >> 64),
                                cost.earlySums, cost.bytes);
    return code;
  }
};

struct HashOperation {
  size_t operator()(const AxisOperation &operation) const {
    return operation.hash();
  }
};

/// Selects an operation's states from the frontier, and the states that stay. A
/// position is a slot in which ways differ or, after these, a tensor of the
/// operation.
struct Window {
  std::u32string own;   ///< per tensor, its position if ways differ in it
  std::u32string given; ///< per tensor, its states if ways do not
  std::u32string after;
};

/// A transition from one frontier to the next, across an operation.
struct Passage {
  const Frontier *to = nullptr;
  SearchCost cost;           ///< added cost of the next frontier's first way
  std::vector<Trace> traces; ///< per way of the next frontier
  /// Per slot that stays, its states; 0 if ways differ in it.
  std::u32string settled;
};

/// Collects the ways that arrive at the frontier after an operation.
class Arrivals {
public:
  /// `width`: the number of slots that stay.
  explicit Arrivals(size_t width) : table(64, none) { reached.width = width; }

  void add(const std::vector<States> &states, const SearchCost &cost,
           const Trace &trace) {
    size_t place = placeOf(states);
    if (table[place] == none) {
      table[place] = reached.size();
      llvm::append_range(reached.states, states);
      reached.costs.push_back(cost);
      traces.push_back(trace);
      if (2 * reached.size() > table.size())
        grow();
    } else if (unsigned way = table[place]; cost < reached.costs[way]) {
      reached.costs[way] = cost;
      traces[way] = trace;
    }
  }

  /// Keeps `most` ways, in their order of arrival. Half of them are the
  /// cheapest. The others are the cheapest if all idle gathers turn out to be
  /// needed. Mostly they do not, so the others alone would leave no good way.
  void keepCheapest(size_t most) {
    if (reached.size() <= most)
      return;
    std::vector<size_t> kept(reached.size());
    std::iota(kept.begin(), kept.end(), 0);
    auto select = [&](size_t from, size_t to, const auto &costs) {
      std::nth_element(kept.begin() + from, kept.begin() + to, kept.end(),
                       [&](size_t a, size_t b) {
                         return std::tie(costs[a], a) < std::tie(costs[b], b);
                       });
    };
    select(0, most / 2, reached.costs);
    std::vector<SearchCost> atBest;
    for (size_t way = 0; way < reached.size(); ++way)
      atBest.push_back(reached.atBest(way));
    select(most / 2, most, atBest);
    kept.resize(most);
    llvm::sort(kept);
    for (auto [to, from] : llvm::enumerate(kept)) {
      std::copy_n(reached.statesOf(from), reached.width,
                  reached.states.data() + to * reached.width);
      reached.costs[to] = reached.costs[from];
      traces[to] = traces[from];
    }
    reached.states.resize(most * reached.width);
    reached.costs.resize(most);
    traces.resize(most);
  }

  /// Removes the states in which ways do not differ, and returns them. Many
  /// slots are live, but ways differ in few.
  std::u32string settle() {
    if (reached.size() == 0)
      return {};
    std::u32string settled(reached.statesOf(0), reached.width);
    for (size_t way = 1; way < reached.size(); ++way)
      for (size_t i = 0; i < reached.width; ++i)
        if (reached.statesOf(way)[i] != settled[i])
          settled[i] = 0;
    size_t kept = 0;
    for (size_t way = 0; way < reached.size(); ++way)
      for (size_t i = 0; i < reached.width; ++i)
        if (!settled[i])
          reached.states[kept++] = reached.statesOf(way)[i];
    reached.states.resize(kept);
    reached.width = llvm::count(settled, States(0));
    return settled;
  }

  Frontier reached;
  std::vector<Trace> traces;

private:
  static constexpr unsigned none = ~0u;

  size_t placeOf(const std::vector<States> &states) const {
    size_t mask = table.size() - 1;
    size_t place = hashOf(states.data(), states.size()) & mask;
    while (table[place] != none && !std::equal(states.begin(), states.end(),
                                               reached.statesOf(table[place])))
      place = (place + 1) & mask;
    return place;
  }

  void grow() {
    table.assign(4 * table.size(), none);
    for (unsigned way = 0; way < reached.size(); ++way)
      table[placeOf({reached.statesOf(way),
                     reached.statesOf(way) + reached.width})] = way;
  }

  /// Ways by the hash of their states. The size is a power of two.
  std::vector<unsigned> table;
};

/// The search along one axis. Layers and micro-batches are alike, so
/// operations, frontiers and passages are cached. Only differences between
/// costs decide where a frontier leads, so the first way of a frontier has cost
/// 0.
class AxisSearch : public AxisProblem {
public:
  AxisSearch(const PlacementProblem &problem, const DecidedAxes &decided,
             AxisId axis, size_t most)
      : AxisProblem(problem, decided, axis), most(most) {
    findSlots();
    for (const Slot &slot : slots)
      settled.push_back(slot.given);
  }

  bool run() {
    Frontier begin;
    begin.costs.emplace_back();
    frontier = &*frontiers.insert(std::move(begin)).first;
    for (size_t at = 0; at < problem.operations.size(); ++at)
      if (!step(at))
        return false;
    return true;
  }

  SearchCost cost() const {
    SearchCost sum = frontier->costs[frontier->cheapest()];
    for (const Passage *passage : passed)
      sum += passage->cost;
    return sum;
  }

  void write(PlacementAnswer &answer) const {
    for (const Slot &slot : slots)
      if (slot.given)
        answer.homes[slot.value][axis] = stateOf(slot.value);
    size_t place = frontier->cheapest();
    for (size_t at = problem.operations.size(); at-- > 0;) {
      const Trace &chosen = passed[at]->traces[place];
      const AxisWay &way = operations[at]->ways[chosen.way];
      answer.drives[at][axis] = way.drive;
      for (auto [i, value] : llvm::enumerate(problem.operations[at].results))
        answer.homes[value][axis] =
            chosen.kept >> i & 1 ? way.results[i] : stateOf(value);
      place = chosen.before;
    }
  }

private:
  //===--------------------------------------------------------------------===//
  // Live values
  //===--------------------------------------------------------------------===//

  void findSlots() {
    std::vector<int> made(problem.values.size(), -1);
    std::map<std::pair<unsigned, unsigned>, unsigned> given;
    auto use = [&](unsigned slot, size_t at) {
      slots[slot].last = at;
      return slot;
    };
    for (auto [at, operation] : llvm::enumerate(problem.operations)) {
      auto &used = slotsOf.emplace_back();
      for (unsigned value : operation.operands) {
        if (made[value] >= 0) {
          used.push_back(use(made[value], at));
          continue;
        }
        auto [entry, isNew] =
            given.try_emplace({value, operation.part}, slots.size());
        if (isNew)
          slots.push_back({value, bit(stateOf(value)), at, at});
        used.push_back(use(entry->second, at));
      }
      for (unsigned value : operation.results) {
        made[value] = slots.size();
        used.push_back(slots.size());
        slots.push_back({value, 0, at, at});
      }
    }
  }

  /// Whether a slot is live after operation `at`.
  static bool isLive(const Slot &slot, size_t at) {
    return slot.first <= at && at < slot.last;
  }

  /// The states that operation `at` sees, and the slots that stay live after
  /// it, both those in which ways differ and the operation's own.
  Window windowOf(size_t at, llvm::SmallVectorImpl<unsigned> &after) const {
    llvm::ArrayRef<unsigned> used = slotsOf[at];
    Window window;
    auto keep = [&](unsigned slot, size_t position) {
      if (!isLive(slots[slot], at) || llvm::is_contained(after, slot))
        return;
      after.push_back(slot);
      auto own = llvm::find(used, slot);
      window.after.push_back(
          own == used.end() ? position : open.size() + (own - used.begin()));
    };
    for (auto [position, slot] : llvm::enumerate(open))
      keep(slot, position);
    for (unsigned slot : used) {
      size_t position = llvm::find(open, slot) - open.begin();
      window.own.push_back(position);
      window.given.push_back(position == open.size() ? settled[slot] : 0);
      keep(slot, position);
    }
    return window;
  }

  //===--------------------------------------------------------------------===//
  // The search
  //===--------------------------------------------------------------------===//

  bool step(size_t at) {
    const AxisOperation *operation =
        &*distinct.insert(this->operation(at)).first;
    operations.push_back(operation);
    llvm::SmallVector<unsigned, 8> after;
    Window window = windowOf(at, after);
    auto [known, isNew] = passages.try_emplace(
        {operation, frontier, window.own + window.given + window.after});
    if (isNew)
      known->second = follow(*operation, window);
    const Passage &passage = known->second;
    passed.push_back(&passage);
    frontier = passage.to;
    open.clear();
    for (auto [slot, states] : llvm::zip(after, passage.settled)) {
      settled[slot] = states;
      if (!states)
        open.push_back(slot);
    }
    return frontier->size() > 0;
  }

  /// Follows the operation from every way of the frontier.
  Passage follow(const AxisOperation &operation, const Window &window) {
    // Cached, because most ways differ only in states that the operation does
    // not use.
    std::map<std::u32string, std::vector<AxisOutcome>> known;
    Arrivals arrivals(window.after.size());
    std::u32string own = window.given;
    std::vector<States> after(window.after.size());
    size_t width = frontier->width;
    for (size_t number = 0; number < frontier->size(); ++number) {
      const States *states = frontier->statesOf(number);
      for (auto [i, position] : llvm::enumerate(window.own))
        if (position < width)
          own[i] = states[position];
      auto [outcomes, isNew] = known.try_emplace(own);
      if (isNew)
        outcomes->second =
            outcomesOf(operation, {own.data(), own.size()}, role, size);
      for (const AxisOutcome &outcome : outcomes->second) {
        for (auto [i, position] : llvm::enumerate(window.after))
          after[i] = position < width ? states[position]
                                      : outcome.states[position - width];
        SearchCost cost = frontier->costs[number];
        cost += outcome.cost;
        arrivals.add(after, cost,
                     {unsigned(number), outcome.way, outcome.kept});
      }
    }
    return passageTo(arrivals);
  }

  Passage passageTo(Arrivals &arrivals) {
    Passage passage;
    arrivals.keepCheapest(most);
    Frontier &reached = arrivals.reached;
    if (reached.size() > 0)
      passage.cost = reached.costs.front();
    for (SearchCost &cost : reached.costs)
      cost -= passage.cost;
    passage.settled = arrivals.settle();
    passage.traces = std::move(arrivals.traces);
    passage.to = &*frontiers.insert(std::move(reached)).first;
    return passage;
  }

  size_t most;
  std::vector<Slot> slots;
  /// Per operation: the slots of its operands, then of its results.
  std::vector<llvm::SmallVector<unsigned, 4>> slotsOf;

  std::unordered_set<AxisOperation, HashOperation> distinct;
  std::unordered_set<Frontier, HashFrontier> frontiers;
  std::map<std::tuple<const AxisOperation *, const Frontier *, std::u32string>,
           Passage>
      passages;

  llvm::SmallVector<unsigned, 8> open; ///< live slots that ways differ in
  std::vector<States> settled;         ///< per other slot
  const Frontier *frontier = nullptr;
  /// Per operation so far.
  std::vector<const AxisOperation *> operations;
  std::vector<const Passage *> passed;
};

} // namespace

/// Searches the axes one after the other; each search knows the earlier
/// decisions. `isCrowded`: whether another order may give another answer.
static std::optional<PlacementAnswer>
searchInOrder(const PlacementProblem &problem, llvm::ArrayRef<AxisId> order,
              size_t most, bool &isCrowded) {
  unsigned numAxes = problem.mesh.numAxes();
  DecidedAxes decided;
  decided.is.assign(numAxes, false);
  PlacementAnswer &answer = decided.answer;
  answer.drives.assign(problem.operations.size(),
                       llvm::SmallVector<Drive, 2>(numAxes));
  answer.homes.assign(problem.values.size(), llvm::SmallVector<AxisState, 2>(
                                                 numAxes, AxisState::whole()));
  for (AxisId axis : order) {
    AxisSearch search(problem, decided, axis, most);
    if (!search.run())
      return std::nullopt;
    search.write(answer);
    isCrowded |= search.wasCrowded();
    decided.is[axis] = true;
    if (problem.mesh.size(axis) > 1)
      answer.cost += search.cost();
  }
  return std::move(answer);
}

std::optional<PlacementAnswer>
tpsp::searchPlacements(const PlacementProblem &problem, size_t most) {
  if (llvm::any_of(problem.values, [](const PlacementProblem::Value &value) {
        return value.shape.size() > mostDims;
      }))
    return std::nullopt;
  llvm::SmallVector<AxisId> order(problem.mesh.numAxes());
  std::iota(order.begin(), order.end(), 0);
  bool isCrowded = false;
  // Axes are independent except for the extents that they divide together.
  std::optional<PlacementAnswer> best =
      searchInOrder(problem, order, most, isCrowded);
  if (!isCrowded)
    return best;
  // Tries the reverse order: the last axes may have more need of an extent that
  // the first axes took.
  std::reverse(order.begin(), order.end());
  std::optional<PlacementAnswer> other =
      searchInOrder(problem, order, most, isCrowded);
  return !best || (other && other->cost < best->cost) ? other : best;
}
