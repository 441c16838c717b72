/// Corrects predictions by a few measured steps of the user.
///
/// A step's predicted time has three parts: products, other kernels, and links.
/// Each part gets a factor, and so do the bytes. The factors minimise
///
///   sum over runs ((factors * parts / measured - 1) / noise)^2
///     + sum over factors ((factor - 1) / spread)^2
///
/// The spread of a factor is how far predictions of isolated operations are
/// from measurements. Few runs cannot tell all factors apart. So at most one
/// factor less than there are runs is freed: those of the largest parts. The
/// others stay 1. Predictions then have an interval, from the covariance of the
/// factors and from how far the runs are from the fit. A run that contradicts
/// three others, which are at least four times as close to each other, is left
/// out.
#ifndef TPSP_PLANNER_CALIBRATION_H
#define TPSP_PLANNER_CALIBRATION_H

#include "tpsp/Planner/Evaluation.h"

#include "llvm/Support/Error.h"

#include <array>

namespace tpsp::planner {

/// A row of the user's file. A plan is named as by --compare.
struct MeasuredRun {
  std::string plan;
  /// Seconds of a step, and the peak of a rank in bytes; 0 if not measured.
  double seconds = 0;
  int64_t bytes = 0;
};

/// Parses "plan,seconds,bytes" with a header. Plans with commas are quoted. An
/// error names the line and the value.
llvm::Expected<std::vector<MeasuredRun>> parseRuns(llvm::StringRef text);

/// The parts of a predicted step in seconds, and the rest, which no factor
/// changes.
struct StepParts {
  enum Part { Products, Kernels, Links };
  std::array<double, 3> seconds = {};
  double rest = 0;

  double total() const { return seconds[0] + seconds[1] + seconds[2] + rest; }
};

StepParts partsOf(const Evaluation &step);

/// A run with the plan's prediction.
struct PredictedRun {
  MeasuredRun run;
  StepParts parts;
  int64_t bytes = 0;
};

struct CalibrationFactor {
  const char *name = "";
  /// The assumed standard deviation of the factor before any run.
  double spread = 0;
  double value = 1;
  bool isFreed = false;
  /// If it is not freed: why, to follow "stays 1:".
  std::string reason = {};
};

/// A calibrated prediction: a value, and the half width of the interval that
/// has the measured value 19 times of 20.
struct Calibrated {
  double value = 0, margin = 0;
};

class Calibration {
public:
  /// Fits the factors. `runs` may be of any number.
  explicit Calibration(std::vector<PredictedRun> runs);

  Calibrated seconds(const StepParts &parts) const;
  Calibrated bytes(int64_t predicted) const;

  /// Products, kernels, links, memory.
  const std::array<CalibrationFactor, 4> &factors() const { return all; }
  /// The mean error of each run as predicted without it: a share. 0 with fewer
  /// than two runs.
  double crossValidated() const { return leftOutError; }
  /// A sentence about the run that contradicts the others most, if one does.
  /// Says whether it is left out.
  const std::vector<std::string> &complaints() const { return problems; }

  /// Everything above as lines of text.
  std::string text() const;

private:
  void fitTimes();
  void fitMemory();
  void crossValidate();
  void forgetTime(size_t number);

  std::vector<PredictedRun> runs;
  std::array<CalibrationFactor, 4> all;
  /// The covariance of the factors of time.
  std::array<std::array<double, 3>, 3> covariance = {};
  double memoryVariance = 0;
  /// Relative standard deviations of runs around the fit.
  double timeNoise = 0, memoryNoise = 0;
  double leftOutError = 0;
  std::vector<std::string> problems;
};

/// Makes the step's seconds, parts and bytes those of the calibration. The
/// margin becomes the error of the step, so that ties follow from it.
void calibrate(const Calibration &calibration, Evaluation &step);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_CALIBRATION_H
