/// Backends in shared objects of their own, because they need a vendor's
/// libraries. Driver/Plugins/BackendPlugin.cpp lists them, and
/// tools/common/ToolOptions.cpp accepts their names.
#ifndef TPSP_RUNTIME_BACKENDPLUGIN_H
#define TPSP_RUNTIME_BACKENDPLUGIN_H

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// The factory function that a backend's shared object exports, with C linkage,
/// under the name backendEntryName. Returns false, and a sentence in `error`,
/// if the versions do not fit.
using BackendEntry = bool (*)(int version, BackendFactory &out,
                              std::string &error);
constexpr const char *backendEntryName = "tpsp_open_backend";

/// Raised whenever Backend.h, Transport.h or WorldConfig.h changes. The number
/// includes the version of calls and commands.
constexpr int backendPluginVersion = 100 * TPSP_RT_ABI_VERSION + 5;

/// Registers the backend `name`. If it is not built in, loads libtpsp_<name>.so
/// from the executable's folder or from lib/ next to that folder. INVALID if
/// there is no such backend. UNSUPPORTED, with what to install, if its object
/// is absent or cannot be loaded. Missing devices are reported when a world is
/// created.
Status loadBackend(const std::string &name);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_BACKENDPLUGIN_H
