#include "EvaluationPool.h"

#include "TriedSettings.h"

#include "tpsp/Abi/WrittenOut.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <thread>

using namespace tpsp;
using namespace tpsp::planner;
using Stage = EvaluationTask::Stage;

double EvaluationPool::seconds() const {
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begin;
  return secondsBefore + passed.count();
}

bool EvaluationPool::isOutOfTime() const {
  return options.secondsLimit > 0 &&
         seconds() > timeShare * options.secondsLimit;
}

/// Whether the stage evaluates steps with overlap.
static bool isOverlapped(Stage stage, const SearchOptions &options) {
  return options.overlaps && (stage == Stage::Full || stage == Stage::Whole);
}

static bool isWhole(Stage stage) {
  return stage == Stage::Whole || stage == Stage::WholeSerial;
}

/// The stage that evaluates the same of few layers.
static Stage composedStage(Stage stage) {
  return stage == Stage::WholeSerial ? Stage::Serial : Stage::Full;
}

double EvaluationPool::expectedSeconds(const EvaluationTask &task) const {
  if (!task.before || evaluators.empty())
    return 0;
  const Evaluation &before = *task.before;
  double expected = before.evaluationSeconds;
  bool isOfSerial = task.stage == Stage::Full || before.isSerial;
  if (isOfSerial && isOverlapped(task.stage, options))
    expected *= fullEffortOf(before);
  return isWhole(task.stage) && before.isComposed
             ? expected * evaluators.front()->wholeEffort()
             : expected;
}

bool EvaluationPool::hasTimeFor(const EvaluationTask &task) const {
  return options.secondsLimit <= 0 ||
         seconds() + expectedSeconds(task) <= timeShare * options.secondsLimit;
}

/// The number of micro-batches that the compiler schedules. With stages each is
/// scheduled by itself.
static int64_t scheduledParts(const Candidate &candidate) {
  return candidate.hasStages()
             ? 0
             : scheduledMicroBatches(candidate.settings.microBatches);
}

/// Scheduling takes time that grows faster than the number of commands.
double EvaluationPool::fullEffortOf(const Evaluation &serial) const {
  constexpr double guess = 25, ofMicroBatch = 12;
  int64_t parts = scheduledParts(serial.candidate);
  auto found = fullEffort.find(parts);
  return found == fullEffort.end()
             ? std::max(guess, ofMicroBatch * double(parts))
             : found->second;
}

Evaluation EvaluationPool::evaluateAt(Stage stage, Evaluator &evaluator,
                                      const Candidate &candidate) const {
  switch (stage) {
  case Stage::Serial:
    return evaluator.evaluateSerially(candidate);
  case Stage::Full:
    return evaluator.evaluate(candidate);
  case Stage::Whole:
    return evaluator.evaluateWhole(candidate);
  case Stage::WholeSerial:
    return evaluator.evaluateWholeSerially(candidate);
  }
  llvm_unreachable("no stage");
}

/// The settings left to try after `known`. With stages, the order is by
/// promise, so any settings of the same rematerialisation may need less memory.
static std::vector<Settings> settingsFrom(const Candidate &known,
                                          llvm::ArrayRef<Settings> all) {
  auto position = llvm::find(all, known.settings);
  std::vector<Settings> rest(position, all.end());
  if (known.hasStages())
    std::copy_if(all.begin(), position, std::back_inserter(rest),
                 [&](const Settings &each) {
                   return each.rematerialize == known.settings.rematerialize;
                 });
  return rest;
}

/// Settings of a program that is compiled whole, and exceeds the memory with
/// those that are known. Whole programs take long, so others are chosen by
/// their composed steps, whose memory is taken to be as much too small.
static Evaluation otherWhole(const EvaluationTask &task, Evaluation known,
                             const std::vector<Settings> &rest, int64_t limit,
                             EvaluateCandidate evaluate,
                             EvaluateCandidate composed) {
  constexpr int mostTries = 3;
  double before = double(task.before->memory.total);
  for (int tries = 0; tries < mostTries; ++tries) {
    double more = std::max(double(known.memory.total) / before, 1.0);
    int64_t tried = 0;
    Evaluation next = evaluateWithSettings(
        composed, known.candidate, rest, int64_t(double(limit) / more), tried);
    if (!next.isLegal() || next.candidate.settings == known.candidate.settings)
      break;
    before = double(next.memory.total);
    known = evaluate(next.candidate);
    if (!known.isLegal() || known.memory.total <= limit)
      break;
  }
  return known;
}

/// Settings that fit in an earlier stage mostly fit in the next. If they do
/// not, other settings are tried. `evaluate` caches its results. `composed`
/// evaluates few layers.
Evaluation EvaluationPool::withKnownSettings(EvaluationTask &task,
                                             EvaluateCandidate evaluate,
                                             EvaluateCandidate composed) const {
  Candidate candidate = task.candidate;
  candidate.settings = task.before->candidate.settings;
  Evaluation known = evaluate(candidate);
  std::vector<Settings> rest = settingsFrom(candidate, task.trials.settings);
  if (!known.isLegal() || rest.size() < 2)
    return known;
  if (known.memory.total <= options.memoryLimit)
    return candidate.hasStages() && task.stage == Stage::Full
               ? fasterNeighbour(evaluate, known, task.trials.settings,
                                 options.memoryLimit)
               : known;
  if (isWhole(task.stage) && task.before->isComposed)
    return otherWhole(task, std::move(known), rest, options.memoryLimit,
                      evaluate, composed);
  int64_t tried = 0;
  return evaluateWithSettings(evaluate, candidate, rest, options.memoryLimit,
                              tried);
}

