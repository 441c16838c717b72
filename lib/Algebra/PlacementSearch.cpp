#include "AxisProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>

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
  std::u32string live; ///< the states of the live slots
  SearchCost cost;
  unsigned trace = 0;
};

/// The cost if whatever an idle gather made whole is needed whole yet.
SearchCost atBest(const Reached &state) {
  SearchCost cost = state.cost;
  for (States states : state.live)
    cost.idle -= (states & idleBit) != 0;
  return cost;
}

/// In the order in which they came, which decides among equals later.
void keepCheapest(std::vector<Reached> &reached, size_t most) {
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
    if (stays[i] && kept++ != i)
      reached[kept - 1] = std::move(reached[i]);
  reached.resize(most);
}

/// What a way chose at one operation, and where it came from.
struct Trace {
  unsigned before = 0;
  unsigned way = 0;
  unsigned kept = 0; ///< per result a bit: whether it stays as it comes out
};

class AxisSearch : public AxisProblem {
public:
  AxisSearch(const PlacementProblem &problem, const DecidedAxes &decided,
             AxisId axis, size_t most)
      : AxisProblem(problem, decided, axis), most(most) {
    findSlots();
  }

  bool run() {
    reached.push_back({});
    traces.push_back({});
    for (size_t at = 0; at < problem.operations.size(); ++at)
      if (!step(at))
        return false;
    return true;
  }

  SearchCost cost() const { return best().cost; }

