#include "AxisProblem.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

using namespace tpsp;

AxisState AxisState::of(const Placement &placement, AxisId axis) {
  if (placement.isPending(axis))
    return pending(placement.reduction);
  std::optional<unsigned> dim = placement.dimOf(axis);
  return dim ? on(*dim) : whole();
}

static auto inOrder(const SearchCost &cost) {
  return std::tie(cost.idle, cost.againstRole, cost.collectives, cost.small,
                  cost.work, cost.earlySums, cost.bytes);
}

bool SearchCost::operator<(const SearchCost &other) const {
  return inOrder(*this) < inOrder(other);
}

bool SearchCost::operator==(const SearchCost &other) const {
  return inOrder(*this) == inOrder(other);
}

SearchCost &SearchCost::operator+=(const SearchCost &other) {
  idle += other.idle;
  againstRole += other.againstRole;
  collectives += other.collectives;
  small += other.small;
  work += other.work;
  earlySums += other.earlySums;
  bytes += other.bytes;
  return *this;
}

SearchCost &SearchCost::operator-=(const SearchCost &other) {
  idle -= other.idle;
  againstRole -= other.againstRole;
  collectives -= other.collectives;
  small -= other.small;
  work -= other.work;
  earlySums -= other.earlySums;
  bytes -= other.bytes;
  return *this;
}

namespace {

/// Where a value is used: by all operations, or by those of one micro-batch if
/// no operation makes it.
struct Slot {
  unsigned value;
  States given = 0; ///< if no operation makes it
  size_t first = 0, last = 0;
};

/// One way to have come as far as an operation.
struct Reached {
  std::u32string live; ///< the states of the slots that ways differ in
  SearchCost cost;

  bool operator==(const Reached &other) const {
    return live == other.live && cost == other.cost;
  }
};

/// The cost if whatever an idle gather made whole is needed whole yet, but for
/// what all ways have alike.
SearchCost atBest(const Reached &state) {
  SearchCost cost = state.cost;
  for (States states : state.live)
    cost.idle -= (states & idleBit) != 0;
  return cost;
}

/// What a way chose at one operation, and where it came from.
struct Trace {
  unsigned before = 0; ///< number in the frontier before the operation
  unsigned way = 0;
  unsigned kept = 0; ///< per result a bit: whether it stays as it comes out
};

/// The ways that are open at one time. Their order decides among equals.
using Frontier = std::vector<Reached>;

struct HashFrontier {
  size_t operator()(const Frontier &frontier) const {
    llvm::hash_code code = llvm::hash_value(frontier.size());
    for (const Reached &state : frontier)
      code = llvm::hash_combine(code, std::hash<std::u32string>()(state.live),
                                state.cost.collectives, state.cost.small,
                                state.cost.bytes);
    return code;
  }
};

struct HashOperation {
  size_t operator()(const AxisOperation &operation) const {
    return operation.hash();
  }
};

/// Which of the states at hand an operation's tensors have, and which stay.
/// Positions are those of the slots that ways differ in, then of the tensors.
struct Window {
  std::u32string own;   ///< per tensor its position, if ways differ in it
  std::u32string given; ///< per tensor its states, if they do not
  std::u32string after;
};

/// From one frontier to the next, across an operation.
struct Passage {
  const Frontier *to = nullptr;
  SearchCost cost; ///< of the first way of the next behind that of the last
  std::vector<Trace> traces; ///< per way of the next
  /// Per slot that stays its states; 0 if ways differ in it.
  std::u32string settled;
};

/// Takes out states in which ways do not differ: what is returned. Few are
/// left, of many that are live.
std::u32string settle(Frontier &frontier) {
  if (frontier.empty())
    return {};
  std::u32string settled = frontier.front().live;
  for (const Reached &state : frontier)
    for (size_t i = 0; i < settled.size(); ++i)
      if (state.live[i] != settled[i])
        settled[i] = 0;
  for (Reached &state : frontier) {
    size_t kept = 0;
    for (size_t i = 0; i < settled.size(); ++i)
      if (!settled[i])
        state.live[kept++] = state.live[i];
    state.live.resize(kept);
  }
  return settled;
}

/// In the order in which they came.
void keepCheapest(Frontier &reached, std::vector<Trace> &traces, size_t most) {
  if (reached.size() <= most)
    return;
  std::vector<std::pair<SearchCost, size_t>> costs;
  for (auto [i, state] : llvm::enumerate(reached))
    costs.push_back({atBest(state), i});
  std::nth_element(costs.begin(), costs.begin() + most, costs.end());
  std::vector<bool> stays(reached.size(), false);
  for (size_t i = 0; i < most; ++i)
    stays[costs[i].second] = true;
  size_t kept = 0;
  for (size_t i = 0; i < reached.size(); ++i)
    if (stays[i]) {
      if (kept != i)
        reached[kept] = std::move(reached[i]);
      traces[kept++] = traces[i];
    }
  reached.resize(most);
  traces.resize(most);
}

/// The frontier behind an operation while ways arrive at it.
class Arrivals {
public:
  void add(const std::u32string &live, const SearchCost &cost,
           const Trace &trace) {
    auto [place, isNew] = places.try_emplace(live, reached.size());
    if (isNew) {
      reached.push_back({live, cost});
      traces.push_back(trace);
    } else if (Reached &state = reached[place->second]; cost < state.cost) {
      state.cost = cost;
      traces[place->second] = trace;
    }
  }

