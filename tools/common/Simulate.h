// Predicting a compiled program on a described machine.
#ifndef TPSP_TOOLS_COMMON_SIMULATE_H
#define TPSP_TOOLS_COMMON_SIMULATE_H

#include "Program.h"

#include "tpsp/Runtime/Driver/Report/Report.h"
#include "tpsp/Schedule/Hardware.h"

#include "llvm/Support/Error.h"

namespace tpsp::tool {

/// Sets the report's prediction, step time, trace and backend. `threads` is the
/// number of threads of a rank on CPUs; 0 means cores / ranks. Fails if the
/// hardware has fewer devices than the mesh.
llvm::Error predict(const Hardware &hardware, int64_t threads,
                    const rt::PlanDescription &description,
                    rt::RunReport &report);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_SIMULATE_H
