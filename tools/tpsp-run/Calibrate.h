// Describing the machine at hand: measuring isolated operations on the CPU
// backend, nothing larger.
#ifndef TPSP_TOOLS_TPSP_RUN_CALIBRATE_H
#define TPSP_TOOLS_TPSP_RUN_CALIBRATE_H

#include "Progress.h"

#include "tpsp/Schedule/Hardware.h"

namespace tpsp::run {

/// Measures this machine, in less than a minute if nothing else runs.
llvm::Expected<Hardware> measureMachine(Progress &progress);

// Parts of it; each fills in what its name says.

/// Matmul rates of one core while all are busy, by shape and type; and what a
/// command costs besides its work.
llvm::Error calibrateMatmuls(Hardware &hardware, Progress &progress);
/// Rates of attention in one call, of one core while all are busy.
llvm::Error calibrateAttention(Hardware &hardware, Progress &progress);
/// How fast memory is for a core while all are busy.
llvm::Error calibrateMemory(Hardware &hardware, Progress &progress);
/// What generated kernels are made of.
llvm::Error calibrateKernels(Hardware &hardware, Progress &progress);
/// Every kind by size and group, and what a step costs.
llvm::Error calibrateCollectives(Hardware &hardware, Progress &progress);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_CALIBRATE_H
