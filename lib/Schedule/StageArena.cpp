#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Algebra/ArenaLayout.h"
#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/IssueOrder.h"
#include "tpsp/Schedule/StageOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace tpsp;

namespace {

/// Memory that lies at one offset on all of its stages.
struct Piece {
  llvm::SmallVector<int64_t> stages;
  int64_t bytes = 0;
  /// Its buffers. Until it is placed, their offsets are from its begin.
  llvm::SmallVector<int64_t> buffers;
  /// Whether only segments that follow all micro-batches access it.
  bool isLate = false;
};

/// Tells sets of segments that chunks have alike.
class SetKinds {
public:
  explicit SetKinds(const Plan &plan) : plan(plan) {}

  /// The stage and the works of a set of segments of one chunk. Chunks that are
  /// alike have a set of each kind. A set of several chunks is a kind of its
  /// own.
  std::vector<int64_t> of(const std::set<int64_t> &segments) {
    const PlanSegment &first = plan.segments[*segments.begin()];
    std::vector<int64_t> kind = {-1};
    bool isOfOneChunk = first.stages.size() == 1;
    for (int64_t segment : segments) {
      isOfOneChunk &= plan.segments[segment].chunk == first.chunk &&
                      plan.segments[segment].stages == first.stages;
      // It stands for the segment of the other micro-batches.
      if (plan.segments[segment].runs == SegmentRuns::Last)
        continue;
      kind.push_back(int64_t(plan.segments[segment].work));
    }
    if (!isOfOneChunk)
      return std::vector<int64_t>(segments.begin(), segments.end());
    llvm::sort(kind);
    kind.push_back(first.stages.front());
    // A chunk may have several sets of the same works, with several sends.
    kind.push_back(sameKinds[{first.chunk, kind}]++);
    return kind;
  }

private:
  const Plan &plan;
  /// How many sets of a chunk are of the same works.
  std::map<std::pair<int64_t, std::vector<int64_t>>, int64_t> sameKinds;
};

class StageLayout {
public:
  /// `shares`: chunks that are alike share slots. `reserves`: pieces of several
  /// stages may have memory of their own.
  StageLayout(const Plan &plan, bool shares, bool reserves)
      : plan(plan), shares(shares), reserves(reserves),
        users(plan.buffers.size()), isLate(plan.segments.size()),
        ends(plan.numStages()), lastingBytes(plan.numStages()) {
    result.offsets.resize(plan.buffers.size());
    result.poolOf.assign(plan.buffers.size(), -1);
    for (const PlanCommand &command : plan.commands)
      for (const PlanAccess &access : command.accesses)
        users[access.buffer].insert(command.segment);
    findLate();
  }

  StageArena run() {
    makePools();
    collectBuffers();
    collectScratch();
    for (bool isShared : {true, false}) {
      for (const Piece &piece : lasting)
        if (isShared == (piece.stages.size() > 1))
          placeAfter(piece, ends);
      if (isShared && reserves)
        reserve();
    }
    const std::vector<int64_t> lateEnds = ends;
    for (int64_t stage = 0; stage < plan.numStages(); ++stage)
      placePools(stage);
    result.bytesOfStage = ends;
    placeRest(lateEnds);
    for (int64_t bytes : result.bytesOfStage)
      result.bytes = std::max(result.bytes, bytes);
    return std::move(result);
  }

private:
  //===--------------------------------------------------------------------===//
  // Kinds of buffers
  //===--------------------------------------------------------------------===//

  /// Finds the segments that follow all micro-batches on each of their stages.
  void findLate() {
    for (size_t number = 0; number < isLate.size(); ++number)
      isLate[number] = !plan.segments[number].isOfMicroBatch();
    for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
      std::vector<StepAction> issued = issuedSegments(plan, stage);
      issued.resize(firstLateAction(plan, issued));
      for (const StepAction &early : issued)
        isLate[early.segment] = false;
    }
  }

