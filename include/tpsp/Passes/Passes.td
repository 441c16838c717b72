#ifndef TPSP_PASSES_PASSES_TD
#define TPSP_PASSES_PASSES_TD

// All passes, phase by phase, in the order of Pipelines.cpp.
include "tpsp/Passes/LogicalPasses.td"
include "tpsp/Passes/StepPasses.td"
include "tpsp/Passes/CollectivesPasses.td"
include "tpsp/Passes/LocalPasses.td"
include "tpsp/Passes/PlanPasses.td"
include "tpsp/Passes/LoweringPasses.td"
include "tpsp/Passes/StablehloPasses.td"

#endif // TPSP_PASSES_PASSES_TD
