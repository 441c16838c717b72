#include "Claim.h"

#include "Finalists.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::planner;

using Stage = EvaluationTask::Stage;

static constexpr double any = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// Finds the first row of a whole program that is likely to be as fast as
/// `best`, which is composed. Returns the end if there is none. With overlap,
/// 22 of 27 composed steps were within 6 % of whole ones (docs/Planner.md),
/// although their assumed error is larger.
static std::vector<Evaluation>::iterator
wholeFirst(std::vector<Evaluation> &rows, const Evaluation &best,
           int64_t memoryLimit) {
  constexpr double likely = 0.06;
  double longest = best.seconds * (1 + std::min(best.error.moreTime, likely));
  return llvm::find_if(rows, [&](const Evaluation &each) {
    return each.isPlan(memoryLimit) && !each.isComposed &&
           each.seconds <= longest;
  });
}

void Claim::sort() {
  llvm::stable_sort(
      result.evaluations, [&](const Evaluation &a, const Evaluation &b) {
        return comesBefore(a, b, options.memoryLimit, space.program());
      });
  const Evaluation *first = best();
  if (!first || !first->isComposed)
    return;
  std::vector<Evaluation> &rows = result.evaluations;
  auto whole = wholeFirst(rows, *first, options.memoryLimit);
  if (whole != rows.end())
    std::rotate(rows.begin(), whole, whole + 1);
}

Evaluation *Claim::best() {
  return const_cast<Evaluation *>(result.best(options.memoryLimit));
}

//===----------------------------------------------------------------------===//
// Whole programs
//===----------------------------------------------------------------------===//

/// A task to compile the row whole. It begins with the settings that nearly
/// fit, if any: compiled whole, they may fit.
EvaluationTask Claim::wholeTask(const Evaluation &row) const {
  EvaluationTask task;
  task.stage = Stage::Whole;
  task.candidate = row.candidate;
  task.trials = settingsFor(row.candidate, bounds, options);
  task.before =
      row.nearlyFits ? row.nearlyFits : std::make_shared<const Evaluation>(row);
  return task;
}

/// The error of the composed figures of a program that was compiled whole.
static CompositionError errorOf(const Evaluation &composed,
                                const Evaluation &whole) {
  auto share = [](double from, double to) {
    return from > 0 ? (to - from) / from : 0;
  };
  double time = share(composed.seconds, whole.seconds);
  double memory =
      share(double(composed.memory.total), double(whole.memory.total));
  return {std::max(-time, 0.0), std::max(time, 0.0), 0, std::max(-memory, 0.0),
          std::max(memory, 0.0)};
}

void Claim::replace(Evaluation &row, EvaluationTask &task) {
  ++result.finalists;
  const Evaluation *same = task.asBefore.get();
  // A step without overlap says nothing about figures composed with overlap.
  bool isAlike = row.isSerial == (task.stage == Stage::WholeSerial);
  if (same && same->isLegal() && isAlike)
    result.seen.raiseTo(errorOf(*task.before, *same));
  row = std::move(*task.found);
  row.isComposed = false;
  row.error = {};
  row.isSerial = task.stage == Stage::WholeSerial;
}

/// Raises the errors of all composed rows to the largest errors seen.
void Claim::raiseErrors() {
  for (Evaluation &row : result.evaluations)
    if (row.isComposed)
      row.error.raiseTo(result.seen);
}

size_t Claim::evaluate(const std::vector<Evaluation *> &rows,
                       std::vector<EvaluationTask> tasks) {
  pool.run(tasks);
  size_t done = 0;
  for (auto [row, task] : llvm::zip_equal(rows, tasks)) {
    result.state.evaluations += task.evaluations;
    if (!task.found)
      continue;
    ++done;
    replace(*row, task);
  }
  raiseErrors();
  sort();
  return done;
}

int64_t Claim::evaluationsLeft() const {
  return options.evaluationsLimit == 0
             ? INT64_MAX
             : std::max<int64_t>(
                   options.evaluationsLimit - result.state.evaluations, 0);
}

void Claim::evaluateFinalists() {
  double fastest = best()->mostWhole();
  std::vector<Evaluation *> rows;
  for (Evaluation &each : result.evaluations)
    if (each.isComposed && each.isLegal() && !isMuchTooLarge(each, options))
      rows.push_back(&each);
  // The best, followed by those that may be the fastest.
  size_t most = std::min(rows.size(), size_t(options.finalists));
  auto mayBeFirst = [&](const Evaluation *row) {
    return leastOf(*row) < fastest;
  };
  rows.erase(std::stable_partition(rows.begin() + most, rows.end(), mayBeFirst),
             rows.end());
  std::stable_partition(rows.begin(), rows.end(), mayBeFirst);
  if (int64_t(rows.size()) > evaluationsLeft())
    rows.resize(size_t(evaluationsLeft()));
  std::vector<EvaluationTask> tasks;
  for (const Evaluation *row : rows)
    tasks.push_back(wholeTask(*row));
  evaluate(rows, std::move(tasks));
}

void Claim::makeFirstWhole() {
  for (Evaluation *first = best(); first && first->isComposed; first = best()) {
    EvaluationTask task = wholeTask(*first);
    if (first->isSerial && !pool.hasTimeFor(task))
      task.stage = Stage::WholeSerial;
    task.isNeeded = true;
    evaluate({first}, {task});
  }
}

bool Claim::makeTiesWhole() {
  const Evaluation *first = best();
  if (!first)
    return false;
  std::vector<Evaluation *> rows;
  std::vector<EvaluationTask> tasks;
  size_t most =
      size_t(std::min<int64_t>(int64_t(options.batch), evaluationsLeft()));
  for (Evaluation &each : result.evaluations)
    if (each.isComposed && rows.size() < most &&
        leastOf(each) < first->seconds) {
      rows.push_back(&each);
      tasks.push_back(wholeTask(each));
    }
  return evaluate(rows, std::move(tasks)) > 0;
}

//===----------------------------------------------------------------------===//
// Remaining candidates
//===----------------------------------------------------------------------===//

/// The least seconds of a row, compiled whole. If it is not certain whether the
/// plan fits, any settings of its mesh are possible.
double Claim::leastOf(const Evaluation &row) const {
  if (!row.isLegal())
    return any;
  int64_t limit = options.memoryLimit;
  bool fits = row.memory.total <= limit;
  if (row.isBound)
    return fits ? row.seconds : any;
  double least = fits ? row.leastWhole() : any;
  if (row.mayFitWhole(limit) && !row.surelyFitsWhole(limit))
    least = std::min(least, std::max(bounds.of({row.candidate, 1}).seconds,
                                     row.leastOfSettings));
  if (row.nearlyFits)
    least = std::min(least, row.nearlyFits->leastWhole());
  return std::min(least, row.untried);
}

double Claim::leastOfRows() const {
  double least = any;
  for (const Evaluation &row : result.evaluations)
    least = std::min(least, leastOf(row));
  return least;
}