  /// Whether something uses a temporary, and only segments of micro-batches.
  bool isRepeated(int64_t buffer) const {
    return isUsedTemporary(buffer) &&
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

  /// Whether something uses a temporary, and only late segments.
  bool isOfLate(int64_t buffer) const {
    return isUsedTemporary(buffer) &&
           llvm::all_of(users[buffer],
                        [&](int64_t segment) { return isLate[segment]; });
  }

  bool isUsedTemporary(int64_t buffer) const {
    return !plan.buffers[buffer].lasts() && !users[buffer].empty();
  }

  /// The numbers of `stages`, or of all stages if it is empty.
  llvm::SmallVector<int64_t> stagesOf(llvm::ArrayRef<int64_t> stages) const {
    if (stages.empty())
      return llvm::to_vector(llvm::seq<int64_t>(0, plan.numStages()));
    return llvm::to_vector(stages);
  }

  //===--------------------------------------------------------------------===//
  // Pools
  //===--------------------------------------------------------------------===//

  /// The values that a set of segments passes on, of one micro-batch.
  struct Passed {
    int64_t pool = -1, bytes = 0;
    llvm::SmallVector<int64_t> buffers;
  };

  void makePools() {
    std::map<std::set<int64_t>, size_t> known;
    std::vector<Passed> sets;
    SetKinds kindOf(plan);
    // Sets of different chunks that are of the same kind.
    std::map<std::vector<int64_t>, std::vector<size_t>> kinds;
    for (int64_t buffer = 0; buffer < int64_t(plan.buffers.size()); ++buffer) {
      if (!isRepeated(buffer) || isScratch(buffer))
        continue;
      auto [set, isNew] = known.try_emplace(users[buffer], sets.size());
      if (isNew) {
        kinds[kindOf.of(users[buffer])].push_back(sets.size());
        sets.emplace_back();
      }
      Passed &own = sets[set->second];
      own.buffers.push_back(buffer);
      result.offsets[buffer] = own.bytes; // from the slot's begin, for now
      own.bytes += ArenaLayout::rounded(plan.buffers[buffer].bytes);
    }
    for (auto &[kind, numbers] : kinds)
      makePoolsOf(numbers, sets);
    buffersOfPool.resize(result.pools.size());
    for (const Passed &own : sets)
      for (int64_t buffer : own.buffers) {
        result.poolOf[buffer] = own.pool;
        buffersOfPool[own.pool].push_back(buffer);
      }
    countSlots();
  }

  /// Gives sets of one kind pools. Sets of about the same bytes share a pool.
  void makePoolsOf(std::vector<size_t> &numbers, std::vector<Passed> &sets) {
    llvm::stable_sort(numbers, [&](size_t a, size_t b) {
      return sets[a].bytes > sets[b].bytes;
    });
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t number : numbers) {
      Passed &own = sets[number];
      if (own.bytes < least || !shares) {
        result.pools.emplace_back().bytes = own.bytes;
        least = own.bytes - own.bytes / 16;
      }
      own.pool = int64_t(result.pools.size()) - 1;
    }
  }

  void countSlots() {
    Plan pooled = plan;
    for (size_t buffer = 0; buffer < pooled.buffers.size(); ++buffer)
      pooled.buffers[buffer].pool = result.poolOf[buffer];
    pooled.pools = result.pools;
    for (StepOrder &order : StepOrder::ofStages(pooled))
      slots.push_back(std::move(order.slots));
  }

  void placePools(int64_t stage) {
    for (size_t pool = 0; pool < result.pools.size(); ++pool) {
      if (slots[stage][pool] == 0)
        continue;
      PlanPool &own = result.pools[pool];
      own.slots = slots[stage][pool];
      own.offset = ends[stage];
      ends[stage] += own.bytes * own.slots;
      for (int64_t buffer : buffersOfPool[pool])
        *result.offsets[buffer] += own.offset;
    }
  }

  int64_t poolBytes(int64_t stage) const {
    int64_t bytes = 0;
    for (size_t pool = 0; pool < result.pools.size(); ++pool)
      bytes += result.pools[pool].bytes * slots[stage][pool];
    return bytes;
  }

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  /// Makes a piece of each buffer that is neither scratch nor in a pool.
  void collectBuffers() {
    for (int64_t buffer = 0; buffer < int64_t(plan.buffers.size()); ++buffer) {
      const PlanBuffer &own = plan.buffers[buffer];
      bool isUsed = own.lasts() || !users[buffer].empty();
      if (!isUsed || isScratch(buffer) || result.poolOf[buffer] >= 0)
        continue;
      result.offsets[buffer] = 0;
      Piece piece{stagesOf(own.stages),
                  ArenaLayout::rounded(own.bytes),
                  {buffer},
                  isOfLate(buffer)};
      if (!piece.isLate)
        for (int64_t stage : piece.stages)
          lastingBytes[stage] += piece.bytes;
      (piece.isLate ? rest : lasting).push_back(std::move(piece));
    }
  }

  /// Makes a piece of each segment's scratch.
  void collectScratch() {
    std::vector<WrittenOutStep> steps = segmentSteps(plan);
    for (size_t number = 0; number < steps.size(); ++number) {
      Piece piece = scratchOf(std::move(steps[number]));
      piece.stages = stagesOf(plan.segments[number].stages);
      piece.isLate = isLate[number];
      if (!piece.buffers.empty())
        rest.push_back(std::move(piece));
    }
  }

