#include "StageGroups.h"

#include <map>

namespace tpsp::rt {
namespace {

/// The first entry of a key.
enum Kind : int64_t { Collective, Transfer };

class Groups {
public:
  Groups(const Plan &plan, const RankMesh &mesh, int64_t rank,
         std::vector<GroupUse> &out)
      : plan(plan), mesh(mesh), rank(rank),
        stage(mesh.coordinates(rank)[size_t(plan.stageAxis)]), out(out) {}

  Status add(const PlanCommand &command) {
    const PlanSegment &segment = plan.segments[size_t(command.segment)];
    if (!segment.isTransfer())
      return command.kind == CommandKind::Collective ? addCollective(command)
                                                     : Status();
    return segment.work == SegmentWork::Send ? addTransfer(command, segment)
                                             : Status();
  }

private:
  /// Ranks of stages that do not run the command have a group, too: another
  /// plan may have the same key on other stages.
  Status addCollective(const PlanCommand &command) {
    const std::vector<int64_t> axes(command.collective.axes.begin(),
                                    command.collective.axes.end());
    GroupUse &use = at({Collective, command.stream}, axes);
    use.stream = command.stream;
    return mesh.group(rank, axes, use.group);
  }

  /// A stage that sends, and the one that receives, on the same stream.
  Status addTransfer(const PlanCommand &command, const PlanSegment &send) {
    int64_t from = send.stages.front(),
            to = plan.segments[size_t(send.peer)].stages.front();
    GroupUse &use = at({Transfer, command.stream, from, to}, {});
    use.stream = command.stream;
    use.isTransfer = true;
    if (stage != from && stage != to)
      return {};
    RankGroup stages;
    TPSP_TRY(mesh.group(rank, {plan.stageAxis}, stages));
    use.group.ranks = {stages.ranks[size_t(from)], stages.ranks[size_t(to)]};
    use.group.self = stage == from ? 0 : 1;
    return {};
  }

  GroupUse &at(std::vector<int64_t> key, const std::vector<int64_t> &axes) {
    key.insert(key.end(), axes.begin(), axes.end());
    auto [known, isNew] = places.emplace(key, out.size());
    if (isNew)
      out.emplace_back().key = std::move(key);
    return out[known->second];
  }

  const Plan &plan;
  const RankMesh &mesh;
  const int64_t rank, stage;
  std::vector<GroupUse> &out;
  /// The place of each key in `out`.
  std::map<std::vector<int64_t>, size_t> places;
};

} // namespace

Status stageGroups(const Plan &plan, const RankMesh &mesh, int64_t rank,
                   std::vector<GroupUse> &out) {
  Groups groups(plan, mesh, rank, out);
  for (const PlanCommand &command : plan.commands)
    TPSP_TRY(groups.add(command));
  return {};
}

} // namespace tpsp::rt
