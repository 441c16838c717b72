/// All passes, in pipeline order; see Passes.td for what each does.
#ifndef TPSP_PASSES_PASSES_H
#define TPSP_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tpsp {

#define GEN_PASS_DECL
#include "tpsp/Passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tpsp/Passes/Passes.h.inc"

} // namespace tpsp

#endif // TPSP_PASSES_PASSES_H