  Piece scratchOf(WrittenOutStep step) {
    for (size_t i = 0; i < step.bufferOf.size(); ++i) {
      step.plan.buffers[i].kind = BufferKind::Temporary;
      if (!isScratch(step.bufferOf[i]))
        step.plan.buffers[i].bytes = 0;
    }
    HappensBefore before;
    if (HappensBefore::analyse(step.plan, before))
      return {}; // the proof refuses it
    ArenaPlan arena = planArena(step.plan, before);
    Piece piece;
    piece.bytes = arena.bytes;
    for (size_t i = 0; i < step.bufferOf.size(); ++i)
      if (isScratch(step.bufferOf[i]) && arena.offsets[i]) {
        result.offsets[step.bufferOf[i]] = *arena.offsets[i];
        piece.buffers.push_back(step.bufferOf[i]);
      }
    return piece;
  }

  /// Places a piece at the first offset that is free on all of its stages.
  void placeAfter(const Piece &piece, std::vector<int64_t> &taken) {
    int64_t begin = firstFree(piece, taken);
    for (int64_t stage : piece.stages)
      taken[stage] = begin + piece.bytes;
    for (int64_t buffer : piece.buffers)
      *result.offsets[buffer] += begin;
  }

  static int64_t firstFree(const Piece &piece,
                           const std::vector<int64_t> &taken) {
    int64_t begin = 0;
    for (int64_t stage : piece.stages)
      begin = std::max(begin, taken[stage]);
    return begin;
  }

  /// Gives pieces of several stages memory of their own, if they have fewer
  /// bytes than they may leave unused under them on some stage.
  void reserve() {
    auto base = [&](int64_t stage, bool isLate) {
      return lastingBytes[stage] + (isLate ? 0 : poolBytes(stage));
    };
    llvm::erase_if(rest, [&](const Piece &piece) {
      int64_t least = base(piece.stages.front(), piece.isLate), most = least;
      for (int64_t stage : piece.stages) {
        least = std::min(least, base(stage, piece.isLate));
        most = std::max(most, base(stage, piece.isLate));
      }
      bool isReserved = piece.bytes < most - least;
      if (isReserved)
        placeAfter(piece, ends);
      return isReserved;
    });
  }

  /// Places the rest after what their stages have at the time. Scratch of
  /// several segments may share its memory.
  void placeRest(std::vector<int64_t> lateEnds) {
    const std::vector<int64_t> poolEnds = ends;
    for (const Piece &piece : rest) {
      std::vector<int64_t> scratchEnds = piece.isLate ? lateEnds : poolEnds;
      std::vector<int64_t> &taken =
          isScratch(piece.buffers.front()) ? scratchEnds : lateEnds;
      placeAfter(piece, taken);
      for (int64_t stage : piece.stages)
        result.bytesOfStage[stage] =
            std::max(result.bytesOfStage[stage], taken[stage]);
    }
  }

  const Plan &plan;
  const bool shares, reserves;
  /// For each buffer, the segments that access it.
  std::vector<std::set<int64_t>> users;
  /// Whether a segment follows all micro-batches.
  std::vector<bool> isLate;
  std::vector<std::vector<int64_t>> buffersOfPool;
  /// For each stage, the slots of each pool.
  std::vector<std::vector<int64_t>> slots;
  /// The pieces that last a step, and the rest: buffers before scratch.
  std::vector<Piece> lasting, rest;
  /// For each stage, the first byte that is free, and the bytes that last.
  std::vector<int64_t> ends, lastingBytes;
  StageArena result;
};

} // namespace

/// Whether `other` is to be taken instead of `arena`. The largest stage
/// decides, but a thousandth of it is no difference.
static bool isSmaller(const StageArena &other, const StageArena &arena) {
  auto all = [](const StageArena &of) {
    return std::accumulate(of.bytesOfStage.begin(), of.bytesOfStage.end(),
                           int64_t(0));
  };
  int64_t allowed = arena.bytes + arena.bytes / 1000;
  return other.bytes <= allowed && all(other) < all(arena);
}

StageArena tpsp::planStageArena(const Plan &plan) {
  bool hasAlike = llvm::any_of(plan.segments, [&](const PlanSegment &segment) {
    return segment.chunk >= plan.numStages();
  });
  StageArena best =
      StageLayout(plan, /*shares=*/false, /*reserves=*/false).run();
  for (bool shares : {false, true}) {
    if (shares && !hasAlike)
      continue;
    StageArena other = StageLayout(plan, shares, /*reserves=*/true).run();
    if (isSmaller(other, best))
      best = std::move(other);
  }
  return best;
}