  void write(PlacementAnswer &answer) const {
    for (const Slot &slot : slots)
      if (slot.given)
        answer.homes[slot.value][axis] = stateOf(slot.value);
    unsigned trace = best().trace;
    for (size_t at = problem.operations.size(); at-- > 0;) {
      const Operation &operation = problem.operations[at];
      const Trace &chosen = traces[trace];
      AxisWay way = waysOf(operation)[chosen.way];
      answer.drives[at][axis] = way.drive;
      for (auto [i, value] : llvm::enumerate(operation.results))
        answer.homes[value][axis] =
            chosen.kept >> i & 1 ? way.results[i] : stateOf(value);
      trace = chosen.before;
    }
  }

private:
  const Reached &best() const {
    return *std::min_element(
        reached.begin(), reached.end(),
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
    current.resize(slots.size());
    for (auto [slot, states] : llvm::zip_equal(slots, current))
      states = slot.given;
  }

  /// Whether an axis may drive what this way drives, as the operands are.
  bool isOpen(const AxisWay &way, const Operation &operation,
              llvm::ArrayRef<unsigned> used) const {
    if (way.drive.kind != Drive::Index || way.isWanted)
      return true;
    for (auto [i, needs] : llvm::enumerate(way.needs))
      if (needs.dim() && current[used[i]] & bit(needs))
        return true;
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Costs
  //===--------------------------------------------------------------------===//

  bool bringOperand(const Operation &operation, const AxisWay &way,
                    unsigned number, SearchCost &cost) {
    unsigned slot = slotsOf[here][number];
    States &states = current[slot];
    AxisState needs = way.needs[number];
    bool alike = way.drive.kind == Drive::Nothing;
    bool couldWork =
        alike && couldDivide(operation.structure, number,
                             states | wantedBit(operation.operands[number]));
    bool wasWhole = states & wholeBit;
    if (!bring(operation.operands[number], states, needs, cost))
      return false;
    if (needs != AxisState::whole())
      return true;
    if (!wasWhole && couldWork) {
      ++cost.idle;
      states |= idleBit;
    } else if (!couldWork && states & idleBit) {
      --cost.idle;
      states &= ~idleBit;
    }
    return true;
  }

  /// Summands that are pending and not available as the way needs them: they
  /// are added first.
  llvm::SmallVector<unsigned, 4> alike(const Operation &operation,
                                       const AxisWay &way) const {
    llvm::SmallVector<unsigned, 4> found;
    if (!operation.isSum || way.drive.kind == Drive::Pending)
      return found;
    for (unsigned i = 0; i < operation.operands.size(); ++i) {
      States states = current[slotsOf[here][i]];
      bool isThere = states & bit(way.needs[i]) ||
                     (way.needs[i].dim() && states & wholeBit);
      if (!isThere && states & bit(AxisState::pending(Reduction::Sum)))
        found.push_back(i);
    }
    if (found.size() < 2)
      found.clear();
    return found;
  }

  /// One collective for all of `group`, of their sum.
  void reduceTogether(const Operation &operation, const AxisWay &way,
                      llvm::ArrayRef<unsigned> group, SearchCost &cost) const {
    unsigned largest = *std::max_element(
        group.begin(), group.end(), [&](unsigned a, unsigned b) {
          return localBytes(operation.operands[a]) <
                 localBytes(operation.operands[b]);
        });
    bool scatters =
        way.drive.kind == Drive::Index && llvm::any_of(group, [&](unsigned i) {
          return way.needs[i].dim().has_value();
        });
    // The sum is made in the result's precision.
    pay(operation.operands[largest],
        problem.values[operation.results.front()].elementBytes,
        scatters ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
        /*isReduced=*/true, cost);
  }

  /// Whether the sum over ranks of what it takes has to wait for the operation.
  bool waitsForSum(const Operation &operation) const {
    return operation.isConvertingSum &&
           current[slotsOf[here][0]] & bit(AxisState::pending(Reduction::Sum));
  }

  bool bringOperands(const Operation &operation, const AxisWay &way,
                     SearchCost &cost) {
    if (waitsForSum(operation) && way.drive.kind != Drive::Pending)
      return false;
    llvm::SmallVector<unsigned, 4> group = alike(operation, way);
    if (!group.empty())
      reduceTogether(operation, way, group, cost);
    for (unsigned i = 0; i < operation.operands.size(); ++i)
      if (!llvm::is_contained(group, i) &&
          !bringOperand(operation, way, i, cost))
        return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // The search
  //===--------------------------------------------------------------------===//

  /// Whether a slot is live behind operation `at`.
  bool isLive(const Slot &slot, size_t at) const {
    return slot.first <= at && at < slot.last;
  }

  bool step(size_t at) {
    here = at;
    const Operation &operation = problem.operations[at];
    llvm::SmallVector<unsigned, 8> before = live;
    after.clear();
    for (unsigned slot : live)
      if (isLive(slots[slot], at))
        after.push_back(slot);
    for (unsigned slot : slotsOf[at])
      if (isLive(slots[slot], at) && !llvm::is_contained(after, slot))
        after.push_back(slot);

    std::vector<Reached> from = std::move(reached);
    reached.clear();
    places.clear();
    std::vector<AxisWay> ways = waysOf(operation);
    work = static_cast<__int128>(operation.structure.work());
    for (const Reached &state : from) {
      load(before, state);
      // A way changes the operation's own slots alone.
      auto own = llvm::map_to_vector<4>(
          slotsOf[at], [&](unsigned slot) { return current[slot]; });
      for (auto [number, way] : llvm::enumerate(ways)) {
        for (auto [slot, states] : llvm::zip_equal(slotsOf[at], own))
          current[slot] = states;
        if (isOpen(way, operation, slotsOf[at]))
          follow(operation, way, number, state);
      }
    }
    for (unsigned slot : slotsOf[at])
      current[slot] = slots[slot].given;
    live = after;
    keepCheapest(reached, most);
    return !reached.empty();
  }

  void load(llvm::ArrayRef<unsigned> slotsLive, const Reached &state) {
    for (unsigned slot : slotsOf[here])
      current[slot] = slots[slot].given;
    for (auto [slot, states] : llvm::zip_equal(slotsLive, state.live))
      current[slot] = states;
  }

  void follow(const Operation &operation, const AxisWay &way, unsigned number,
              const Reached &from) {
    SearchCost cost = from.cost;
    cost.work += work / (way.drive.kind == Drive::Index ? size : 1);
    if (bringOperands(operation, way, cost))
      leaveResults(operation, way, {from.trace, number, 0}, 0, cost);
  }

  /// Each result from number `next` on either where it is wanted or, where it
  /// may, as it comes out.
  void leaveResults(const Operation &operation, const AxisWay &way, Trace trace,
                    unsigned next, const SearchCost &cost) {
    if (next == operation.results.size())
      return arrive(trace, cost);
    unsigned number = operation.results[next];
    const Value &value = problem.values[number];
    unsigned slot = slotsOf[here][operation.operands.size() + next];
    AxisState comesOut = way.results[next];
    bool isThere = value.wanted && comesOut == stateOf(number);
    if (value.wanted) {
      SearchCost paid = cost;
      States states = bit(comesOut);
      int early = paid.earlySums;
      if (bring(number, states, stateOf(number), paid)) {
        paid.earlySums = early; // it is not the operand of another
        current[slot] = bit(stateOf(number));
        leaveResults(operation, way, trace, next + 1, paid);
      }
    }
    bool mayStay =
        !value.wanted || (!isThere && mayDepart(number) &&
                          (!comesOut.isPending() || mayWait(number)));
    if (!mayStay)
      return;
    current[slot] = bit(comesOut);
    trace.kept |= 1u << next;
    SearchCost paid = cost;
    if (comesOut.isPending())
      payReaders(number, paid);
    leaveResults(operation, way, trace, next + 1, paid);
  }

  void arrive(const Trace &trace, const SearchCost &cost) {
    key.clear();
    for (unsigned slot : after)
      key.push_back(current[slot]);
    auto [place, isNew] = places.try_emplace(key, reached.size());
    if (isNew) {
      reached.push_back({key, cost, unsigned(traces.size())});
      traces.push_back(trace);
    } else if (Reached &state = reached[place->second]; cost < state.cost) {
      state.cost = cost;
      traces[state.trace] = trace;
    }
  }

  size_t most;
  std::vector<Slot> slots;
  /// Per operation: the slots of its operands, then of its results.
  std::vector<llvm::SmallVector<unsigned, 4>> slotsOf;

  size_t here = 0; ///< the operation that is looked at
  llvm::SmallVector<unsigned, 8> live, after;
  __int128 work = 0;           ///< of that operation, by one rank alone
  std::u32string key;          ///< kept for its room
  std::vector<States> current; ///< per slot, in the way that is followed
  std::vector<Reached> reached;
  std::unordered_map<std::u32string, size_t> places; ///< in `reached`
  std::vector<Trace> traces;
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
