/// What a plan's shared object may be, checked before the dynamic linker sees
/// it.
///
/// The linker runs code, loads other files and writes to memory as an object's
/// tables tell it, and believes them. A plan needs little of that: segments, an
/// export, calls of the runtime and addresses of its own constants. All else is
/// refused.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H
#define TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H

#include "tpsp/Abi/Status.h"

#include <string_view>

namespace tpsp::rt {

/// INVALID, with what is wrong as a clause, unless `object` is a shared object
/// for this machine that
///
/// - asks for no other library and names no folder to look for one in,
/// - has nothing that runs when it is loaded,
/// - has no memory that is both writable and executable,
/// - exports stepSymbol, and
/// - has tables that lie in it and relocations that write to its own data.
Status checkPlanObject(std::string_view object);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_PLANOBJECT_H
