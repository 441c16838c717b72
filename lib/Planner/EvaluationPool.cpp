#include "EvaluationPool.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace tpsp;
using namespace tpsp::planner;
using Stage = EvaluationTask::Stage;

double EvaluationPool::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

bool EvaluationPool::isOutOfTime() const {
  return options.secondsLimit > 0 && seconds() > options.secondsLimit;
}

bool EvaluationPool::hasTimeFor(const EvaluationTask &task) const {
  if (options.secondsLimit <= 0)
    return true;
  double needs = 0;
  if (task.before && !evaluators.empty())
    needs = task.before->evaluationSeconds *
            (task.stage == Stage::Whole ? evaluators.front()->wholeEffort()
                                        : fullEffort);
  return seconds() + needs <= options.secondsLimit;
}

/// The settings from that on which the serial stage chose.
static std::vector<Settings> settingsFrom(const EvaluationTask &task) {
  auto first = task.settings.begin();
  if (task.before)
    first = std::find_if(task.settings.begin(), task.settings.end(),
                         [&](const Settings &each) {
                           return each == task.before->candidate.settings;
                         });
  return first == task.settings.end()
             ? task.settings
             : std::vector<Settings>(first, task.settings.end());
}

void EvaluationPool::run(Evaluator &evaluator, EvaluationTask &task) const {
  bool hasStopped = false;
  auto evaluate = [&](const Candidate &candidate) {
    hasStopped |= isOutOfTime();
    return hasStopped                    ? Evaluation()
           : task.stage == Stage::Serial ? evaluator.evaluateSerially(candidate)
                                         : evaluator.evaluate(candidate);
  };
  if (task.stage == Stage::Whole) {
    task.evaluations = 1;
    task.found =
        std::make_shared<Evaluation>(evaluator.evaluateWhole(task.candidate));
    return;
  }
  task.found = std::make_shared<Evaluation>(
      evaluateWithSettings(evaluate, task.candidate, settingsFrom(task),
                           options.memoryLimit, task.evaluations));
  if (hasStopped)
    task.found = nullptr;
  // The compiler takes no schedule that is slower than none.
  else if (task.before && task.found->isComposed &&
           task.found->candidate.settings == task.before->candidate.settings)
    task.found->seconds = std::min(task.found->seconds, task.before->seconds);
}

void EvaluationPool::learn(const EvaluationTask &task) {
  if (!task.found || task.stage != Stage::Full || !task.before ||
      task.before->evaluationSeconds <= 0 || !task.found->isLegal())
    return;
  double effort =
      task.found->evaluationSeconds / task.before->evaluationSeconds;
  fullEffort = hasLearnt ? std::max(fullEffort, effort) : effort;
  hasLearnt = true;
}

void EvaluationPool::run(std::vector<EvaluationTask> &tasks) {
  size_t count = std::min<size_t>(options.threads, tasks.size());
  while (evaluators.size() < count)
    evaluators.push_back(makeEvaluator());
  std::atomic<size_t> next{0};
  auto work = [&](Evaluator &evaluator) {
    for (size_t i = next++; i < tasks.size(); i = next++)
      if (hasTimeFor(tasks[i]))
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
