/// Evaluates candidates on several threads, and says how long one will take.
#ifndef TPSP_PLANNER_EVALUATIONPOOL_H
#define TPSP_PLANNER_EVALUATIONPOOL_H

#include "tpsp/Planner/Search.h"

#include <chrono>
#include <map>
#include <memory>
#include <vector>

namespace tpsp::planner {

/// A candidate, and what is to be found out about it.
struct EvaluationTask {
  enum class Stage {
    Serial,     ///< one command after another
    Full,       ///< with overlap, if there is any
    Whole,      ///< and no longer composed of layers
    WholeSerial ///< of all layers, one command after another
  };

  Stage stage = Stage::Full;
  Candidate candidate;
  /// Tried in this order; after an earlier stage, from those on that it found.
  SettingsToTry trials;
  /// What an earlier stage found, if there was one.
  std::shared_ptr<const Evaluation> before;
  /// Whether from there on other settings are tried, though it fits.
  bool goesOn = false;
  /// Whether it is done though there is no time for it.
  bool isNeeded = false;

  /// What this stage found; null if it was not done for want of time.
  std::shared_ptr<Evaluation> found;
  /// What it found of the settings that the earlier stage found.
  std::shared_ptr<Evaluation> asBefore;
  /// Then, the fastest that fits of the settings for which there was time; null
  /// if there is none.
  std::shared_ptr<Evaluation> soFar;
  /// How many settings were evaluated.
  int64_t evaluations = 0;

  /// Whether what was tried is too large, and what was left out may fit.
  bool mayFitSlower(int64_t memoryLimit) const {
    return found && found->isLegal() && found->memory.total > memoryLimit &&
           !trials.isAll();
  }
};

class EvaluationPool {
public:
  /// Both must outlive it. Its clock starts, at so many seconds.
  EvaluationPool(const EvaluatorFactory &makeEvaluator,
                 const SearchOptions &options, double secondsBefore = 0)
      : makeEvaluator(makeEvaluator), options(options),
        secondsBefore(secondsBefore), begin(std::chrono::steady_clock::now()) {}

  double seconds() const;
  /// From now on so much of the options' time may be used.
  void useShare(double share) { timeShare = share; }
  bool isOutOfTime() const;
  /// Whether the task will end in time, as far as earlier ones tell.
  bool hasTimeFor(const EvaluationTask &task) const;
  /// Does those that there is time for.
  void run(std::vector<EvaluationTask> &tasks);

private:
  void run(Evaluator &evaluator, EvaluationTask &task) const;
  Evaluation evaluateAt(EvaluationTask::Stage stage, Evaluator &evaluator,
                        const Candidate &candidate) const;
  Evaluation withKnownSettings(EvaluationTask &task,
                               EvaluateCandidate evaluate) const;
  bool isPlan(const Candidate &candidate) const;
  void learn(const EvaluationTask &task);
  double expectedSeconds(const EvaluationTask &task) const;
  /// How many times longer the full stage takes; if nothing is known, a guess.
  double fullEffortOf(const Evaluation &serial) const;

  const EvaluatorFactory &makeEvaluator;
  const SearchOptions &options;
  const double secondsBefore;
  double timeShare = 1;
  const std::chrono::steady_clock::time_point begin;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  /// By micro-batches that are scheduled together: how many times longer the
  /// full stage took than the serial one.
  std::map<int64_t, double> fullEffort;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EVALUATIONPOOL_H
