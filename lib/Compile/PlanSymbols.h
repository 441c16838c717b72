/// What a plan's code may call.
///
/// LLVM's code generator calls functions that no pass wrote: memset, expf, and
/// conversions of narrow numbers that some compilers' libraries have and others
/// lack. A plan that calls what the loading process has not is found by whoever
/// loads it, perhaps on another machine; so it is not written.
#ifndef TPSP_COMPILE_PLANSYMBOLS_H
#define TPSP_COMPILE_PLANSYMBOLS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace tpsp {

/// Fails with the names of the undefined symbols of an object that a plan may
/// not call. It may call the runtime (calls.def) and the libraries that every
/// C++ program has: C's, with its mathematics, and GCC's.
llvm::Error checkPlanSymbols(llvm::MemoryBufferRef object);

} // namespace tpsp

#endif // TPSP_COMPILE_PLANSYMBOLS_H
