#include "tpsp/Runtime/Train/Trainer.h"

#include "Metrics.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"
#include "tpsp/Runtime/Driver/Report/StepResults.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;
using Clock = std::chrono::steady_clock;

namespace fs = std::filesystem;

/// The state of a run that changes from step to step.
struct Trainer::Progress {
  TrainingPosition &position;
  std::vector<StepRecord> records;
  /// The step of the last checkpoint; -1 if there is none.
  int64_t savedStep = -1;
  Clock::time_point begin = Clock::now();
  int64_t firstStep = position.step;
};

Trainer::Trainer(TrainingStep step, Batches batches, TrainingOptions options,
                 std::function<void(const std::string &)> say)
    : step(std::move(step)), batches(std::move(batches)),
      options(std::move(options)), say(std::move(say)) {}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "1:02:03", "02:03"
static std::string clockText(double seconds) {
  auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                       whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

/// "123", "12.3k", "4.56M"
static std::string countText(double count) {
  if (count < 1e3)
    return fmt::format("{:.3g}", count);
  return count < 1e6 ? fmt::format("{:.1f}k", count / 1e3)
                     : fmt::format("{:.2f}M", count / 1e6);
}

/// `unit` is what is trained on: "token" or "sample".
static std::string lineOf(const StepRecord &record, int64_t steps,
                          const char *unit, double secondsLeft) {
  std::string line =
      fmt::format("step {:>{}}/{}  loss {:.4f}", record.step,
                  fmt::formatted_size("{}", steps), steps, record.loss);
  if (record.isSkipped)
    line += "  skipped";
  else if (record.norm)
    line += fmt::format("  norm {:.3f}", *record.norm);
  if (record.dropped)
    line += fmt::format("  dropped {}", countText(*record.dropped));
  if (record.lossScale)
    line += fmt::format("  scale {}", countText(*record.lossScale));
  line += fmt::format("  lr {:.2e}  {} {}s/s", record.learningRate,
                      countText(record.tokensPerSecond), unit);
  if (record.utilisation)
    line += fmt::format("  {:.1f} % MFU", 100 * *record.utilisation);
  return line + fmt::format("  {} left", clockText(secondsLeft));
}

/// Estimated from the mean of the steps so far.
static double secondsLeft(int64_t done, int64_t left, Clock::time_point begin) {
  double passed = std::chrono::duration<double>(Clock::now() - begin).count();
  return done > 0 ? passed / double(done) * double(left) : 0;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static bool isDue(int64_t step, int64_t every) {
  return every > 0 && step % every == 0;
}

/// Returns "; the last checkpoint ...", or "".
std::string Trainer::lastCheckpoint(const Progress &progress) const {
  if (progress.savedStep < 0)
    return "";
  return fmt::format("; the last checkpoint is of step {}, in '{}'",
                     progress.savedStep, options.out);
}

/// Says what ended the run, where the last checkpoint is, and what may help.
Status Trainer::divergence(const Progress &progress,
                           const std::string &what) const {
  return {TPSP_RT_INVALID,
          what + lastCheckpoint(progress) +
              "; a smaller --lr, a longer --warmup or --clip 1 may help"};
}

Status Trainer::describeFailure(const Progress &progress,
                                const StepValues &values) const {
  std::string text = fmt::format("the loss of step {} is {}",
                                 progress.position.step + 1, values.loss);
  if (!progress.records.empty()) {
    const StepRecord &before = progress.records.back();
    text +=
        fmt::format("; that of step {} was {:.4f}", before.step, before.loss);
    if (before.norm)
      text += fmt::format(", with a gradient of norm {:.4g}", *before.norm);
  }
  return divergence(progress, text);
}

Status Trainer::describeFirstFailure(const Progress &progress,
                                     const StepScalars &scalars,
                                     const StepValues &values) {
  std::vector<std::string> lines;
  if (options.watch) {
    TPSP_TRY(options.restart(lines));
    if (options.watch->begin(*step.loaded().world)) {
      StepValues again;
      TPSP_TRY(step.run(batches, progress.position.samples, scalars, again));
    }
    for (std::string &line : options.watch->end())
      lines.push_back(std::move(line));
  }
  std::string text = fmt::format(
      "the loss of step {} is {}, before any update: the learning rate has no "
      "part in it",
      scalars.step, values.loss);
  for (const std::string &line : lines)
    text += "; " + line;
  return {TPSP_RT_INVALID, text};
}

Status Trainer::checkStep(const Progress &progress, const StepScalars &scalars,
                          const StepValues &values) {
  if (!std::isfinite(values.loss))
    return progress.records.empty()
               ? describeFirstFailure(progress, scalars, values)
               : describeFailure(progress, values);
  if (std::isnan(values.dropped))
    return {};
  Status status = checkDropped(values.dropped, options.maxDropped);
  if (status.ok())
    return {};
  return {status.code(),
          fmt::format("step {}: {}{}", progress.position.step + 1,
                      status.message(), lastCheckpoint(progress))};
}

Status Trainer::oneStep(Progress &progress) {
  TrainingPosition &position = progress.position;
  StepScalars scalars;
  scalars.step = position.step + 1;
  scalars.learningRate = options.rate.at(scalars.step);
  StepValues values;
  auto begin = Clock::now();
  TPSP_TRY(step.run(batches, position.samples, scalars, values));
  TPSP_TRY(checkStep(progress, scalars, values));
  StepRecord record;
  record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  position.step += 1;
  position.samples += batches.sequences();
  record.step = position.step;
  record.loss = values.loss;
  if (std::isfinite(values.norm))
    record.norm = values.norm;
  if (!std::isnan(values.dropped))
    record.dropped = values.dropped;
  if (!std::isnan(values.lossScale))
    record.lossScale = values.lossScale;
  record.isSkipped = values.isSkipped;
  record.learningRate = scalars.learningRate;
  record.tokens = position.samples * batches.length();
  record.tokensPerSecond = batches.tokensPerBatch() / record.seconds;
  const LoadedProgram &program = step.loaded();
  if (options.peakFlops > 0)
    record.utilisation = program.plan->matmulFlops() *
                         program.world->numRanks() / record.seconds /
                         options.peakFlops;
  progress.records.push_back(record);
  return {};
}

Status Trainer::evaluate(Progress &progress) {
  TPSP_TRY(copyParameters(step.loaded(), evaluated->step.loaded()));
  double sum = 0;
  for (int64_t batch = 0; batch < options.evalBatches; ++batch) {
    StepValues values;
    TPSP_TRY(evaluated->step.run(evaluated->batches,
                                 batch * evaluated->batches.sequences(),
                                 StepScalars(), values));
    sum += values.loss;
  }
  StepRecord &record = progress.records.back();
  record.evalLoss = sum / options.evalBatches;
  if (speaks())
    say(fmt::format("step {}  evaluation: loss {:.4f} over {} batch{}",
                    record.step, *record.evalLoss, options.evalBatches,
                    options.evalBatches > 1 ? "es" : ""));
  return {};
}

Status Trainer::save(Progress &progress) {
  if (options.out.empty() || progress.savedStep == progress.position.step)
    return {};
  if (Status s = checkFinite(*step.loaded().world, *step.loaded().plan);
      s.code() == TPSP_RT_INVALID)
    return divergence(
        progress,
        fmt::format("after step {}, {}", progress.position.step, s.message()));
  else if (!s.ok())
    return s;
  TPSP_TRY(saveCheckpoint(*step.loaded().world, *step.loaded().plan,
                          options.out, progress.position, options.keep));
  progress.savedStep = progress.position.step;
  return {};
}

Status Trainer::run(TrainingPosition &position,
                    const std::function<bool()> &isInterrupted) {
  std::string metrics =
      options.out.empty() ? "" : (fs::path(options.out) / "metrics.jsonl");
  Progress progress{position, {}, position.step > 0 ? position.step : -1};
  if (speaks() && !metrics.empty()) {
    progress.records = readMetrics(metrics, position.step);
    TPSP_TRY(writeMetrics(metrics, progress.records));
  }
  progress.records.reserve(progress.records.size() +
                           std::min<int64_t>(options.steps, 1 << 16));
  bool isLast = position.step >= options.steps;
  while (!isLast) {
    TPSP_TRY(oneStep(progress));
    // Written before the checkpoint, so that a run resumed from it finds a line
    // for each of its steps. The resumed run drops lines of later steps.
    bool writes = speaks() && !metrics.empty();
    if (writes)
      TPSP_TRY(appendMetrics(metrics, progress.records.back()));
    int64_t interrupted = isInterrupted();
    TPSP_TRY(step.loaded().world->sumOverProcesses(interrupted));
    isLast = position.step >= options.steps || interrupted > 0;
    bool isFirst = position.step == progress.firstStep + 1;
    if (speaks() &&
        (isFirst || isLast || isDue(position.step, options.logEvery)))
      say(lineOf(progress.records.back(), options.steps, batches.unit(),
                 secondsLeft(position.step - progress.firstStep,
                             options.steps - position.step, progress.begin)));
    // Saved before evaluating, because a user who interrupts a run may not wait
    // for an evaluation.
    if (isLast || isDue(position.step, options.saveEvery))
      TPSP_TRY(save(progress));
    if (evaluated && (isLast || isDue(position.step, options.evalEvery))) {
      TPSP_TRY(evaluate(progress));
      if (writes)
        TPSP_TRY(writeMetrics(metrics, progress.records));
    }
  }
  if (speaks() && !options.plot.empty())
    TPSP_TRY(writeText(options.plot, curvesSvg(progress.records)));
  return {};
}
