/// Evaluates candidates on several threads, and predicts the time of
/// evaluations.
#ifndef TPSP_PLANNER_EVALUATIONPOOL_H
#define TPSP_PLANNER_EVALUATIONPOOL_H

#include "tpsp/Planner/Search.h"

#include <chrono>
#include <map>
#include <memory>
#include <vector>

namespace tpsp::planner {

/// A candidate to evaluate, the stage of its evaluation, and the results.
struct EvaluationTask {
  enum class Stage {
    Serial,     ///< one command after another
    Full,       ///< with overlap, if there is any
    Whole,      ///< with overlap, and not composed of few layers
    WholeSerial ///< all layers, one command after another
  };

  Stage stage = Stage::Full;
  Candidate candidate;
  /// Tried in this order. After an earlier stage, begins with the settings that
  /// it found.
  SettingsToTry trials;
  /// The result of an earlier stage, if there was one.
  std::shared_ptr<const Evaluation> before;
  /// Without stages, the task ends if all settings that may fit take longer
  /// than these seconds.
  double longest = std::numeric_limits<double>::infinity();
  /// Whether other settings are tried after these although they fit.
  bool goesOn = false;
  /// Whether it runs even after the time limit.
  bool isNeeded = false;

  /// The result of this stage; null if there was no time for it.
  std::shared_ptr<Evaluation> found;
  /// This stage's result for the settings that the earlier stage found.
  std::shared_ptr<Evaluation> asBefore;
  /// If there was no time for all settings, the fastest tried settings that
  /// fit; null if none do.
  std::shared_ptr<Evaluation> soFar;
  /// The evaluation that shows that all settings that may fit take longer than
  /// `longest` seconds; null if there is none. `found` is then null.
  std::shared_ptr<Evaluation> excluding;
  /// The number of settings that were evaluated.
  int64_t evaluations = 0;

  /// Whether the tried settings are too large, but settings that were left out
  /// may fit.
  bool mayFitSlower(int64_t memoryLimit) const {
    return found && found->isLegal() && found->memory.total > memoryLimit &&
           !trials.isAll();
  }
};

class EvaluationPool {
public:
  /// Both references must outlive this object. Starts its clock at
  /// `secondsBefore`.
  EvaluationPool(const EvaluatorFactory &makeEvaluator,
                 const SearchOptions &options, double secondsBefore = 0)
      : makeEvaluator(makeEvaluator), options(options),
        secondsBefore(secondsBefore), begin(std::chrono::steady_clock::now()) {}

  double seconds() const;
  /// From now on this share of the options' time may be used.
  void useShare(double share) { timeShare = share; }
  bool isOutOfTime() const;
  /// Whether the task is expected to end in time, judging by earlier tasks.
  bool hasTimeFor(const EvaluationTask &task) const;
  /// Runs the tasks for which there is time.
  void run(std::vector<EvaluationTask> &tasks);

private:
  void run(Evaluator &evaluator, EvaluationTask &task) const;
  Evaluation evaluateAt(EvaluationTask::Stage stage, Evaluator &evaluator,
                        const Candidate &candidate) const;
  Evaluation withKnownSettings(EvaluationTask &task, EvaluateCandidate evaluate,
                               EvaluateCandidate composed) const;
  bool isPlan(const Candidate &candidate) const;
  void learn(const EvaluationTask &task);
  double expectedSeconds(const EvaluationTask &task) const;
  /// The factor by which the full stage takes longer than the serial stage; a
  /// guess if nothing is known.
  double fullEffortOf(const Evaluation &serial) const;

  const EvaluatorFactory &makeEvaluator;
  const SearchOptions &options;
  const double secondsBefore;
  double timeShare = 1;
  const std::chrono::steady_clock::time_point begin;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  /// By number of micro-batches that are scheduled together: the factor by
  /// which the full stage took longer than the serial stage.
  std::map<int64_t, double> fullEffort;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EVALUATIONPOOL_H
