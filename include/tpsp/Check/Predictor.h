/// Runs a compiled step, as it is or changed, and returns what every rank has
/// at its end.
#ifndef TPSP_CHECK_PREDICTOR_H
#define TPSP_CHECK_PREDICTOR_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Change.h"
#include "tpsp/Runtime/Driver/Plans/PlanFile.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <memory>
#include <vector>

namespace tpsp::check {

/// The settings of a Predictor.
struct PredictorSettings {
  /// Compute threads of a rank; 0: cores / ranks.
  int threads = 0;
  /// How long a rank waits for the others, in seconds.
  double timeout = 30;
};

/// Gives ranks of stages that lack a tensor the values of the ranks of the same
/// place on the first stage that has it.
void fillOtherStages(const PlanBuffer &tensor, const rt::RankMesh &mesh,
                     RankValues &values);

/// Sees results as soon as a running step has made them, and may end the step.
class ResultWatch {
public:
  virtual ~ResultWatch() = default;
  /// Whether it sees a result, by its number among Predictor::results().
  virtual bool sees(size_t result) const = 0;
  /// Gets a rank's part. The ranks' threads call it concurrently.
  virtual void see(size_t result, int64_t rank, std::vector<double> part) = 0;
  /// Called once all ranks' parts have been seen. The step ends if it returns
  /// false.
  virtual bool goesOn(size_t result) = 0;
};

/// The results that are wanted of a run. Without stages, commands that no
/// wanted result needs do not run.
struct RunFocus {
  /// By number among Predictor::results(); empty: all.
  std::vector<bool> results;
  /// The results that it sees are not returned, except those that no command
  /// writes. May be null. Must be null if Predictor::canBeWatched() is false.
  ResultWatch *watch = nullptr;

  bool wants(size_t result) const { return results.empty() || results[result]; }
};

class Predictor {
public:
  /// Makes the ranks of a plan. `plan`, `source` and the step's code must
  /// outlive the predictor. INVALID if the plan overlaps communication.
  static rt::Status create(const Plan &plan, rt::StepFunction step,
                           const rt::TensorSource &source,
                           const PredictorSettings &settings,
                           std::unique_ptr<Predictor> &out);
  Predictor(const Predictor &) = delete;
  Predictor &operator=(const Predictor &) = delete;
  ~Predictor();

  const Plan &plan() const;
  /// The tensors that the step makes: outputs, gradients, new parameters and
  /// state, in the order of the plan. `pending` ones are summands.
  const std::vector<const PlanBuffer *> &results() const;
  /// Runs a step from the same arguments. `out` gets the results, in the order
  /// of results(). A rank of a stage that lacks a result gets what the rank of
  /// its place on another stage has. Results that are not wanted stay empty.
  rt::Status run(const Change &change, std::vector<RankValues> &out,
                 const RunFocus &focus = {});
  /// Whether all ranks run the same commands, each once.
  bool canBeWatched() const;
  /// How many steps have run.
  int64_t runs() const;

private:
  struct Impl;
  explicit Predictor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tpsp::check

#endif // TPSP_CHECK_PREDICTOR_H
