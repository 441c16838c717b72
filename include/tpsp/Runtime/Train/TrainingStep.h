/// Runs a program on its ranks, one batch at a time: the training step, or the
/// forward pass of an evaluation.
#ifndef TPSP_RUNTIME_TRAIN_TRAININGSTEP_H
#define TPSP_RUNTIME_TRAIN_TRAININGSTEP_H

#include "tpsp/Runtime/Driver/Report/StepResults.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/Train/Batches.h"
#include "tpsp/Runtime/World.h"

#include <optional>

namespace tpsp::train {

/// A compiled program and the world that runs it. Both must outlive their
/// users.
struct LoadedProgram {
  const Plan *plan = nullptr;
  rt::Rank::StepFunction step = nullptr;
  rt::World *world = nullptr;
};

/// Finds the result to minimise and sets `loss` to its number. It is the result
/// called `name`. If `name` is empty, it is the only result without indices
/// that has a gradient. INVALID, with a list of the results, if there is none.
rt::Status findLoss(const Plan &plan, const std::string &name, int64_t &loss);

/// Checks that the plan updates its parameters. Also checks that `data` or
/// `source` gives every input that needs it: one that is not made of tokens, no
/// scalar and no cotangent. INVALID, with a way out, if not.
rt::Status checkTrainable(const Plan &plan, const rt::TensorSource &source,
                          const SampleFiles &data);

/// Whether the plan updates parameters in f16 without a loss scale.
bool losesGradients(const Plan &plan);

/// The scalar arguments that are set for every step.
struct StepScalars {
  double learningRate = 0;
  /// Counts from 1.
  int64_t step = 1;
};

/// The values that a step reports. In processes without rank 0 they are zeros.
struct StepValues {
  double loss = 0;
  /// The norm of all gradients, before clipping; NaN if the plan does not
  /// compute it.
  double norm = 0;
  /// Choices of tokens that found no place at their experts; NaN if the plan
  /// does not count them.
  double dropped = 0;
  /// The loss scale for the next step; NaN if the plan has none that changes.
  double lossScale = 0;
  /// Whether the update was skipped. A plan with a loss scale does that if
  /// gradients are not finite; only the scale then changes.
  bool isSkipped = false;
};

class TrainingStep {
public:
  /// `loss` is the number of the loss (findLoss). Every step sets what
  /// `batches` gives.
  TrainingStep(LoadedProgram program, int64_t loss, const Batches &batches);

  /// Sets the scalars and the data of the samples from `first` on, runs the
  /// program, and reads the values that it reports. In a single process only
  /// matmul libraries allocate after the first step.
  rt::Status run(const Batches &batches, int64_t first,
                 const StepScalars &scalars, StepValues &out);

  const LoadedProgram &loaded() const { return program; }

private:
  rt::Status setArguments(rt::Rank &rank, const Batches &batches, int64_t first,
                          const StepScalars &scalars);

  LoadedProgram program;
  std::vector<const PlanBuffer *> data, scalarInputs;
  /// By rank, its part of each of `data`.
  std::vector<std::vector<rt::Shard>> shards;
  /// `lossScale` has a value if the scale changes.
  std::optional<rt::ScalarReader> loss, norm, lossScale;
  std::vector<rt::ScalarReader> dropped;
  /// Whether the plan has a loss scale.
  bool maySkip = false;
  /// Copies of ranks' parts of an argument, for ranks whose memory is not host
  /// memory.
  std::vector<std::vector<char>> staging;
};

/// Copies the parameters of one world into another. INVALID if the other's plan
/// does not have the same parameters with equal placements.
rt::Status copyParameters(const LoadedProgram &from, const LoadedProgram &to);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TRAININGSTEP_H
