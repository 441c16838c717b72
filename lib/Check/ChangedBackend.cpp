#include "ChangedBackend.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

using namespace tpsp;
using namespace tpsp::check;
using namespace tpsp::rt;

namespace {

/// Where the ranks that run a command meet, to read each other's memory.
class Meeting {
public:
  explicit Meeting(int64_t ranks) : ranks(ranks) {}

  /// Waits for these ranks; ABORTED if the world is aborted.
  Status wait() {
    std::unique_lock<std::mutex> lock(mutex);
    uint64_t turn = turns;
    if (++here == ranks) {
      here = 0;
      ++turns;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return isAborted || turns != turn; });
    return isAborted ? abortedByAnother() : Status();
  }
  void abort() {
    std::lock_guard<std::mutex> lock(mutex);
    isAborted = true;
    changed.notify_all();
  }

private:
  const int64_t ranks;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t here = 0;
  uint64_t turns = 0;
  bool isAborted = false;
};

/// The meetings of a world, one for each command.
class Meetings {
public:
  Meeting &of(int64_t command, const Plan &plan) {
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Meeting> &found = meetings[command];
    if (!found)
      found = std::make_unique<Meeting>(ranksOf(command, plan));
    if (isAborted)
      found->abort();
    return *found;
  }
  void abort() {
    std::lock_guard<std::mutex> lock(mutex);
    isAborted = true;
    for (auto &[command, meeting] : meetings)
      meeting->abort();
  }

private:
  /// The number of ranks that run a command: those of some stages, or all.
  static int64_t ranksOf(int64_t command, const Plan &plan) {
    const PlanSegment &segment = plan.segments[plan.commands[command].segment];
    int64_t stages = plan.numStages(), running = 0;
    for (int64_t stage = 0; stage < stages; ++stage)
      running += segment.runsOn(stage);
    return plan.numRanks() / stages * running;
  }

  std::mutex mutex;
  std::map<int64_t, std::unique_ptr<Meeting>> meetings;
  bool isAborted = false;
};

/// The state that the ranks of a world share.
struct Shared {
  Shared(const BackendContext &context, std::shared_ptr<ChangeSlot> slot)
      : mesh(context.mesh), slot(std::move(slot)),
        ranks(context.mesh.numRanks()) {}

  Meeting &meetingOf(const Call &call) {
    return meetings.of(call.id, *slot->plan);
  }

  const RankMesh &mesh;
  std::shared_ptr<ChangeSlot> slot;
  Meetings meetings;
  /// The CPU backend's ranks, whose memory all may read.
  std::vector<BackendRank *> ranks;
};

/// One tensor of a collective: a whole one, [outer, group, chunk], and a rank's
/// part of it, [outer, chunk] with runs `pitch` apart.
struct Moved {
  size_t source, destination;
  ShardLayout layout;
};

double load(const void *memory, int64_t dtype, int64_t i) {
  return loadNumber(memory, dtype, i);
}

void store(double value, int64_t dtype, void *memory, int64_t i) {
  if (isInteger(dtype))
    return storeInteger(int64_t(value), dtype, memory, i);
  storeFloat(value, dtype, memory, i);
}

class ChangedRank final : public BackendRank {
public:
  ChangedRank(Shared &shared, int64_t rank, std::unique_ptr<BackendRank> inner)
      : shared(shared), rank(rank), inner(std::move(inner)) {
    shared.ranks[rank] = this->inner.get();
  }

