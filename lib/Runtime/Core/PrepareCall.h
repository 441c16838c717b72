/// From a plan's command to a checked Call.
#ifndef TPSP_RUNTIME_CORE_PREPARECALL_H
#define TPSP_RUNTIME_CORE_PREPARECALL_H

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// Decodes `command` for rank `rank` of the world and checks all of it. Checked
/// are the parameters, the mesh axes, the number of buffers and their ranges in
/// the arena. INVALID with what is wrong; `out.kind` and `out.name` are set
/// even then.
Status prepareCall(const BackendContext &world, int64_t rank, CallKind kind,
                   const tpsp_rt_command &command, Call &out);

/// Whether `call` was prepared from this very command. A plan's commands are
/// constant, but another plan, loaded after the first is gone, may have its
/// commands at the same addresses.
bool isPreparedFrom(const Call &call, CallKind kind,
                    const tpsp_rt_command &command);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PREPARECALL_H
