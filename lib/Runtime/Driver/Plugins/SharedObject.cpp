#include "SharedObject.h"

#include <fmt/format.h>

#include <climits>
#include <dlfcn.h>
#include <unistd.h>

namespace tpsp::rt {
namespace {

/// The folder of this executable, with a final slash; empty if the system does
/// not say.
std::string executableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string text(path, length > 0 ? size_t(length) : 0);
  return text.substr(0, text.rfind('/') + 1);
}

} // namespace

SharedObjectEntry loadSharedObject(const char *object, const char *entry,
                                   SymbolScope scope) {
  std::string folder = executableFolder(), path;
  // A name without a folder would be searched for in the current folder.
  if (folder.empty())
    return {
        nullptr, true,
        fmt::format("{} is beside this program, whose folder /proc/self/exe "
                    "does not say",
                    object)};
  for (const char *below : {"", "../lib/"})
    if (path.empty() && access((folder + below + object).c_str(), R_OK) == 0)
      path = folder + below + object;
  if (path.empty())
    return {nullptr, true, fmt::format("{} is not beside {}", object, folder)};
  void *loaded = dlopen(
      path.c_str(),
      RTLD_NOW | (scope == SymbolScope::Global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!loaded)
    return {nullptr, false,
            fmt::format("{} cannot be loaded: {}", path, dlerror())};
  if (void *address = dlsym(loaded, entry))
    return {address, false, ""};
  return {nullptr, false, fmt::format("{} has no {}", path, entry)};
}

} // namespace tpsp::rt
