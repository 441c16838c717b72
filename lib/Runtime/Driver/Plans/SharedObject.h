/// Shared objects that belong to this program and are loaded when they are
/// needed, so that nothing else needs their libraries.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_SHAREDOBJECT_H
#define TPSP_RUNTIME_DRIVER_PLANS_SHAREDOBJECT_H

#include <string>

namespace tpsp::rt {

/// Where an object's entry is, or why there is none.
struct SharedObjectEntry {
  void *address = nullptr;
  /// The object is not there at all.
  bool isAbsent = false;
  /// In clauses, if there is no address.
  std::string problem;
};

enum class SymbolScope {
  Local,
  Global ///< for libraries that load further parts of themselves
};

/// Loads `object` ("libtpsp_mpi.so") from beside this executable (its folder,
/// or lib/ next to that), for the rest of the process, and finds `entry`.
SharedObjectEntry loadSharedObject(const char *object, const char *entry,
                                   SymbolScope scope);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_SHAREDOBJECT_H