  Status run(Call &call) override {
    const ChangeSlot &slot = *shared.slot;
    if (slot.isEnded || (!slot.skipped.empty() && slot.skipped[call.id]))
      return {};
    TPSP_TRY(runOrChange(call));
    auto watched = slot.watched.find(call.id);
    return watched == slot.watched.end() ? Status()
                                         : watch(call, watched->second);
  }
  Status synchronize() override { return inner->synchronize(); }
  std::string streamActivity() override { return inner->streamActivity(); }
  Status beginOrder(const std::vector<GroupUse> &groups,
                    bool isFirst) override {
    return inner->beginOrder(groups, isFirst);
  }
  Status write(int64_t offset, const void *source, int64_t bytes) override {
    return inner->write(offset, source, bytes);
  }
  Status read(int64_t offset, void *destination, int64_t bytes) override {
    return inner->read(offset, destination, bytes);
  }
  void *hostAddress(int64_t offset) override {
    return inner->hostAddress(offset);
  }

private:
  Status runOrChange(Call &call) {
    const Change *change = shared.slot->current;
    if (!change)
      return inner->run(call);
    auto found = change->commands.find(call.id);
    return found == change->commands.end() ? inner->run(call)
                                           : runChanged(call, found->second);
  }

  /// Shows results that the command has completed. All ranks then know whether
  /// the step goes on.
  Status watch(const Call &call, const std::vector<size_t> &results) {
    ChangeSlot &slot = *shared.slot;
    for (size_t result : results)
      TPSP_TRY(slot.see(*this, rank, result));
    TPSP_TRY(shared.meetingOf(call).wait());
    if (rank == 0)
      for (size_t result : results)
        slot.isEnded = slot.isEnded || !slot.goesOn(result);
    return shared.meetingOf(call).wait();
  }

  Status runChanged(Call &call, const RowChange &change) {
    if (const auto *c = std::get_if<AllReduceCommand>(&call.command))
      return reduce(call, *c, change);
    if (const auto *c = std::get_if<ReduceScatterCommand>(&call.command))
      return reduceScatter(call, *c, change);
    if (const auto *c = std::get_if<AllGatherCommand>(&call.command))
      return gather(call, *c, change);
    return {TPSP_RT_UNSUPPORTED, "this collective cannot be changed"};
  }

  Status reduce(Call &call, const AllReduceCommand &c,
                const RowChange &change) {
    std::vector<std::vector<double>> sums;
    TPSP_TRY(shared.meetingOf(call).wait());
    for (size_t i = 0; i < c.counts.size(); ++i)
      TPSP_TRY(combine(call.buffers[2 * i], c.counts[i], c.dtype,
                       c.reduction == TPSP_RT_MAX, change,
                       sums.emplace_back()));
    TPSP_TRY(shared.meetingOf(call).wait());
    for (size_t i = 0; i < c.counts.size(); ++i)
      for (int64_t k = 0; k < c.counts[i]; ++k)
        store(sums[i][k], c.dtype, hostAddress(call.buffers[2 * i + 1]), k);
    return {};
  }

  Status reduceScatter(Call &call, const ReduceScatterCommand &c,
                       const RowChange &change) {
    std::vector<std::vector<double>> sums;
    TPSP_TRY(shared.meetingOf(call).wait());
    for (size_t i = 0; i < c.numTensors(); ++i) {
      const ShardLayout &layout = c.tensor(i);
      TPSP_TRY(combine(
          call.buffers[2 * i], layout.outer * call.group.size() * layout.chunk,
          c.dtype, c.reduction == TPSP_RT_MAX, change, sums.emplace_back()));
    }
    TPSP_TRY(shared.meetingOf(call).wait());
    for (size_t i = 0; i < c.numTensors(); ++i)
      keepPart(call, c, i, sums[i]);
    return {};
  }

  void keepPart(const Call &call, const ReduceScatterCommand &c, size_t tensor,
                const std::vector<double> &whole) {
    const ShardLayout &layout = c.tensor(tensor);
    void *target = hostAddress(call.buffers[2 * tensor + 1]);
    for (int64_t o = 0; o < layout.outer; ++o)
      for (int64_t k = 0; k < layout.chunk; ++k) {
        int64_t from =
            (o * call.group.size() + call.group.self) * layout.chunk + k;
        store(whole[from], c.dtype, target, o * layout.runPitch() + k);
      }
  }

