/// Backends that are shared objects, because they need a vendor's libraries.
#ifndef TPSP_RUNTIME_BACKENDPLUGIN_H
#define TPSP_RUNTIME_BACKENDPLUGIN_H

#include "tpsp/Runtime/Backend.h"

namespace tpsp::rt {

/// What a backend's shared object exports, with C linkage, under the name
/// backendEntryName: its factory. False, and a sentence in `error`, if it does
/// not fit.
using BackendEntry = bool (*)(int version, BackendFactory &out,
                              std::string &error);
constexpr const char *backendEntryName = "tpsp_open_backend";

/// Raised whenever Backend.h, Transport.h or WorldConfig.h changes. It contains
/// the version of calls and commands.
constexpr int backendPluginVersion = 100 * TPSP_RT_ABI_VERSION + 5;

/// Registers the backend `name`: a built-in one, or that of libtpsp_<name>.so
/// beside this executable (its folder, or lib/ next to that), which is loaded
/// then. INVALID if there is no such backend; UNSUPPORTED, with what to
/// install, if its object is absent or cannot be loaded. Whether the machine
/// has the devices is found when a world is made.
Status loadBackend(const std::string &name);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_BACKENDPLUGIN_H
