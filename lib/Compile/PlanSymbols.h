/// Checks which functions a plan's code calls.
///
/// LLVM's code generator calls functions that no pass wrote: memset, expf, and
/// conversions of narrow numbers, which only some compilers' libraries have. A
/// plan that calls a missing function would fail only when it is loaded,
/// perhaps on another machine. So such a plan is not written.
#ifndef TPSP_COMPILE_PLANSYMBOLS_H
#define TPSP_COMPILE_PLANSYMBOLS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace tpsp {

/// Fails with the names of the undefined symbols of an object that a plan may
/// not call. It may call the runtime (calls.def) and the libraries of every C++
/// program: libc, libm and libgcc_s.
llvm::Error checkPlanSymbols(llvm::MemoryBufferRef object);

} // namespace tpsp

#endif // TPSP_COMPILE_PLANSYMBOLS_H
