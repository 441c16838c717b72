/// Makes a checked Call from a plan's command.
#ifndef TPSP_RUNTIME_CORE_PREPARECALL_H
#define TPSP_RUNTIME_CORE_PREPARECALL_H

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// A micro-batch, and where its memory is.
struct MicroBatchPlace {
  int64_t microBatch = 0;
  /// Its slot in each of the plan's pools (Abi/StepOrder.h). Not owned; may be
  /// null if there are no pools.
  const std::vector<int64_t> *slots = nullptr;

  int64_t numPools() const { return slots ? int64_t(slots->size()) : 0; }
  /// The slot in a pool of the plan; the micro-batch itself for -1.
  int64_t numberIn(int64_t pool) const {
    return pool < 0 ? microBatch : (*slots)[pool];
  }
};

/// Decodes `command` for rank `rank` of the world and for a micro-batch. Checks
/// the parameters, the mesh axes, the number of buffers and their ranges in the
/// arena. INVALID, with the fault; `out.kind` and `out.name` are set even then.
Status prepareCall(const BackendContext &world, int64_t rank,
                   const MicroBatchPlace &place, CallKind kind,
                   const tpsp_rt_command &command, Call &out);

/// A number that differs, almost certainly, wherever the command's buffers do.
uint64_t placeKey(const MicroBatchPlace &place, const tpsp_rt_command &command);

/// Whether `call` was prepared from this very command, and for this place. The
/// address alone does not tell: a plan that is loaded after another was
/// unloaded may have its commands at the same addresses.
bool isPreparedFrom(const Call &call, const MicroBatchPlace &place,
                    CallKind kind, const tpsp_rt_command &command);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PREPARECALL_H