  Frontier reached;
  std::vector<Trace> traces;

private:
  std::unordered_map<std::u32string, size_t> places; ///< in `reached`
};

/// Layers and micro-batches are alike: operations, frontiers and what leads
/// from one to the next are found once. Only differences of costs matter to
/// what a frontier leads to, so its first way costs nothing.
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
    frontier = &*frontiers.insert(Frontier(1)).first;
    for (size_t at = 0; at < problem.operations.size(); ++at)
      if (!step(at))
        return false;
    return true;
  }

  SearchCost cost() const {
    SearchCost sum = best()->cost;
    for (const Passage *passage : passed)
      sum += passage->cost;
    return sum;
  }

  void write(PlacementAnswer &answer) const {
    for (const Slot &slot : slots)
      if (slot.given)
        answer.homes[slot.value][axis] = stateOf(slot.value);
    size_t place = best() - frontier->begin();
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
  Frontier::const_iterator best() const {
    return std::min_element(
        frontier->begin(), frontier->end(),
        [](const Reached &a, const Reached &b) { return a.cost < b.cost; });
  }

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

  /// Whether a slot is live behind operation `at`.
  static bool isLive(const Slot &slot, size_t at) {
    return slot.first <= at && at < slot.last;
  }

  /// What operation `at` sees, and the slots that stay behind it: of those that
  /// ways differ in, and of its own.
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
    return !frontier->empty();
  }

  /// To wherever the operation may lead from the frontier.
  Passage follow(const AxisOperation &operation, const Window &window) {
    // Most ways differ in states that the operation does not touch.
    std::map<std::u32string, std::vector<AxisOutcome>> known;
    Arrivals arrivals;
    std::u32string own = window.given, live;
    for (auto [number, state] : llvm::enumerate(*frontier)) {
      size_t numLive = state.live.size();
      for (auto [i, position] : llvm::enumerate(window.own))
        if (position < numLive)
          own[i] = state.live[position];
      auto [outcomes, isNew] = known.try_emplace(own);
      if (isNew)
        outcomes->second =
            outcomesOf(operation, {own.data(), own.size()}, role, size);
      for (const AxisOutcome &outcome : outcomes->second) {
        live.clear();
        for (size_t position : window.after)
          live.push_back(position < numLive
                             ? state.live[position]
                             : outcome.states[position - numLive]);
        SearchCost cost = state.cost;
        cost += outcome.cost;
        arrivals.add(live, cost, {unsigned(number), outcome.way, outcome.kept});
      }
    }
    return passageTo(arrivals);
  }

  Passage passageTo(Arrivals &arrivals) {
    Passage passage;
    keepCheapest(arrivals.reached, arrivals.traces, most);
    if (!arrivals.reached.empty())
      passage.cost = arrivals.reached.front().cost;
    for (Reached &state : arrivals.reached)
      state.cost -= passage.cost;
    passage.traces = std::move(arrivals.traces);
    passage.settled = settle(arrivals.reached);
    passage.to = &*frontiers.insert(std::move(arrivals.reached)).first;
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
  /// Per operation that was passed.
  std::vector<const AxisOperation *> operations;
  std::vector<const Passage *> passed;
};

} // namespace

/// The axes, one after the other: each knows what was decided of those before.
/// `isCrowded`: whether another order may give another answer.
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
  // Axes compose, but for the extents that they divide together.
  std::optional<PlacementAnswer> best =
      searchInOrder(problem, order, most, isCrowded);
  if (!isCrowded)
    return best;
  // The other way round: what the first axes took, the last may need more.
  std::reverse(order.begin(), order.end());
  std::optional<PlacementAnswer> other =
      searchInOrder(problem, order, most, isCrowded);
  return !best || (other && other->cost < best->cost) ? other : best;
}
