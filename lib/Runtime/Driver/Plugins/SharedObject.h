/// Loads shared objects of this program when they are needed, so that nothing
/// else needs their libraries.
#ifndef TPSP_RUNTIME_DRIVER_PLUGINS_SHAREDOBJECT_H
#define TPSP_RUNTIME_DRIVER_PLUGINS_SHAREDOBJECT_H

#include <string>

namespace tpsp::rt {

/// The address of an object's entry, or why there is none.
struct SharedObjectEntry {
  void *address = nullptr;
  /// Whether the object's file is missing.
  bool isAbsent = false;
  /// The reason, in clauses, if there is no address.
  std::string problem;
};

enum class SymbolScope {
  Local,
  Global ///< for libraries that load further parts of themselves
};

/// Loads `object` ("libtpsp_mpi.so") from the executable's folder, or from lib/
/// next to that folder, and finds `entry`. The object stays loaded until the
/// process ends.
SharedObjectEntry loadSharedObject(const char *object, const char *entry,
                                   SymbolScope scope);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLUGINS_SHAREDOBJECT_H
