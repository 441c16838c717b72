/// Chooses the GPU of each rank.
///
/// Threads of one process get a GPU each if there are enough; otherwise all
/// ranks share the first. Processes (mpirun) get a GPU each, in the order of
/// the ranks of a host.
#ifndef TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H
#define TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H

#include "CudaCheck.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/DeviceInventory.h"

#include <cstdint>

namespace tpsp::rt {

struct DeviceChoice {
  /// The number of GPUs that this process sees.
  int count = 0;
  /// With processes: this rank's GPU. With threads: see deviceOf.
  int own = 0;
  bool isProcess = false;
  /// Whether several ranks of this process share a GPU; their collectives are
  /// copies.
  bool isShared = false;
  /// Whether collectives use NCCL, whose id all ranks have.
  bool usesNccl = false;
  ncclUniqueId id = {};

  int deviceOf(int64_t rank) const {
    return isProcess ? own : isShared ? 0 : int(rank);
  }
};

/// Called by all processes together. UNSUPPORTED, with a way out, if there is
/// no driver, no GPU, too old a GPU, too few GPUs, or too little memory.
Status chooseDevices(const BackendContext &world, DeviceChoice &out);

/// UNSUPPORTED, with a way out, if there is no driver or no GPU.
Status takeInventory(DeviceInventory &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H
