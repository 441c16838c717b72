#include "RankProof.h"

#include "tpsp/Algebra/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace tpsp;

namespace {

/// Runs the ranks' commands as far as possible, without time. A command is done
/// when its stream has reached it and, for a wait, when its event has been
/// recorded. A collective is done when all of its group have reached it.
class RankRun {
public:
  explicit RankRun(const std::vector<Plan> &plans) : plans(plans) {
    for (size_t rank = 0; rank < plans.size(); ++rank) {
      const Plan &plan = plans[rank];
      ranks.emplace_back();
      ranks.back().streams.resize(plan.numStreams);
      ranks.back().recorded.assign(plan.numEvents, false);
      for (auto [i, command] : llvm::enumerate(plan.commands))
        ranks.back().streams[command.stream].push_back(i);
      ranks.back().next.assign(plan.numStreams, 0);
    }
  }

  std::optional<StepFault> run() {
    // Each round visits the ranks with streams that may go on.
    for (size_t rank = 0; rank < plans.size(); ++rank)
      awake.push_back(rank);
    while (!awake.empty()) {
      int64_t rank = awake.back();
      awake.pop_back();
      if (auto fault = advance(rank))
        return fault;
    }
    return findStuck();
  }

private:
  struct RankState {
    std::vector<std::vector<int64_t>> streams;
    std::vector<size_t> next;
    std::vector<bool> recorded;
  };
  /// The ranks that have reached a collective.
  struct Meeting {
    /// Rank and command.
    std::vector<std::pair<int64_t, int64_t>> members;
  };
  /// The sorted axes of a communicator, and the first rank of a group.
  using Communicator = std::pair<std::vector<AxisId>, int64_t>;

  const PlanCommand &commandOf(int64_t rank, int64_t number) const {
    return plans[rank].commands[number];
  }

  Communicator communicatorOf(int64_t rank, const CollectiveWork &work) const {
    std::vector<AxisId> axes(work.axes.begin(), work.axes.end());
    llvm::sort(axes);
    const Mesh mesh(plans[rank].mesh);
    // Ranks are numbered row-major, the first axis slowest.
    int64_t first = rank, stride = 1;
    for (AxisId axis = mesh.numAxes(); axis-- > 0;) {
      if (llvm::is_contained(axes, axis))
        first -= rank / stride % mesh.size(axis) * stride;
      stride *= mesh.size(axis);
    }
    return {std::move(axes), first};
  }

  static bool isSame(const PlanCommand &a, const PlanCommand &b) {
    return a.collective.kind == b.collective.kind &&
           a.collective.axes == b.collective.axes &&
           a.collective.bytes == b.collective.bytes && a.dtype == b.dtype;
  }

  std::optional<StepFault> advance(int64_t rank) {
    RankState &state = ranks[rank];
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t stream = 0; stream < state.streams.size(); ++stream)
        while (state.next[stream] < state.streams[stream].size()) {
          int64_t number = state.streams[stream][state.next[stream]];
          const PlanCommand &command = commandOf(rank, number);
          if (command.kind == CommandKind::EventWait &&
              !state.recorded[command.event])
            break;
          if (command.kind == CommandKind::Collective &&
              command.collective.group > 1) {
            if (auto fault = arrive(rank, number))
              return fault;
            break; // the last to arrive lets all go on
          }
          if (command.kind == CommandKind::EventRecord)
            state.recorded[command.event] = true;
          ++state.next[stream];
          progress = true;
        }
    }
    return std::nullopt;
  }

  std::optional<StepFault> arrive(int64_t rank, int64_t number) {
    const PlanCommand &command = commandOf(rank, number);
    Meeting &meeting = meetings[communicatorOf(rank, command.collective)];
    for (auto [other, theirs] : meeting.members) {
      if (other == rank && theirs == number)
        return std::nullopt; // still waiting
      if (other == rank)
        return StepFault{
            llvm::formatv("rank {0} comes to {1} while it still waits in {2}, "
                          "with the same ranks",
                          rank, command.name(),
                          commandOf(other, theirs).name()),
            number, theirs};
      if (!isSame(command, commandOf(other, theirs)))
        return StepFault{
            llvm::formatv("rank {0} calls {1} ({2} bytes) where rank {3} calls "
                          "{4} ({5} bytes)",
                          rank, command.name(), command.collective.bytes, other,
                          commandOf(other, theirs).name(),
                          commandOf(other, theirs).collective.bytes),
            number, theirs};
    }
    meeting.members.push_back({rank, number});
    if (int64_t(meeting.members.size()) < command.collective.group)
      return std::nullopt;
    for (auto [member, theirs] : meeting.members) {
      ++ranks[member].next[commandOf(member, theirs).stream];
      awake.push_back(member);
    }
    meeting.members.clear();
    return std::nullopt;
  }

  /// Returns a command that is stuck. It is a collective if one is stuck, since
  /// waits are stuck because of collectives.
  std::optional<StepFault> findStuck() const {
    std::optional<StepFault> stuck;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (size_t stream = 0; stream < ranks[rank].streams.size(); ++stream) {
        size_t next = ranks[rank].next[stream];
        if (next == ranks[rank].streams[stream].size())
          continue;
        int64_t number = ranks[rank].streams[stream][next];
        bool isCollective =
            commandOf(rank, number).kind == CommandKind::Collective;
        if (stuck && !isCollective)
          continue;
        stuck = StepFault{
            llvm::formatv("rank {0} never gets past {1}, for which other ranks "
                          "or streams wait in their turn",
                          rank, commandOf(rank, number).name()),
            number};
        if (isCollective)
          return stuck;
      }
    return stuck;
  }

  const std::vector<Plan> &plans;
  std::vector<RankState> ranks;
  std::vector<int64_t> awake;
  std::map<Communicator, Meeting> meetings;
};

} // namespace

std::optional<StepFault> tpsp::proveRanks(const std::vector<Plan> &plans) {
  for (auto [rank, plan] : llvm::enumerate(plans)) {
    if (plan.numRanks() != int64_t(plans.size()))
      return StepFault{llvm::formatv("{0} ranks on a mesh of {1}", plans.size(),
                                     plan.numRanks())};
    for (auto [i, command] : llvm::enumerate(plan.commands))
      if (command.stream < 0 || command.stream >= plan.numStreams ||
          (command.isEvent() &&
           (command.event < 0 || command.event >= plan.numEvents)))
        return StepFault{
            llvm::formatv("rank {0}: no such stream or event", rank),
            int64_t(i)};
  }
  return RankRun(plans).run();
}
