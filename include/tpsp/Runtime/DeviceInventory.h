/// The devices that a backend's machine has.
#ifndef TPSP_RUNTIME_DEVICEINVENTORY_H
#define TPSP_RUNTIME_DEVICEINVENTORY_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <string>

namespace tpsp::rt {

/// The first of several devices stands for all.
struct DeviceInventory {
  int64_t count = 0;
  std::string name;
  /// Streaming multiprocessors of one.
  int64_t cores = 0;
  int64_t memoryBytes = 0;
  /// Whether there is a library that does attention in one call.
  bool hasAttention = false;
};

/// What the object of a backend with devices exports, with C linkage, under the
/// name deviceInventoryEntryName. False, and a sentence in `error`, if it sees
/// none.
using DeviceInventoryEntry = bool (*)(DeviceInventory &out, std::string &error);
constexpr const char *deviceInventoryEntryName = "tpsp_list_devices";

/// Loads the backend (BackendPlugin.h) and asks it. UNSUPPORTED if it has no
/// devices of its own, as "cpu".
Status listDevices(const std::string &backend, DeviceInventory &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DEVICEINVENTORY_H
