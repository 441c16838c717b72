// Predicting a compiled program on a described machine.
#ifndef TPSP_TOOLS_TPSP_RUN_SIMULATE_H
#define TPSP_TOOLS_TPSP_RUN_SIMULATE_H

#include "Options.h"

#include "tpsp/Runtime/Driver/Report.h"
#include "tpsp/Runtime/Jit/Compiler.h"

namespace tpsp::run {

/// Fills in the report's prediction, its one step, its trace and its backend.
/// Fails if
/// --hardware is unknown, malformed, or too small for the mesh.
llvm::Error predict(const Options &options, const CompiledModel &model,
                    rt::RunReport &report);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_SIMULATE_H
