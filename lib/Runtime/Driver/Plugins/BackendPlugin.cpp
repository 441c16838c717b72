#include "tpsp/Runtime/BackendPlugin.h"

#include "SharedObject.h"

#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/DeviceInventory.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// A backend in a shared object, and what it needs.
struct BackendPlugin {
  const char *name, *object, *build, *libraries;
};

constexpr BackendPlugin plugins[] = {
    {"cuda", "libtpsp_cuda.so",
     "it is built where CMake finds the CUDA 13 toolkit and NCCL",
     "install CUDA 13's libraries (cudart, cuBLASLt) and NCCL 2, or name their "
     "folder in LD_LIBRARY_PATH"},
};

Status load(const BackendPlugin &plugin) {
  auto unsupported = [&](const std::string &why, const char *remedy) -> Status {
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("--backend {}: {} ({})", plugin.name, why, remedy)};
  };
  SharedObjectEntry found =
      loadSharedObject(plugin.object, backendEntryName, SymbolScope::Local);
  if (!found.address)
    return unsupported(found.problem,
                       found.isAbsent ? plugin.build : plugin.libraries);
  BackendFactory factory;
  std::string error;
  if (!reinterpret_cast<BackendEntry>(found.address)(backendPluginVersion,
                                                     factory, error))
    return unsupported(error, "install both from one build");
  registerBackend(plugin.name, std::move(factory));
  return {};
}

} // namespace

Status loadBackend(const std::string &name) {
  registerBuiltinBackends();
  std::vector<std::string> known = backendNames();
  if (std::find(known.begin(), known.end(), name) != known.end())
    return {};
  for (const BackendPlugin &plugin : plugins)
    if (name == plugin.name)
      return load(plugin);
  BackendFactory unused;
  return findBackend(name, unused);
}

Status listDevices(const std::string &backend, DeviceInventory &out) {
  TPSP_TRY(loadBackend(backend));
  for (const BackendPlugin &plugin : plugins) {
    if (backend != plugin.name)
      continue;
    SharedObjectEntry found = loadSharedObject(
        plugin.object, deviceInventoryEntryName, SymbolScope::Local);
    std::string error = found.problem;
    if (found.address &&
        reinterpret_cast<DeviceInventoryEntry>(found.address)(out, error))
      return {};
    return {TPSP_RT_UNSUPPORTED, error};
  }
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("--backend {} has no devices of its own", backend)};
}

} // namespace tpsp::rt
