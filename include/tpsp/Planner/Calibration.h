/// Corrects predictions by a few measured steps of the user.
///
/// A step's predicted time has four parts: products, attention in calls of a
/// library, other kernels, and links. Each part gets a factor, and so do the
/// bytes. The factors minimise
///
///   sum over runs ((factors * parts / measured - 1) / noise)^2
///     + sum over factors ((factor - 1) / spread)^2
///
/// The spread of a factor is how far predictions of isolated operations are
/// from measurements. Few runs cannot tell all factors apart. So at most one
/// factor less than there are runs is freed: those with which the sum is least.
/// The others stay 1.
///
/// Predictions have an interval. It has three sources: the covariance of the
/// freed factors, the spread of the others, and the runs' distance from the
/// fit. Few runs say little about that distance. So it begins as if three more
/// runs had been 5 % from the fit. (Isolated products that are left out of a
/// table of rates are predicted to 4 % on average.) The covariance has this
/// distance as its noise; the fit itself has 2 %, so that few runs outweigh the
/// priors. For fitted values the width of the interval is a quantile of
/// Student's t for so many runs.
///
/// A run that contradicts three others, which are at least four times as close
/// to each other, is left out.
#ifndef TPSP_PLANNER_CALIBRATION_H
#define TPSP_PLANNER_CALIBRATION_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planner/MeasuredRuns.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>

namespace tpsp::planner {

/// The parts of a predicted step in seconds, and the rest, which no factor
/// changes.
struct StepParts {
  enum Part { Products, Attention, Kernels, Links };
  static constexpr size_t count = 4;
  std::array<double, count> seconds = {};
  double rest = 0;

  double total() const;
};

StepParts partsOf(const Evaluation &step);

/// A run with the plan's prediction.
struct PredictedRun {
  MeasuredRun run;
  StepParts parts;
  int64_t bytes = 0;
  /// The settings that were predicted, in words; may be empty.
  std::string settings = {};

  /// "FSDP 8", or "FSDP 8 (gpt-1b.mlir, 8 devices, 4 micro-batches)".
  std::string name() const;
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

/// A run with its predictions. Figures that were not measured are 0.
struct ComparedRun {
  std::string name;
  double measuredSeconds = 0, predictedSeconds = 0;
  Calibrated seconds;
  int64_t measuredBytes = 0, predictedBytes = 0;
  Calibrated bytes;
};

class Calibration {
public:
  /// Fits the factors. `runs` may be of any number.
  explicit Calibration(std::vector<PredictedRun> runs);

  Calibrated seconds(const StepParts &parts) const;
  Calibrated bytes(int64_t predicted) const;

  /// Those of StepParts::Part, and then that of memory.
  const std::array<CalibrationFactor, StepParts::count + 1> &factors() const {
    return all;
  }
  /// The mean error of each run as predicted without it: a share. 0 with fewer
  /// than two runs.
  double crossValidated() const { return leftOutError; }
  /// A sentence about the run that contradicts the others most, if one does.
  /// Says whether it is left out.
  const std::vector<std::string> &complaints() const { return problems; }

  /// All runs, in their order. Runs of which nothing was measured, and those
  /// that are left out, are only predicted.
  std::vector<ComparedRun> compared() const;

  /// Everything above as lines of text.
  std::string text() const;

private:
  void fitTimes();
  void fitMemory();
  void crossValidate();
  void forgetTime(size_t number);

  std::vector<PredictedRun> runs;
  /// Their figures as given.
  std::vector<MeasuredRun> given;
  std::array<CalibrationFactor, StepParts::count + 1> all;
  /// The covariance of the factors of time.
  std::array<std::array<double, StepParts::count>, StepParts::count>
      covariance = {};
  double memoryVariance = 0;
  /// How far runs are from the fit. `deviation`: a share of a run. `widths`:
  /// half the width of the interval of 19 in 20, in deviations.
  struct Noise {
    double deviation = 0, widths = 0;
  };
  static Noise noiseOf(llvm::ArrayRef<double> shares, size_t unknowns);
  Noise timeNoise, memoryNoise;
  double leftOutError = 0;
  std::vector<std::string> problems;
};

/// Makes the step's seconds, parts and bytes those of the calibration. The
/// margin becomes the error of the step, so that ties follow from it.
void calibrate(const Calibration &calibration, Evaluation &step);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_CALIBRATION_H
