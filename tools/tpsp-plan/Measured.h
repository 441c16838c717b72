// Measured steps of the user: --measured.
#ifndef TPSP_TOOLS_TPSP_PLAN_MEASURED_H
#define TPSP_TOOLS_TPSP_PLAN_MEASURED_H

#include "tpsp/Planner/Calibration.h"
#include "tpsp/Planning/Planning.h"

namespace tpsp::plantool {

/// Reads the file of --measured. An error names the file and the line.
llvm::Expected<std::vector<planner::MeasuredRun>>
readMeasured(const std::string &path);

/// Calibrates all plans by the runs, sorts them again, and makes the matrix
/// again. The runs' plans must have been compiled. Fails if one was not, or is
/// illegal.
llvm::Error calibrate(const std::vector<planner::MeasuredRun> &runs,
                      Planning &planning);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_MEASURED_H
