/// The groups of ranks that communicate in a step of a plan with stages.
#ifndef TPSP_RUNTIME_CORE_STAGEGROUPS_H
#define TPSP_RUNTIME_CORE_STAGEGROUPS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/Backend.h"

#include <vector>

namespace tpsp::rt {

/// Sets `out` to the uses from the view of rank `rank` of `mesh`, in the order
/// of the plan's commands, each once. A group of two ranks that send and
/// receive is one for each direction. Takes time linear in the commands.
Status stageGroups(const Plan &plan, const RankMesh &mesh, int64_t rank,
                   std::vector<GroupUse> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_STAGEGROUPS_H
