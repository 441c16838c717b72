/// Which GPU each rank uses.
///
/// Threads of one process: a GPU for each rank if there are enough, else all
/// ranks share the first. Processes (mpirun): a GPU each, the ranks of a host
/// in order.
#ifndef TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H
#define TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H

#include "CudaCheck.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/DeviceInventory.h"

#include <cstdint>

namespace tpsp::rt {

struct DeviceChoice {
  /// GPUs that this process sees.
  int count = 0;
  /// Processes: this rank's GPU. Threads: see deviceOf.
  int own = 0;
  bool isProcess = false;
  /// Several ranks of this process on one GPU: collectives are copies there.
  bool isShared = false;
  /// Collectives go through NCCL, whose id all ranks have.
  bool usesNccl = false;
  ncclUniqueId id = {};

  int deviceOf(int64_t rank) const {
    return isProcess ? own : isShared ? 0 : int(rank);
  }
};

/// All processes together. UNSUPPORTED, with a way out, if there is no driver,
/// no GPU, too old a GPU, too few of them, or too little memory.
Status chooseDevices(const BackendContext &world, DeviceChoice &out);

/// UNSUPPORTED likewise if there is no driver or no GPU.
Status takeInventory(DeviceInventory &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_DEVICECHOICE_H
