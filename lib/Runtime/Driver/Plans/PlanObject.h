/// Checks a plan's shared object before the dynamic linker loads it.
///
/// The linker trusts an object's tables: they can make it run code, load other
/// files and write to memory. A plan needs little of that: segments, an export,
/// calls of the runtime and addresses of its own constants. Everything else is
/// refused.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H
#define TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H

#include "tpsp/Abi/Status.h"

#include <string_view>

namespace tpsp::rt {

/// INVALID, with the fault as a clause, unless `object` is a shared object for
/// this machine that
///
/// - needs no other library and names no folder to search for one,
/// - has no code that runs when it is loaded,
/// - has no memory that is both writable and executable,
/// - exports stepSymbol, and
/// - has its tables within itself, and relocations that write only to its own
/// data.
Status checkPlanObject(std::string_view object);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H
