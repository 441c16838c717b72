/// A training run: steps, evaluations, checkpoints, and the lines and pictures
/// for its user.
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
  /// The number of the last step.
  int64_t steps = 1;
  LearningRate rate;
  /// The folder for checkpoints and metrics; empty: none are written.
  std::string out;
  /// Steps between checkpoints, evaluations and log lines. With saveEvery 0,
  /// the only checkpoint is at the end; with evalEvery 0 there are no
  /// evaluations.
  int64_t saveEvery = 0, evalEvery = 0, logEvery = 1;
  /// The number of latest checkpoints to keep; 0: all.
  int64_t keep = 3;
  /// Batches of an evaluation: the first of its files.
  int64_t evalBatches = 20;
  /// Peak FLOP/s of all ranks together; 0: not known.
  double peakFlops = 0;
  /// The path for a picture of the curves; empty: none is drawn.
  std::string plot;
  /// The largest number of tokens' choices that a step may drop; negative: any
  /// number.
  int64_t maxDropped = -1;
  /// Null, or the world's observer, which finds the command at which a first
  /// step fails.
  rt::NotFiniteWatch *watch = nullptr;
  /// With `watch`: restores the ranks' initial arguments, and adds a line for
  /// each argument that is not finite.
  std::function<rt::Status(std::vector<std::string> &lines)> restart;
};

/// A program that evaluates, and the data that it is evaluated on.
struct Evaluation {
  TrainingStep step;
  Batches batches;
};

class Trainer {
public:
  /// `say` receives lines for the user. It is called only in the process with
  /// rank 0.
  Trainer(TrainingStep step, Batches batches, TrainingOptions options,
          std::function<void(const std::string &)> say);

  void evaluateWith(Evaluation evaluation) {
    evaluated.emplace(std::move(evaluation));
  }

  /// Trains from `position`, and advances its step and samples. Ends, with a
  /// checkpoint, after the last step, or after the step during which
  /// `isInterrupted` became true in any process. Fails if the world fails or a
  /// file cannot be written. If a loss is not finite, or a step drops too many
  /// choices, the failure names the step and the last checkpoint before it.
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
  /// Describes a failure of the first step, which no update can have caused.
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
