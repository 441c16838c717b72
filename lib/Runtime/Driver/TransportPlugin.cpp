#include "tpsp/Runtime/TransportPlugin.h"

#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace tpsp::rt;

static constexpr const char *objectName = "libtpsp_mpi.so";

bool tpsp::rt::isUnderLauncher() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

/// The folder of this executable, with a slash at its end.
static std::string executableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string text(path, length > 0 ? length : 0);
  return text.substr(0, text.rfind('/') + 1);
}

static Status unsupported(const std::string &why) {
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("started by mpirun, but {}; run without mpirun to have "
                      "the ranks as threads",
                      why)};
}

Status tpsp::rt::openTransport(Transport *&out) {
  std::string folder = executableFolder();
  void *object = nullptr;
  for (const char *below : {"", "../lib/"})
    if (std::string path = folder + below + objectName;
        access(path.c_str(), R_OK) == 0) {
      object = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (!object)
        return unsupported(
            fmt::format("{} cannot be loaded: {}", path, dlerror()));
      break;
    }
  if (!object)
    return unsupported(fmt::format("{} is not beside {} (it is built where "
                                   "CMake finds MPI)",
                                   objectName, folder));
  auto entry =
      reinterpret_cast<TransportEntry>(dlsym(object, transportEntryName));
  if (!entry)
    return unsupported(fmt::format("{} is no transport", objectName));
  std::string error;
  out = entry(transportVersion, error);
  return out ? Status() : unsupported(error);
}
