#include "Finalists.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

SettingsToTry tpsp::planner::settingsFor(const Candidate &candidate,
                                         const Bounds &bounds,
                                         const SearchOptions &options,
                                         double longest) {
  const std::vector<Settings> &all =
      candidate.hasStages() ? options.stageSettings : options.settings;
  return bounds.settingsToTry(candidate, all, options.memoryLimit, longest);
}

/// A task for the row's settings and those after them that may be faster.
static EvaluationTask taskToGoOn(const Evaluation &row, const Bounds &bounds,
                                 const SearchOptions &options) {
  EvaluationTask task;
  task.candidate = row.candidate;
  task.trials = settingsFor(row.candidate, bounds, options, row.seconds);
  std::vector<Settings> &settings = task.trials.settings;
  llvm::erase(settings, row.candidate.settings);
  settings.insert(settings.begin(), row.candidate.settings);
  task.before = task.asBefore = std::make_shared<Evaluation>(row);
  task.goesOn = true;
  return task;
}

void tpsp::planner::trySlowerSettings(llvm::ArrayRef<Evaluation *> rows,
                                      EvaluationPool &pool,
                                      const Bounds &bounds,
                                      const SearchOptions &options,
                                      int64_t &evaluations) {
  std::vector<EvaluationTask> tasks;
  std::vector<Evaluation *> open;
  for (Evaluation *row : rows)
    if (row->untried < row->seconds) {
      tasks.push_back(taskToGoOn(*row, bounds, options));
      open.push_back(row);
    }
  pool.run(tasks);
  for (auto [row, task] : llvm::zip_equal(open, tasks)) {
    evaluations += task.evaluations;
    if (!task.found)
      continue;
    *row = std::move(*task.found);
    row->untried = task.trials.leftOut;
  }
}

/// Returns null if none fits.
static const Evaluation *
fastestThatFits(const std::vector<Evaluation> &evaluations,
                int64_t memoryLimit) {
  const Evaluation *fastest = nullptr;
  for (const Evaluation &each : evaluations)
    if (each.isLegal() && each.memory.total <= memoryLimit &&
        (!fastest || each.seconds < fastest->seconds))
      fastest = &each;
  return fastest;
}

bool tpsp::planner::surelyFits(const Evaluation &serial,
                               const SearchOptions &options) {
  double share = (1 + options.overlapMemory) * (1 + serial.error.moreMemory);
  return share * double(serial.memory.total) <= double(options.memoryLimit);
}

bool tpsp::planner::isMuchTooLarge(const Evaluation &evaluation,
                                   const SearchOptions &options) {
  constexpr double leastShare = 0.9;
  return leastShare * double(evaluation.memory.total) >
         double(options.memoryLimit);
}

std::optional<Evaluation> tpsp::planner::bestSerial(
    const std::map<std::string, std::shared_ptr<const Evaluation>> &all,
    const std::set<std::string> &overlapped,
    const std::vector<Evaluation> &evaluations, const SearchOptions &options,
    const ProgramFacts &facts) {
  std::shared_ptr<const Evaluation> best;
  for (const auto &[text, each] : all)
    if (!overlapped.count(text) && surelyFits(*each, options) &&
        (!best || comesBefore(*each, *best, options.memoryLimit, facts)))
      best = each;
  const Evaluation *known = fastestThatFits(evaluations, options.memoryLimit);
  if (!best || (known && known->seconds <= best->seconds))
    return std::nullopt;
  Evaluation found = *best;
  found.isSerial = true;
  return found;
}
