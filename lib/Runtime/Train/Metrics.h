/// The record of a training run: a line of JSON for each step, and curves.
#ifndef TPSP_RUNTIME_TRAIN_METRICS_H
#define TPSP_RUNTIME_TRAIN_METRICS_H

#include "tpsp/Abi/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp::train {

struct StepRecord {
  int64_t step = 0;
  double loss = 0;
  /// Set if the plan computes the norm.
  std::optional<double> norm;
  /// The number of tokens' choices that found no place; set if the plan counts
  /// them.
  std::optional<double> dropped;
  double learningRate = 0;
  /// The loss scale after the step, if the plan has one that changes.
  std::optional<double> lossScale;
  /// Gradients were not finite, so parameters and state did not change.
  bool isSkipped = false;
  /// Tokens so far, including those of this step.
  int64_t tokens = 0;
  /// The step's time and rate. `utilisation` is the fraction of the machine's
  /// FLOP/s that matmuls reached.
  double seconds = 0, tokensPerSecond = 0;
  std::optional<double> utilisation;
  /// Set if the step ended with an evaluation.
  std::optional<double> evalLoss;
};

/// The record as one line of JSON, without a newline.
std::string toJson(const StepRecord &record);

/// The records of a file up to step `last`. Malformed lines are skipped. A
/// missing file has no records.
std::vector<StepRecord> readMetrics(const std::string &path, int64_t last);

/// Writes the records to a file, completely or not at all.
rt::Status writeMetrics(const std::string &path,
                        const std::vector<StepRecord> &records);

/// Appends one record to a file.
rt::Status appendMetrics(const std::string &path, const StepRecord &record);

/// Loss, evaluation, norm and learning rate by step, as SVG.
std::string curvesSvg(const std::vector<StepRecord> &records);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_METRICS_H
