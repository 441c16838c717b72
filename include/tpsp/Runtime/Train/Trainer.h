/// A training run: steps, evaluation, checkpoints, what people see of it.
#ifndef TPSP_RUNTIME_TRAIN_TRAINER_H
#define TPSP_RUNTIME_TRAIN_TRAINER_H

#include "tpsp/Runtime/Driver/Comparison/NotFiniteWatch.h"
#include "tpsp/Runtime/Train/Checkpoint.h"
#include "tpsp/Runtime/Train/LearningRate.h"
#include "tpsp/Runtime/Train/TrainingStep.h"

#include <functional>
#include <optional>

namespace tpsp::train {

struct TrainingOptions {
  /// The last step.
  int64_t steps = 1;
  LearningRate rate;
  /// The folder for checkpoints and metrics; empty: none are written.
  std::string out;
  /// Steps from one to the next; 0: never but at the end (evaluations: never).
  int64_t saveEvery = 0, evalEvery = 0, logEvery = 1;
  /// Checkpoints that stay; 0: all.
  int64_t keep = 3;
  /// Of an evaluation: the first that its files have.
  int64_t evalBatches = 20;
  /// FLOP/s of all ranks together at most; 0: not known.
  double peakFlops = 0;
  /// A picture of the curves; empty: none.
  std::string plot;
  /// Choices of tokens that a step may drop; negative: any number.
  int64_t maxDropped = -1;
  /// Null, or what watches the world's commands (its observer): finds where a
  /// first step goes wrong.
  rt::NotFiniteWatch *watch = nullptr;
  /// With `watch`: gives the ranks the arguments with which training began, and
  /// adds a line for each that is not finite.
  std::function<rt::Status(std::vector<std::string> &lines)> restart;
};

/// A program that evaluates, and on what.
struct Evaluation {
  TrainingStep step;
  Batches batches;
};

class Trainer {
public:
  /// `say` is given lines for people. It is called in the process with rank 0
  /// only.
  Trainer(TrainingStep step, Batches batches, TrainingOptions options,
          std::function<void(const std::string &)> say);

  void evaluateWith(Evaluation evaluation) {
    evaluated.emplace(std::move(evaluation));
  }

  /// Trains from `position`, of which step and samples are counted on. Ends
  /// after the last step, or after the step in which `isInterrupted` has become
  /// true in any process, with a checkpoint. Fails as the world does, and if a
  /// file cannot be written. If a loss is not finite, or a step drops too much,
  /// it names the step and the last checkpoint before it.
  rt::Status run(TrainingPosition &position,
                 const std::function<bool()> &isInterrupted);

private:
  struct Progress;

  rt::Status oneStep(Progress &progress);
  rt::Status evaluate(Progress &progress);
  rt::Status save(Progress &progress);
  std::string lastCheckpoint(const Progress &progress) const;
  rt::Status divergence(const Progress &progress,
                        const std::string &what) const;
  rt::Status checkStep(const Progress &progress, const StepScalars &scalars,
                       const StepValues &values);
  rt::Status describeFailure(const Progress &progress,
                             const StepValues &values) const;
  /// Describes a failure of the first step, in which no update has a part.
  rt::Status describeFirstFailure(const Progress &progress,
                                  const StepScalars &scalars,
                                  const StepValues &values);
  bool speaks() const { return step.loaded().world->hasFirstRank(); }

  TrainingStep step;
  Batches batches;
  std::optional<Evaluation> evaluated;
  TrainingOptions options;
  std::function<void(const std::string &)> say;
};

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_TRAINER_H
