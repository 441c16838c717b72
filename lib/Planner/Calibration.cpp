#include "tpsp/Planner/Calibration.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/TextTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <bitset>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tpsp;
using namespace tpsp::planner;

//===----------------------------------------------------------------------===//
// Parts of a step
//===----------------------------------------------------------------------===//

double StepParts::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), rest);
}

/// The part to which seconds of this name belong (Evaluation::parts); nullopt
/// for a bubble and for the host.
static std::optional<StepParts::Part> partNamed(llvm::StringRef name) {
  if (name == "bubble" || name == hostPart)
    return std::nullopt;
  if (name == "products")
    return StepParts::Products;
  if (name == "attention")
    return StepParts::Attention;
  return name == "kernels" || name == "copies" ? StepParts::Kernels
                                               : StepParts::Links;
}

StepParts tpsp::planner::partsOf(const Evaluation &step) {
  StepParts parts;
  double bubble = 0;
  for (const auto &[name, seconds] : step.parts)
    if (std::optional<StepParts::Part> part = partNamed(name))
      parts.seconds[*part] += seconds;
    else if (name != hostPart)
      bubble += seconds;
  // A stage that waits waits for other stages' computation.
  double computing = parts.total() - parts.seconds[StepParts::Links];
  if (computing > 0)
    for (auto part :
         {StepParts::Products, StepParts::Attention, StepParts::Kernels})
      parts.seconds[part] += bubble * parts.seconds[part] / computing;
  parts.rest = step.seconds - parts.total();
  return parts;
}

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

static constexpr size_t numTimes = StepParts::count;
using Vector = std::array<double, numTimes>;
using SquareMatrix = std::array<Vector, numTimes>;

/// Runs of one plan differ by so much.
static constexpr double leastNoise = 0.02;
/// A part that takes a smaller share of all runs says nothing about its factor.
static constexpr double leastShare = 0.02;
/// Before any run: how far runs are from the fit, and how many runs that is
/// worth (Calibration.h).
static constexpr double assumedNoise = 0.05;
static constexpr size_t assumedRuns = 3;
/// 19 of 20 values of a normal distribution are within so many deviations.
static constexpr double normalQuantile = 1.96;

/// The inverse of a symmetric positive matrix.
static SquareMatrix inverse(SquareMatrix a) {
  SquareMatrix b = {};
  for (size_t i = 0; i < numTimes; ++i)
    b[i][i] = 1;
  for (size_t i = 0; i < numTimes; ++i) {
    double pivot = a[i][i];
    for (size_t j = 0; j < numTimes; ++j) {
      a[i][j] /= pivot;
      b[i][j] /= pivot;
    }
    for (size_t k = 0; k < numTimes; ++k) {
      double times = k == i ? 0 : a[k][i];
      for (size_t j = 0; j < numTimes; ++j) {
        a[k][j] -= times * a[i][j];
        b[k][j] -= times * b[i][j];
      }
    }
  }
  return b;
}

static bool hasTime(const PredictedRun &run) { return run.run.seconds > 0; }
static bool hasBytes(const PredictedRun &run) {
  return run.run.bytes > 0 && run.bytes > 0;
}

/// The mean share of a part in the measured times.
static double shareOf(llvm::ArrayRef<PredictedRun> runs, size_t part) {
  double sum = 0, count = 0;
  for (const PredictedRun &run : runs)
    if (hasTime(run)) {
      sum += run.parts.seconds[part] / run.run.seconds;
      ++count;
    }
  return count > 0 ? sum / count : 0;
}

static double predicted(const StepParts &parts,
                        llvm::ArrayRef<CalibrationFactor> factors) {
  double sum = parts.rest;
  for (size_t i = 0; i < numTimes; ++i)
    sum += factors[i].value * parts.seconds[i];
  return sum;
}

/// Solves for the freed factors; returns the inverse of the normal matrix, with
/// 0 for the others.
static SquareMatrix solve(llvm::ArrayRef<PredictedRun> runs,
                          llvm::MutableArrayRef<CalibrationFactor> factors,
                          double noise = leastNoise) {
  SquareMatrix normal = {};
  Vector right = {};
  for (size_t i = 0; i < numTimes; ++i) {
    double weight = 1 / (factors[i].spread * factors[i].spread);
    normal[i][i] = factors[i].isFreed ? weight : 1;
  }
  // The unknowns are the factors less 1, whose prior is 0.
  for (const PredictedRun &run : runs) {
    if (!hasTime(run))
      continue;
    double scale = 1 / (run.run.seconds * noise);
    double missing = (run.run.seconds - run.parts.total()) * scale;
    for (size_t i = 0; i < numTimes; ++i)
      for (size_t j = 0; j < numTimes && factors[i].isFreed; ++j)
        if (factors[j].isFreed)
          normal[i][j] +=
              run.parts.seconds[i] * run.parts.seconds[j] * scale * scale;
    for (size_t i = 0; i < numTimes; ++i)
      if (factors[i].isFreed)
        right[i] += run.parts.seconds[i] * scale * missing;
  }
  SquareMatrix known = inverse(normal);
  for (size_t i = 0; i < numTimes; ++i) {
    double more = 0;
    for (size_t j = 0; j < numTimes; ++j)
      more += known[i][j] * right[j];
    factors[i].value = factors[i].isFreed ? std::max(1 + more, 0.05) : 1;
  }
  for (size_t i = 0; i < numTimes; ++i)
    for (size_t j = 0; j < numTimes; ++j)
      if (!factors[i].isFreed || !factors[j].isFreed)
        known[i][j] = 0;
  return known;
}

