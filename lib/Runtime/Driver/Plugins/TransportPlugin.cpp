#include "tpsp/Runtime/TransportPlugin.h"

#include "SharedObject.h"

#include <fmt/format.h>

#include <cstdlib>

using namespace tpsp;
using namespace tpsp::rt;

static constexpr const char *objectName = "libtpsp_mpi.so";

bool tpsp::rt::isUnderLauncher() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

static Status unsupported(const std::string &why) {
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("started by mpirun, but {}; run without mpirun to have "
                      "the ranks as threads",
                      why)};
}

Status tpsp::rt::openTransport(Transport *&out) {
  // Open MPI loads its own parts as objects that need its symbols to be global.
  SharedObjectEntry found =
      loadSharedObject(objectName, transportEntryName, SymbolScope::Global);
  if (found.isAbsent)
    return unsupported(found.problem + " (it is built where CMake finds MPI)");
  if (!found.address)
    return unsupported(found.problem);
  std::string error;
  out =
      reinterpret_cast<TransportEntry>(found.address)(transportVersion, error);
  return out ? Status() : unsupported(error);
}
