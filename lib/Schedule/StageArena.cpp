#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Algebra/ArenaLayout.h"
#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/IssueOrder.h"
#include "tpsp/Schedule/StageOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace tpsp;

namespace {

class StageLayout {
public:
  explicit StageLayout(const Plan &plan)
      : plan(plan), users(plan.buffers.size()) {
    result.offsets.resize(plan.buffers.size());
    result.poolOf.assign(plan.buffers.size(), -1);
    for (const PlanCommand &command : plan.commands)
      for (const PlanAccess &access : command.accesses)
        users[access.buffer].insert(command.segment);
  }

  StageArena run() {
    makePools();
    int64_t common = placeLasting(-1, 0);
    for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
      int64_t end = placeLasting(stage, common);
      result.bytesOfStage.push_back(placePools(stage, end));
    }
    placeScratch();
    for (int64_t bytes : result.bytesOfStage)
      result.bytes = std::max(result.bytes, bytes);
    return std::move(result);
  }

private:
  /// Whether only segments of micro-batches access a temporary.
  bool isRepeated(int64_t buffer) const {
    return !plan.buffers[buffer].lasts() && !users[buffer].empty() &&
           llvm::all_of(users[buffer], [&](int64_t segment) {
             return plan.segments[segment].isOfMicroBatch();
           });
  }

  /// Whether a temporary lives within one run of one segment that computes.
  /// A transfer has a stream of its own.
  bool isScratch(int64_t buffer) const {
    return !plan.buffers[buffer].lasts() && users[buffer].size() == 1 &&
           !plan.segments[*users[buffer].begin()].isTransfer();
  }

  void makePools() {
    std::map<std::set<int64_t>, int64_t> known;
    for (int64_t buffer = 0; buffer < int64_t(plan.buffers.size()); ++buffer) {
      if (!isRepeated(buffer) || isScratch(buffer))
        continue;
      auto [pool, isNew] =
          known.try_emplace(users[buffer], int64_t(result.pools.size()));
      if (isNew)
        result.pools.emplace_back();
      PlanPool &own = result.pools[pool->second];
      result.poolOf[buffer] = pool->second;
      result.offsets[buffer] = own.bytes; // from the slot's begin, for now
      own.bytes += ArenaLayout::rounded(plan.buffers[buffer].bytes);
    }
  }

  /// The stage that alone has a buffer; -1 if several have it.
  int64_t stageOf(int64_t buffer) const {
    const std::vector<int64_t> &stages = plan.buffers[buffer].stages;
    return stages.size() == 1 ? stages.front() : -1;
  }

  /// Places what keeps its bytes, of one stage, or of several if it is -1.
  int64_t placeLasting(int64_t stage, int64_t end) {
    for (int64_t buffer = 0; buffer < int64_t(plan.buffers.size()); ++buffer) {
      const PlanBuffer &own = plan.buffers[buffer];
      bool isUsed = own.lasts() || !users[buffer].empty();
      if (!isUsed || isScratch(buffer) || result.poolOf[buffer] >= 0 ||
          stageOf(buffer) != stage)
        continue;
      result.offsets[buffer] = end;
      end += ArenaLayout::rounded(own.bytes);
    }
    return end;
  }

  int64_t placePools(int64_t stage, int64_t end) {
    Plan pooled = plan;
    for (size_t buffer = 0; buffer < pooled.buffers.size(); ++buffer)
      pooled.buffers[buffer].pool = result.poolOf[buffer];
    pooled.pools = result.pools;
    std::vector<int64_t> slots = StepOrder::of(pooled, stage).slots;
    for (size_t pool = 0; pool < slots.size(); ++pool) {
      if (slots[pool] == 0)
        continue;
      PlanPool &own = result.pools[pool];
      own.slots = slots[pool];
      own.offset = end;
      end += own.bytes * own.slots;
      for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
        if (result.poolOf[buffer] == int64_t(pool))
          *result.offsets[buffer] += own.offset;
    }
    return end;
  }

  /// Places temporaries of single segments after everything else of their
  /// stages.
  void placeScratch() {
    const std::vector<int64_t> ends = result.bytesOfStage;
    std::vector<WrittenOutStep> steps = segmentSteps(plan);
    for (int64_t number = 0; number < int64_t(plan.segments.size()); ++number) {
      int64_t begin = 0;
      for (int64_t stage = 0; stage < plan.numStages(); ++stage)
        if (plan.segments[number].runsOn(stage))
          begin = std::max(begin, ends[stage]);
      int64_t end = begin + placeScratchOf(std::move(steps[number]), begin);
      for (int64_t stage = 0; stage < plan.numStages() && end > begin; ++stage)
        if (plan.segments[number].runsOn(stage))
          result.bytesOfStage[stage] =
              std::max(result.bytesOfStage[stage], end);
    }
  }

  /// Places the temporaries of a segment from `begin` on. Returns their bytes.
  int64_t placeScratchOf(WrittenOutStep step, int64_t begin) {
    for (size_t i = 0; i < step.bufferOf.size(); ++i) {
      step.plan.buffers[i].kind = BufferKind::Temporary;
      if (!isScratch(step.bufferOf[i]))
        step.plan.buffers[i].bytes = 0;
    }
    HappensBefore before;
    if (HappensBefore::analyse(step.plan, before))
      return 0; // the proof refuses it
    ArenaPlan arena = planArena(step.plan, before);
    for (size_t i = 0; i < step.bufferOf.size(); ++i)
      if (isScratch(step.bufferOf[i]) && arena.offsets[i])
        result.offsets[step.bufferOf[i]] = begin + *arena.offsets[i];
    return arena.bytes;
  }

  const Plan &plan;
  /// For each buffer, the segments that access it.
  std::vector<std::set<int64_t>> users;
  StageArena result;
};

} // namespace

StageArena tpsp::planStageArena(const Plan &plan) {
  return StageLayout(plan).run();
}