/// The sum that the factors minimise (Calibration.h).
static double misfit(llvm::ArrayRef<PredictedRun> runs,
                     llvm::ArrayRef<CalibrationFactor> factors) {
  double sum = 0;
  for (const PredictedRun &run : runs)
    if (hasTime(run))
      sum += std::pow((predicted(run.parts, factors) / run.run.seconds - 1) /
                          leastNoise,
                      2);
  for (const CalibrationFactor &factor : factors)
    sum += std::pow((factor.value - 1) / factor.spread, 2);
  return sum;
}

/// Says why a factor is not freed.
static std::string reasonFor(llvm::ArrayRef<PredictedRun> runs, size_t part) {
  double share = shareOf(runs, part);
  if (share < leastShare)
    return fmt::format("no run tells about it, {:.1f} % of the time",
                       100 * share);
  auto count = llvm::count_if(runs, hasTime);
  return fmt::format("{} run{} cannot tell it from the others", count,
                     count == 1 ? "" : "s");
}

/// Frees as many factors as the runs allow, those with which the sum is least,
/// and solves for them.
static void fit(llvm::ArrayRef<PredictedRun> runs,
                llvm::MutableArrayRef<CalibrationFactor> factors) {
  std::bitset<numTimes> told;
  for (size_t part = 0; part < numTimes; ++part)
    told[part] = shareOf(runs, part) >= leastShare;
  size_t count = size_t(llvm::count_if(runs, hasTime)),
         freed = std::min(told.count(), count > 0 ? count - 1 : 0);
  auto solveWith = [&](std::bitset<numTimes> set) {
    for (size_t part = 0; part < numTimes; ++part)
      factors[part].isFreed = set[part];
    solve(runs, factors);
  };
  std::bitset<numTimes> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned each = 0; each < 1u << numTimes; ++each) {
    std::bitset<numTimes> set(each);
    if (set.count() != freed || (set & ~told).any())
      continue;
    solveWith(set);
    if (double sum = misfit(runs, factors); sum < least) {
      least = sum;
      best = set;
    }
  }
  solveWith(best);
  for (size_t part = 0; part < numTimes; ++part)
    factors[part].reason = factors[part].isFreed ? "" : reasonFor(runs, part);
}

Calibration::Calibration(std::vector<PredictedRun> predictedRuns)
    : runs(std::move(predictedRuns)) {
  for (const PredictedRun &run : runs)
    given.push_back(run.run);
  // Isolated products on GPUs are within 10 % of predictions, kernels within
  // some 30 % (docs/Simulation.md); links of clouds have half of their rate.
  // Libraries of attention differ by more than a factor of 2: FlashAttention-2
  // reaches 35 % of an H100, FlashAttention-3 75 % (arXiv 2407.08608, section
  // 1).
  all = {CalibrationFactor{"products", 0.1},
         CalibrationFactor{"attention", 0.5}, CalibrationFactor{"kernels", 0.3},
         CalibrationFactor{"links", 0.5}, CalibrationFactor{"memory", 0.1}};
  fitTimes();
  fitMemory();
  crossValidate();
}

/// The quantile of Student's t with `freedom` degrees of freedom that 19 of 20
/// values do not exceed in size. An expansion around the normal distribution
/// (Abramowitz and Stegun 26.7.5), within 4 % from 3 degrees on.
static double studentQuantile(double freedom) {
  constexpr double z = normalQuantile;
  return z + (std::pow(z, 3) + z) / (4 * freedom) +
         (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) /
             (96 * freedom * freedom);
}

/// `shares`: of each run, how far it is from the fit of `unknowns` factors.
Calibration::Noise Calibration::noiseOf(llvm::ArrayRef<double> shares,
                                        size_t unknowns) {
  double sum = assumedRuns * assumedNoise * assumedNoise;
  for (double share : shares)
    sum += share * share;
  double freedom =
      double(assumedRuns + std::max(shares.size(), unknowns) - unknowns);
  return {std::sqrt(sum / freedom), studentQuantile(freedom)};
}

