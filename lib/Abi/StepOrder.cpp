#include "tpsp/Abi/StepOrder.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace tpsp {
namespace {

/// How a segment uses memory that other segments use, too.
struct Use {
  bool isRead = false, isWritten = false;
};

/// The pools that a segment accesses, and the buffers outside of pools.
struct SegmentUse {
  std::map<int64_t, Use> pools, buffers;
  int64_t stream = 0;
};

/// Facts of a plan that all of its stages share.
struct PlanUses {
  explicit PlanUses(const Plan &plan);

  std::vector<SegmentUse> segments;
  /// For each pool, whether chunks share its values. If not, each chunk has
  /// slots of its own.
  std::vector<bool> isShared;
};

std::vector<SegmentUse> usesOf(const Plan &plan) {
  std::vector<SegmentUse> uses(plan.segments.size());
  for (const PlanCommand &command : plan.commands) {
    SegmentUse &use = uses[command.segment];
    if (plan.segments[command.segment].isTransfer())
      use.stream = command.stream;
    for (const PlanAccess &access : command.accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      Use &own = buffer.pool >= 0 ? use.pools[buffer.pool]
                                  : use.buffers[access.buffer];
      (access.isWrite ? own.isWritten : own.isRead) = true;
    }
  }
  return uses;
}

/// The latest accesses of some memory, by stream: positions of actions.
struct Accesses {
  std::map<int64_t, int64_t> any, writes;
};

/// A micro-batch of a chunk; the chunk is -1 if several chunks share its
/// values.
using Tenant = std::pair<int64_t, int64_t>;

/// Gives the slots of a pool to its tenants.
class Slots {
public:
  /// The slot of a tenant, for one of its `users` actions.
  int64_t visit(Tenant tenant, int64_t users) {
    auto [known, isNew] = taken.try_emplace(tenant, Stay{0, users});
    if (isNew)
      known->second.slot = take();
    int64_t slot = known->second.slot;
    if (--known->second.left == 0) {
      free.push_back(slot);
      taken.erase(known);
    }
    return slot;
  }
  int64_t count() const { return used; }

private:
  struct Stay {
    int64_t slot, left;
  };

  /// The slot that was given back first: its last users have ended most likely.
  int64_t take() {
    if (free.empty())
      return used++;
    int64_t slot = free.front();
    free.pop_front();
    return slot;
  }

  int64_t used = 0;
  std::map<Tenant, Stay> taken;
  std::deque<int64_t> free;
};

/// PlanUses::isShared.
std::vector<bool> sharedPools(const Plan &plan) {
  constexpr int64_t unknown = -2;
  std::vector<bool> shared(plan.pools.size());
  std::vector<int64_t> chunks(plan.buffers.size(), unknown);
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses) {
      int64_t pool = plan.buffers[access.buffer].pool;
      if (pool < 0)
        continue;
      int64_t chunk = plan.segments[command.segment].chunk;
      int64_t &known = chunks[access.buffer];
      if (known != unknown && known != chunk)
        shared[pool] = true;
      known = chunk;
    }
  return shared;
}

PlanUses::PlanUses(const Plan &plan)
    : segments(usesOf(plan)), isShared(sharedPools(plan)) {}

class Orderer {
public:
  Orderer(const Plan &plan, const PlanUses &uses, int64_t stage)
      : plan(plan), issued(issuedSegments(plan, stage)),
        firstLate(firstLateAction(plan, issued)), uses(uses.segments),
        isShared(uses.isShared), slots(plan.pools.size()) {}

  StepOrder run() {
    countUsers();
    for (const StepAction &each : issued) {
      IssuedAction &action = result.actions.emplace_back();
      action.segment = each.segment;
      action.microBatch = each.microBatch;
      action.stream = uses[each.segment].stream;
      takeSlots(action);
      wait(action);
    }
    for (const Slots &each : slots)
      result.slots.push_back(each.count());
    return std::move(result);
  }

private:
  using Clock = std::map<int64_t, int64_t>;

  void countUsers() {
    // All micro-batches but the last have the same actions.
    std::set<int64_t> seen;
    for (const StepAction &each : issued)
      if (seen.insert(each.segment).second)
        for (const auto &[pool, use] : uses[each.segment].pools)
          for (bool isLast : {false, true})
            users[{pool, tenantChunk(pool, each.segment), isLast}] +=
                plan.segments[each.segment].isPartOf(isLast);
  }

  int64_t usersOf(int64_t pool, Tenant tenant) const {
    bool isLast = tenant.second + 1 == plan.microBatches;
    return users.at({pool, tenant.first, isLast});
  }

