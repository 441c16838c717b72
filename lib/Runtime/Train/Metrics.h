/// What is recorded of a training run: a line of JSON a step, and curves.
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
  /// Where the plan computes it.
  std::optional<double> norm;
  /// Choices of tokens that found no place, where there may be such.
  std::optional<double> dropped;
  double learningRate = 0;
  /// Behind the step, where gradients are scaled by one that changes.
  std::optional<double> lossScale;
  /// Gradients were not finite, so parameters and state are as they were.
  bool isSkipped = false;
  /// Tokens so far.
  int64_t tokens = 0;
  /// Of the step; the share of the machine's FLOP/s that matmuls got.
  double seconds = 0, tokensPerSecond = 0;
  std::optional<double> utilisation;
  /// Where the step ended with an evaluation.
  std::optional<double> evalLoss;
};

/// The record as one line of JSON, without its end.
std::string toJson(const StepRecord &record);

/// The records of a file up to step `last`; lines that are none are left out.
/// No file is no record.
std::vector<StepRecord> readMetrics(const std::string &path, int64_t last);

/// Writes the records as a whole file.
rt::Status writeMetrics(const std::string &path,
                        const std::vector<StepRecord> &records);

/// Adds one record at the end of a file.
rt::Status appendMetrics(const std::string &path, const StepRecord &record);

/// Loss, evaluation, norm and learning rate by step, as SVG.
std::string curvesSvg(const std::vector<StepRecord> &records);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_METRICS_H