void Calibration::fitTimes() {
  auto times = llvm::MutableArrayRef(all).take_front(numTimes);
  fit(runs, times);
  std::vector<double> shares;
  for (const PredictedRun &run : runs)
    if (hasTime(run))
      shares.push_back(predicted(run.parts, times) / run.run.seconds - 1);
  timeNoise = noiseOf(
      shares, size_t(llvm::count_if(times, [](const CalibrationFactor &each) {
        return each.isFreed;
      })));
  auto again = all;
  covariance = solve(runs, llvm::MutableArrayRef(again).take_front(numTimes),
                     timeNoise.deviation);
}

void Calibration::fitMemory() {
  CalibrationFactor &memory = all[numTimes];
  std::vector<double> shares;
  for (const PredictedRun &run : runs)
    if (hasBytes(run))
      shares.push_back(double(run.bytes) / double(run.run.bytes));
  memory.isFreed = shares.size() >= 2;
  if (!memory.isFreed) {
    memory.reason = fmt::format("{} run{} with bytes {} too few", shares.size(),
                                shares.size() == 1 ? "" : "s",
                                shares.size() == 1 ? "is" : "are");
    memoryNoise = {memory.spread, normalQuantile};
    return;
  }
  // The sums of the normal equation, with the prior.
  double normal = 1 / (memory.spread * memory.spread), right = 0, squares = 0;
  for (double share : shares) {
    squares += share * share;
    right += share * (1 - share) / (leastNoise * leastNoise);
  }
  memory.value = 1 + right / (normal + squares / (leastNoise * leastNoise));
  std::vector<double> left;
  for (double share : shares)
    left.push_back(memory.value * share - 1);
  memoryNoise = noiseOf(left, 1);
  memoryVariance = 1 / (normal + squares / std::pow(memoryNoise.deviation, 2));
}

/// The seconds of run `left` as predicted from the other runs.
static double leftOut(llvm::ArrayRef<PredictedRun> runs, size_t left,
                      llvm::ArrayRef<CalibrationFactor> priors) {
  std::vector<PredictedRun> others = runs.vec();
  others.erase(others.begin() + ptrdiff_t(left));
  std::vector<CalibrationFactor> factors;
  for (const CalibrationFactor &prior : priors.take_front(numTimes))
    factors.push_back({prior.name, prior.spread});
  fit(others, factors);
  return predicted(runs[left].parts, factors);
}

/// How far two times are apart; twice as long is as far as half as long.
static double distance(double a, double b) {
  constexpr double least = 1e-12;
  return std::abs(std::log(std::max(a, least) / std::max(b, least)));
}

namespace {

/// How well runs are predicted from the others.
struct Validation {
  /// The mean error, a share; 0 with fewer than two runs.
  double error = 0;
  /// The run that is furthest from its prediction, its seconds as predicted,
  /// and their distance; null with fewer than two runs.
  const PredictedRun *worst = nullptr;
  double expected = 0, distance = 0;

  /// Twice the least spread of any factor is no accident.
  bool contradicts() const { return distance > 0.2; }
};

} // namespace

/// Predicts each of `timed`, runs that have a time, from the others.
static Validation validate(llvm::ArrayRef<PredictedRun> timed,
                           llvm::ArrayRef<CalibrationFactor> priors) {
  Validation all;
  if (timed.size() < 2)
    return all;
  for (size_t left = 0; left < timed.size(); ++left) {
    double expected = leftOut(timed, left, priors);
    double measured = timed[left].run.seconds;
    all.error += std::abs(expected / measured - 1) / double(timed.size());
    double apart = distance(expected, measured);
    if (apart > all.distance) {
      all.distance = apart;
      all.expected = expected;
      all.worst = &timed[left];
    }
  }
  return all;
}

/// One wrong run makes good ones seem wrong, so that only the worst is named.
void Calibration::crossValidate() {
  std::vector<PredictedRun> timed;
  llvm::copy_if(runs, std::back_inserter(timed), hasTime);
  Validation found = validate(timed, all);
  leftOutError = found.error;
  if (timed.size() < 3 || !found.contradicts())
    return;
  std::string problem = fmt::format(
      "the run of {} contradicts the others: it took {}, and they predict {}; "
      "measure it again, or check that its plan is the one that ran",
      found.worst->name(), rt::secondsText(found.worst->run.seconds),
      rt::secondsText(found.expected));
  // Three others outvote it if they are much closer to each other.
  size_t number = size_t(found.worst - timed.data());
  std::vector<PredictedRun> others = timed;
  others.erase(others.begin() + ptrdiff_t(number));
  Validation ofOthers = validate(others, all);
  if (others.size() >= 3 && found.distance > 4 * ofOthers.distance) {
    problem += "; its time is left out";
    leftOutError = ofOthers.error;
    forgetTime(number);
    fitTimes();
  }
  problems.push_back(problem);
}

