/// Makes a checked Call from a plan's command.
#ifndef TPSP_RUNTIME_CORE_PREPARECALL_H
#define TPSP_RUNTIME_CORE_PREPARECALL_H

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// Decodes `command` for rank `rank` of the world and for a micro-batch. Checks
/// the parameters, the mesh axes, the number of buffers and their ranges in the
/// arena. INVALID, with the fault; `out.kind` and `out.name` are set even then.
Status prepareCall(const BackendContext &world, int64_t rank,
                   int64_t microBatch, CallKind kind,
                   const tpsp_rt_command &command, Call &out);

/// Whether `call` was prepared from this very command. The address alone does
/// not tell: a plan that is loaded after another was unloaded may have its
/// commands at the same addresses.
bool isPreparedFrom(const Call &call, CallKind kind,
                    const tpsp_rt_command &command);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PREPARECALL_H
