/// The devices of this machine that a backend can use.
#ifndef TPSP_RUNTIME_DEVICEINVENTORY_H
#define TPSP_RUNTIME_DEVICEINVENTORY_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>

namespace tpsp::rt {

/// Describes the machine's devices. If there are several, the first stands for
/// all.
struct DeviceInventory {
  int64_t count = 0;
  std::string name;
  /// Streaming multiprocessors of one device.
  int64_t cores = 0;
  int64_t memoryBytes = 0;
  /// Whether a library is installed that computes attention in one call.
  bool hasAttention = false;
};

/// The function that a backend's shared object exports, with C linkage, under
/// the name deviceInventoryEntryName. Returns false, and a sentence in `error`,
/// if there is no device.
using DeviceInventoryEntry = bool (*)(DeviceInventory &out, std::string &error);
constexpr const char *deviceInventoryEntryName = "tpsp_list_devices";

/// Loads the backend (BackendPlugin.h) and lists its devices. UNSUPPORTED if
/// the backend has no devices of its own, as "cpu".
Status listDevices(const std::string &backend, DeviceInventory &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DEVICEINVENTORY_H
