/// A program on its ranks, a batch at a time: the step that trains, or the
/// forward pass that evaluates.
#ifndef TPSP_RUNTIME_TRAIN_TRAININGSTEP_H
#define TPSP_RUNTIME_TRAIN_TRAININGSTEP_H

#include "tpsp/Runtime/Driver/Report/StepResults.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/Train/Batches.h"
#include "tpsp/Runtime/World.h"

#include <optional>

namespace tpsp::train {

/// A compiled program and the world that runs it; both outlive what uses them.
struct LoadedProgram {
  const Plan *plan = nullptr;
  rt::Rank::StepFunction step = nullptr;
  rt::World *world = nullptr;
};

/// Finds the result that is minimised: the one called `name`, or, if that is
/// empty, the only result without indices that has a gradient. `loss` is its
/// number. INVALID, with the results that there are, if there is no such one.
rt::Status findLoss(const Plan &plan, const std::string &name, int64_t &loss);

/// Whether the plan updates its parameters and every input without data, scalar
/// or cotangent is given by `source`; INVALID, with the way out, if not.
rt::Status checkTrainable(const Plan &plan, const rt::TensorSource &source);

/// Whether the plan updates parameters in f16 without a loss scale.
bool losesGradients(const Plan &plan);

/// The numbers that are set for every step.
struct StepScalars {
  double learningRate = 0;
  /// From 1.
  int64_t step = 1;
};

/// What a step said. In other processes than that with rank 0: zeros.
struct StepValues {
  double loss = 0;
  /// Of all gradients, before clipping; NaN if the plan does not compute it.
  double norm = 0;
  /// Choices of tokens that found no place at their experts; NaN if the plan
  /// does not count them.
  double dropped = 0;
  /// For the next step; NaN if the plan has none that changes.
  double lossScale = 0;
  /// Gradients were not finite, and the plan has a loss scale: nothing changed
  /// but that.
  bool isSkipped = false;
};

class TrainingStep {
public:
  /// `loss`: its number (findLoss).
  TrainingStep(LoadedProgram program, int64_t loss);

  /// Sets the data of the samples from `first` on and the scalars, runs the
  /// program, and reads what it said. In a single process nothing is allocated
  /// after the first step, save by libraries of matmuls.
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
  /// The scale is there if it changes.
  std::optional<rt::ScalarReader> loss, norm, lossScale;
  std::vector<rt::ScalarReader> dropped;
  /// The plan has a loss scale.
  bool maySkip = false;
  /// A rank's part of an argument, where its memory is not the host's.
  std::vector<std::vector<char>> staging;
};

/// Copies the parameters of one world into another's, whose plan has the same,
/// equally placed; INVALID if it does not.
rt::Status copyParameters(const LoadedProgram &from, const LoadedProgram &to);

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TRAININGSTEP_H
