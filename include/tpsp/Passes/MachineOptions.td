#ifndef TPSP_PASSES_MACHINEOPTIONS_TD
#define TPSP_PASSES_MACHINEOPTIONS_TD

include "mlir/Pass/PassBase.td"

// The machine for which costs are computed (Passes/Program/MachineOptions.h).
defvar machine = [
  Option<"hardware", "hardware", "::tpsp::HardwareChoice", "\"cpu\"",
         "The machine: a built-in description, or a JSON file">,
  Option<"threads", "threads", "int64_t", "0",
         "Compute threads of a rank, on CPUs; 0: cores / ranks">
];

#endif // TPSP_PASSES_MACHINEOPTIONS_TD