  /// The chunk of the tenant whose slot of a pool a segment accesses.
  int64_t tenantChunk(int64_t pool, int64_t segment) const {
    return isShared[pool] ? -1 : plan.segments[segment].chunk;
  }

  void takeSlots(IssuedAction &action) {
    action.slots.resize(plan.pools.size());
    for (const auto &[pool, use] : uses[action.segment].pools) {
      Tenant tenant(tenantChunk(pool, action.segment), action.microBatch);
      action.slots[pool] = slots[pool].visit(tenant, usersOf(pool, tenant));
    }
  }

  /// Finds the actions of other streams that must have ended before the last
  /// action begins.
  void wait(IssuedAction &action) {
    int64_t number = int64_t(result.actions.size()) - 1;
    std::set<int64_t> needed;
    auto visit = [&](Accesses &of, const Use &use) {
      for (auto [stream, last] : use.isWritten ? of.any : of.writes)
        if (stream != action.stream)
          needed.insert(last);
      of.any[action.stream] = number;
      if (use.isWritten)
        of.writes[action.stream] = number;
    };
    const SegmentUse &use = uses[action.segment];
    for (const auto &[pool, own] : use.pools)
      visit(poolAccesses[{pool, action.slots[pool]}], own);
    for (const auto &[buffer, own] : use.buffers)
      visit(bufferAccesses[buffer], own);
    if (number >= firstLate)
      for (auto [stream, last] : lastEarly)
        if (stream != action.stream)
          needed.insert(last);
    if (number < firstLate)
      lastEarly[action.stream] = number;
    Clock &clock = clocks[action.stream];
    for (auto last = needed.rbegin(); last != needed.rend(); ++last) {
      int64_t stream = result.actions[*last].stream;
      auto known = clock.find(stream);
      if (known != clock.end() && known->second >= *last)
        continue;
      action.waits.push_back(*last);
      result.actions[*last].isAwaited = true;
      for (auto [other, reached] : behind[*last]) {
        int64_t &own = clock.try_emplace(other, -1).first->second;
        own = std::max(own, reached);
      }
    }
    std::sort(action.waits.begin(), action.waits.end());
    clock[action.stream] = number;
    behind.push_back(clock);
  }

  const Plan &plan;
  const std::vector<StepAction> issued;
  const int64_t firstLate;
  const std::vector<SegmentUse> &uses;
  const std::vector<bool> &isShared;
  std::vector<Slots> slots;
  /// By pool, chunk of the tenant, and whether it is the last micro-batch: how
  /// many of its actions access the pool.
  std::map<std::tuple<int64_t, int64_t, bool>, int64_t> users;
  std::map<std::pair<int64_t, int64_t>, Accesses> poolAccesses;
  std::map<int64_t, Accesses> bufferAccesses;
  /// The last action of each stream before `firstLate`.
  Clock lastEarly;
  /// The last actions of all streams that have ended: as each stream knows, and
  /// after each action.
  std::map<int64_t, Clock> clocks;
  std::vector<Clock> behind;
  StepOrder result;
};

} // namespace

std::vector<StepAction> issuedSegments(const Plan &plan, int64_t stage) {
  if (!plan.order.empty())
    return plan.order[stage];
  std::vector<StepAction> issued;
  for (int64_t number = 0; number < int64_t(plan.segments.size()); ++number) {
    const PlanSegment &segment = plan.segments[number];
    if (!segment.runsOn(stage))
      continue;
    int64_t first = segment.firstOf(plan.microBatches);
    for (int64_t i = 0; i < plan.timesOf(segment); ++i)
      issued.push_back({number, first + i});
  }
  return issued;
}

int64_t firstLateAction(const Plan &plan,
                        const std::vector<StepAction> &issued) {
  auto last =
      std::find_if(issued.rbegin(), issued.rend(), [&](const StepAction &each) {
        return plan.segments[each.segment].isOfMicroBatch();
      });
  return last == issued.rend() ? int64_t(issued.size()) : issued.rend() - last;
}

StepOrder StepOrder::of(const Plan &plan, int64_t stage) {
  return Orderer(plan, PlanUses(plan), stage).run();
}

std::vector<StepOrder> StepOrder::ofStages(const Plan &plan) {
  PlanUses uses(plan);
  std::vector<StepOrder> orders;
  for (int64_t stage = 0; stage < plan.numStages(); ++stage)
    orders.push_back(Orderer(plan, uses, stage).run());
  return orders;
}

int64_t numActionEvents(const Plan &plan) {
  size_t most = 0;
  for (const std::vector<StepAction> &stage : plan.order)
    most = std::max(most, stage.size());
  return int64_t(most);
}

} // namespace tpsp