  /// `out` becomes the sum, over the groups of the change's axes, of `count`
  /// elements at `offset`, times its factor.
  Status combine(int64_t offset, int64_t count, int64_t dtype, bool isMaximum,
                 const RowChange &change, std::vector<double> &out) {
    RankGroup group;
    TPSP_TRY(shared.mesh.group(rank, change.axes, group));
    out.assign(count, 0);
    bool isFirst = true;
    for (int64_t other : group.ranks) {
      const void *memory = shared.ranks[other]->hostAddress(offset);
      for (int64_t k = 0; k < count; ++k) {
        double value = load(memory, dtype, k);
        out[k] = isFirst     ? value
                 : isMaximum ? std::max(out[k], value)
                             : out[k] + value;
      }
      isFirst = false;
    }
    for (double &value : out)
      value *= change.factor;
    return {};
  }

  /// Every place gets the part of a rank: its own one without axes; with axes,
  /// those of the ranks in the reverse order. Or only its own place gets any.
  Status gather(Call &call, const AllGatherCommand &c,
                const RowChange &change) {
    TPSP_TRY(shared.meetingOf(call).wait());
    std::vector<std::vector<double>> wholes;
    for (size_t i = 0; i < c.numTensors(); ++i)
      wholes.push_back(gathered(call, c, i, change));
    TPSP_TRY(shared.meetingOf(call).wait());
    for (size_t i = 0; i < c.numTensors(); ++i)
      for (size_t k = 0; k < wholes[i].size(); ++k)
        store(wholes[i][k], c.dtype, hostAddress(call.buffers[2 * i + 1]), k);
    return {};
  }

  std::vector<double> gathered(const Call &call, const AllGatherCommand &c,
                               size_t tensor, const RowChange &change) {
    const ShardLayout &layout = c.tensor(tensor);
    int64_t ranks = call.group.size();
    std::vector<double> whole(layout.outer * ranks * layout.chunk);
    for (int64_t r = 0; r < ranks; ++r) {
      if (change.hasOwnAlone && r != call.group.self)
        continue;
      int64_t from =
          change.axes.empty() ? rank : call.group.ranks[ranks - 1 - r];
      const void *part =
          shared.ranks[from]->hostAddress(call.buffers[2 * tensor]);
      for (int64_t o = 0; o < layout.outer; ++o)
        for (int64_t k = 0; k < layout.chunk; ++k)
          whole[(o * ranks + r) * layout.chunk + k] =
              change.factor * load(part, c.dtype, o * layout.runPitch() + k);
    }
    return whole;
  }

  Shared &shared;
  const int64_t rank;
  std::unique_ptr<BackendRank> inner;
};

class ChangedBackend final : public Backend {
public:
  ChangedBackend(const BackendContext &context,
                 std::shared_ptr<ChangeSlot> slot,
                 std::unique_ptr<Backend> inner)
      : shared(context, std::move(slot)), inner(std::move(inner)) {}

  Status createRank(int64_t rank, std::unique_ptr<BackendRank> &out) override {
    std::unique_ptr<BackendRank> made;
    TPSP_TRY(inner->createRank(rank, made));
    out = std::make_unique<ChangedRank>(shared, rank, std::move(made));
    return {};
  }
  void abort() override {
    shared.meetings.abort();
    inner->abort();
  }
  void runFinished() override { inner->runFinished(); }

private:
  Shared shared;
  std::unique_ptr<Backend> inner;
};

} // namespace

std::string
tpsp::check::registerChangedBackend(std::shared_ptr<ChangeSlot> slot) {
  static std::atomic<int> made{0};
  registerBuiltinBackends();
  std::string name = fmt::format("cpu-changed-{}", made++);
  registerBackend(name,
                  [slot](const BackendContext &context,
                         std::unique_ptr<Backend> &out) -> Status {
                    BackendFactory factory;
                    TPSP_TRY(findBackend("cpu", factory));
                    std::unique_ptr<Backend> inner;
                    TPSP_TRY(factory(context, inner));
                    out = std::make_unique<ChangedBackend>(context, slot,
                                                           std::move(inner));
                    return {};
                  });
  return name;
}
