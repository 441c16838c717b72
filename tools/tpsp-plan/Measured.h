// Measured steps of the user: --measured.
#ifndef TPSP_TOOLS_TPSP_PLAN_MEASURED_H
#define TPSP_TOOLS_TPSP_PLAN_MEASURED_H

#include "common/Progress.h"

#include "tpsp/Planner/Calibration.h"
#include "tpsp/Planning/Planning.h"

namespace tpsp::plantool {

/// The file of --measured. Its path is empty if there is none.
struct MeasuredFile {
  std::string path;
  std::vector<planner::MeasuredRun> runs;
};

/// Reads the file. An error names the file and the line.
llvm::Expected<MeasuredFile> readMeasured(const std::string &path);

/// Predicts the runs whose rows name a model, a number of devices or settings.
/// `request`: all else, of the command. Fails as evaluatePlan() does.
llvm::Expected<std::vector<planner::PredictedRun>>
predictOthers(mlir::MLIRContext &context, const MeasuredFile &file,
              const PlanningRequest &request, tool::Progress &progress);

/// Calibrates all plans by the file's runs, sorts them again, and makes the
/// matrix again. `others`: the result of predictOthers(). Plans of the other
/// runs must have been compiled. Fails as planNamed() does.
llvm::Error calibrate(const MeasuredFile &file,
                      llvm::ArrayRef<planner::PredictedRun> others,
                      Planning &planning);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_MEASURED_H