/// Makes run `number` of those with a time one without.
void Calibration::forgetTime(size_t number) {
  for (PredictedRun &run : runs)
    if (hasTime(run) && number-- == 0)
      run.run.seconds = 0;
}

Calibrated Calibration::seconds(const StepParts &parts) const {
  double value = predicted(parts, llvm::ArrayRef(all).take_front(numTimes));
  double fitted = std::pow(timeNoise.deviation * value, 2), assumed = 0;
  for (size_t i = 0; i < numTimes; ++i) {
    for (size_t j = 0; j < numTimes; ++j)
      fitted += covariance[i][j] * parts.seconds[i] * parts.seconds[j];
    // Factors that no run has fixed are as uncertain as before.
    if (!all[i].isFreed)
      assumed += std::pow(all[i].spread * parts.seconds[i], 2);
  }
  return {value, std::hypot(timeNoise.widths * std::sqrt(fitted),
                            normalQuantile * std::sqrt(assumed))};
}

Calibrated Calibration::bytes(int64_t predictedBytes) const {
  double own = double(predictedBytes), value = all[numTimes].value * own;
  double variance =
      std::pow(memoryNoise.deviation * value, 2) + memoryVariance * own * own;
  return {value, memoryNoise.widths * std::sqrt(variance)};
}

std::string PredictedRun::name() const {
  std::vector<std::string> own;
  for (const std::string &each : {run.step(), settings})
    if (!each.empty())
      own.push_back(each);
  return own.empty() ? run.plan
                     : fmt::format("{} ({})", run.plan, llvm::join(own, ", "));
}

std::vector<ComparedRun> Calibration::compared() const {
  std::vector<ComparedRun> rows;
  for (auto [run, measured] : llvm::zip_equal(runs, given))
    rows.push_back({run.name(), measured.seconds, run.parts.total(),
                    seconds(run.parts), measured.bytes, run.bytes,
                    bytes(run.bytes)});
  return rows;
}

/// The seconds of all runs: measured, predicted, and calibrated.
static std::string tableOf(llvm::ArrayRef<ComparedRun> rows) {
  TextTable table("lrrrr");
  table.add({"run", "measured", "predicted", "calibrated", "+-"});
  for (const ComparedRun &row : rows)
    table.add(
        {row.name,
         row.measuredSeconds > 0 ? rt::secondsText(row.measuredSeconds) : "",
         rt::secondsText(row.predictedSeconds),
         rt::secondsText(row.seconds.value),
         rt::secondsText(row.seconds.margin)});
  return table.text();
}

std::string Calibration::text() const {
  auto count = llvm::count_if(given, [](const MeasuredRun &run) {
    return run.seconds > 0 || run.bytes > 0;
  });
  std::string text =
      fmt::format("\nCalibrated by {} run{}\n", count, count == 1 ? "" : "s");
  for (const CalibrationFactor &factor : all)
    text +=
        factor.isFreed
            ? fmt::format("  {:<10} times {:.2f}\n", factor.name, factor.value)
            : fmt::format("  {:<10} stays 1: {}\n", factor.name, factor.reason);
  if (leftOutError > 0)
    text += fmt::format("  each run is predicted from the others to {:.1f} % "
                        "on average\n",
                        100 * leftOutError);
  for (const std::string &problem : problems)
    text += "  " + problem + "\n";
  return text + tableOf(compared());
}

void tpsp::planner::calibrate(const Calibration &calibration,
                              Evaluation &step) {
  if (!step.isLegal() || step.isBound)
    return;
  StepParts parts = partsOf(step);
  Calibrated time = calibration.seconds(parts);
  const auto &factors = calibration.factors();
  double all = step.seconds > 0 ? time.value / step.seconds : 1;
  for (auto &[name, seconds] : step.parts) {
    std::optional<StepParts::Part> part = partNamed(name);
    seconds *= part ? factors[*part].value : name == hostPart ? 1 : all;
  }
  for (double Evaluation::*links :
       {&Evaluation::exposed, &Evaluation::communication})
    step.*links *= factors[StepParts::Links].value;
  step.seconds = time.value;
  step.isComposed = true;
  step.error.lessTime = step.error.moreTime =
      time.value > 0 ? time.margin / time.value : 0;
  step.atLeast = 0;
  // One factor for all three: the total is never less than what is profiled.
  MemoryBill &memory = step.memory;
  for (int64_t *bytes :
       {&memory.total, &memory.profiled, &memory.profiledReserved})
    *bytes = int64_t(calibration.bytes(*bytes).value);
}
