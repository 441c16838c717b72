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

/// Fails with the names of the symbols that an object leaves undefined and that
/// are neither calls of the runtime (calls.def) nor functions of the
/// libraries that every C++ program has: C's, with its mathematics, and GCC's.
llvm::Error checkPlanSymbols(llvm::MemoryBufferRef object);

} // namespace tpsp

#endif // TPSP_COMPILE_PLANSYMBOLS_H