/// Whether it exceeds the limit by less than the error of composition.
static bool nearlyFits(const Evaluation &each, int64_t limit) {
  return each.isLegal() && each.memory.total > limit && each.mayFitWhole(limit);
}

/// Whether it has settings of the search. Others are evaluated only to learn
/// how much micro-batches save.
bool EvaluationPool::isPlan(const Candidate &candidate) const {
  return llvm::is_contained(candidate.hasStages() ? options.stageSettings
                                                  : options.settings,
                            candidate.settings);
}

/// Bounds the overlapped step: the compiler keeps no schedule that is slower
/// than the serial step, and no schedule beats the busiest stream.
static void boundByBefore(Evaluation &found, const Evaluation &serial) {
  found.seconds = std::min(found.seconds, serial.seconds);
  found.atLeast = serial.busiestSeconds();
}

/// Notes settings that nearly fit without overlap: they may fit with it, too.
static void noteNearlyFits(const std::shared_ptr<Evaluation> &nearly,
                           EvaluationTask &task) {
  Evaluation &found = *task.found;
  if (nearly && !(nearly->candidate.settings == found.candidate.settings)) {
    nearly->isSerial = task.stage == Stage::Serial;
    found.nearlyFits = nearly;
  } else if (task.stage == Stage::Full && task.before && !task.goesOn) {
    found.nearlyFits = task.before->nearlyFits;
  }
}

void EvaluationPool::run(Evaluator &evaluator, EvaluationTask &task) const {
  bool hasStopped = false;
  // Micro-batches shorten the bubble of stages, so their times say nothing
  // about each other.
  bool areCompared = !task.before && !task.candidate.hasStages();
  TriedSettings known(task.trials.settings, options);
  std::shared_ptr<Evaluation> best, nearly;
  auto evaluate = [&](const Candidate &candidate) {
    bool isBefore =
        task.before && candidate.settings == task.before->candidate.settings;
    if (isBefore && task.asBefore)
      return *task.asBefore;
    hasStopped |= !task.isNeeded && isOutOfTime();
    if (hasStopped)
      return Evaluation();
    ++task.evaluations;
    if (!isBefore && best && task.stage == Stage::Full && task.before) {
      // No schedule makes it as fast as what is known.
      Evaluation serial = evaluator.evaluateSerially(candidate);
      if (serial.busiestSeconds() >= best->seconds)
        return serial;
    }
    Evaluation each = evaluateAt(task.stage, evaluator, candidate);
    if (isPlan(candidate) && each.isLegal() &&
        each.memory.total <= options.memoryLimit &&
        (!best || each.seconds < best->seconds))
      best = std::make_shared<Evaluation>(each);
    if (isPlan(candidate) && nearlyFits(each, options.memoryLimit) &&
        (!nearly || each.seconds < nearly->seconds))
      nearly = std::make_shared<Evaluation>(each);
    if (isBefore)
      task.asBefore = std::make_shared<Evaluation>(each);
    if (areCompared && each.isLegal()) {
      known.add(each);
      double least = known.leastSeconds();
      bool fits = each.memory.total <= options.memoryLimit;
      if (!fits && !std::isinf(least) && least > task.longest) {
        hasStopped = true;
        task.excluding = std::make_shared<Evaluation>(each);
        task.excluding->leastOfSettings = least;
      }
    }
    return each;
  };
  int64_t tried = 0;
  task.found = std::make_shared<Evaluation>(
      task.before && !task.goesOn
          ? withKnownSettings(task, evaluate,
                              [&](const Candidate &candidate) {
                                ++task.evaluations;
                                return evaluateAt(composedStage(task.stage),
                                                  evaluator, candidate);
                              })
          : evaluateWithSettings(evaluate, task.candidate, task.trials.settings,
                                 options.memoryLimit, tried));
  if (hasStopped) {
    task.found = nullptr;
    task.soFar = std::move(best);
    // Compiled whole, it does not fit.
    if (isWhole(task.stage))
      task.found = task.soFar ? task.soFar : task.asBefore;
    return;
  }
  noteNearlyFits(nearly, task);
  if (task.before)
    task.found->leastOfSettings = task.before->leastOfSettings;
  else if (areCompared && !std::isinf(known.leastSeconds()))
    task.found->leastOfSettings = known.leastSeconds();
  if (task.before && task.found->isComposed &&
      task.found->candidate.settings == task.before->candidate.settings)
    boundByBefore(*task.found, *task.before);
}

void EvaluationPool::learn(const EvaluationTask &task) {
  if (!task.found || task.stage != Stage::Full || !task.before ||
      task.before->evaluationSeconds <= 0 || !task.found->isLegal())
    return;
  double effort =
      task.found->evaluationSeconds / task.before->evaluationSeconds;
  double &known = fullEffort[scheduledParts(task.before->candidate)];
  known = std::max(known, effort);
}

void EvaluationPool::run(std::vector<EvaluationTask> &tasks) {
  size_t count = std::min<size_t>(options.threads, tasks.size());
  while (evaluators.size() < count)
    evaluators.push_back(makeEvaluator());
  std::atomic<size_t> next{0};
  auto work = [&](Evaluator &evaluator) {
    for (size_t i = next++; i < tasks.size(); i = next++)
      if (tasks[i].isNeeded || hasTimeFor(tasks[i]))
        run(evaluator, tasks[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i)
    threads.emplace_back([&, i] { work(*evaluators[i]); });
  if (count > 0)
    work(*evaluators[0]);
  for (std::thread &thread : threads)
    thread.join();
  for (const EvaluationTask &task : tasks)
    learn(task);
}
