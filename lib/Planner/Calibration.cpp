#include "tpsp/Planner/Calibration.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <cmath>

using namespace tpsp;
using namespace tpsp::planner;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The cells of a line; a quoted cell may have commas.
static std::vector<std::string> cellsOf(llvm::StringRef line) {
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (char c : line)
    if (c == '"')
      isQuoted = !isQuoted;
    else if (c == ',' && !isQuoted)
      cells.emplace_back();
    else
      cells.back() += c;
  for (std::string &cell : cells)
    cell = llvm::StringRef(cell).trim().str();
  return cells;
}

/// Reads a number from `least` to 1e18, or 0 from an empty cell.
static bool readNumber(const std::string &cell, double least, double &number) {
  number = 0;
  return cell.empty() || (!llvm::StringRef(cell).getAsDouble(number) &&
                          number >= least && number <= 1e18);
}

static llvm::Error wrong(size_t line, const std::string &what) {
  return llvm::createStringError(fmt::format("line {}: {}", line, what));
}

static llvm::Expected<MeasuredRun> parseRun(llvm::StringRef text, size_t line) {
  std::vector<std::string> cells = cellsOf(text);
  if (cells.size() != 3)
    return wrong(line, fmt::format("expected three cells, plan, seconds and "
                                   "bytes, not {}; quote a plan with commas",
                                   cells.size()));
  MeasuredRun run;
  run.plan = cells[0];
  double bytes = 0;
  if (run.plan.empty())
    return wrong(line, "the plan is empty");
  if (!readNumber(cells[1], 1e-9, run.seconds))
    return wrong(line, fmt::format("seconds: expected a number from 1e-9 to "
                                   "1e18, or nothing, not '{}'",
                                   cells[1]));
  if (!readNumber(cells[2], 1, bytes))
    return wrong(line, fmt::format("bytes: expected a number from 1 to 1e18, "
                                   "or nothing, not '{}'",
                                   cells[2]));
  run.bytes = int64_t(bytes);
  return run;
}

llvm::Expected<std::vector<MeasuredRun>>
tpsp::planner::parseRuns(llvm::StringRef text) {
  std::vector<MeasuredRun> runs;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  bool isHeader = true;
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty())
      continue;
    if (isHeader &&
        cellsOf(line) != std::vector<std::string>{"plan", "seconds", "bytes"})
      return wrong(number + 1, "expected the header plan,seconds,bytes");
    if (!std::exchange(isHeader, false)) {
      llvm::Expected<MeasuredRun> run = parseRun(line, number + 1);
      if (!run)
        return run.takeError();
      runs.push_back(std::move(*run));
    }
  }
  if (runs.empty())
    return llvm::createStringError("there is no run after the header "
                                   "plan,seconds,bytes");
  return runs;
}

StepParts tpsp::planner::partsOf(const Evaluation &step) {
  StepParts parts;
  double bubble = 0;
  for (const auto &[name, seconds] : step.parts)
    if (name == "products" || name == "attention")
      parts.seconds[StepParts::Products] += seconds;
    else if (name == "kernels" || name == "copies")
      parts.seconds[StepParts::Kernels] += seconds;
    else if (name == "bubble")
      bubble += seconds;
    else if (name != hostPart)
      parts.seconds[StepParts::Links] += seconds;
  // A stage that waits waits for other stages' computation.
  double computing =
      parts.seconds[StepParts::Products] + parts.seconds[StepParts::Kernels];
  if (computing > 0)
    for (auto part : {StepParts::Products, StepParts::Kernels})
      parts.seconds[part] += bubble * parts.seconds[part] / computing;
  parts.rest = step.seconds - parts.total();
  return parts;
}

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

using Vector = std::array<double, 3>;
using Matrix3 = std::array<Vector, 3>;

/// Runs of one plan differ by so much, at least.
static constexpr double leastNoise = 0.02;
/// A part that takes a smaller share of all runs says nothing about its factor.
static constexpr double leastShare = 0.02;
/// The half width of the interval of 19 in 20, in standard deviations.
static constexpr double widths = 1.96;

/// The inverse of a symmetric positive matrix.
static Matrix3 inverse(Matrix3 a) {
  Matrix3 b = {Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0, 0, 1}};
  for (size_t i = 0; i < 3; ++i) {
    double pivot = a[i][i];
    for (size_t j = 0; j < 3; ++j) {
      a[i][j] /= pivot;
      b[i][j] /= pivot;
    }
    for (size_t k = 0; k < 3; ++k) {
      double times = k == i ? 0 : a[k][i];
      for (size_t j = 0; j < 3; ++j) {
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

/// Chooses the factors to free: those of the largest parts, weighed by how
/// little is known of them.
static void chooseFreed(llvm::ArrayRef<PredictedRun> runs,
                        llvm::MutableArrayRef<CalibrationFactor> factors) {
  size_t count = size_t(llvm::count_if(runs, hasTime));
  std::vector<size_t> order = {0, 1, 2};
  auto weight = [&](size_t part) {
    return shareOf(runs, part) * factors[part].spread;
  };
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return weight(a) > weight(b); });
  size_t left = count > 0 ? count - 1 : 0;
  for (size_t part : order) {
    CalibrationFactor &factor = factors[part];
    factor.isFreed = false;
    double share = shareOf(runs, part);
    if (share < leastShare) {
      factor.reason = fmt::format("no run tells about it, {:.1f} % of the time",
                                  100 * share);
    } else if (left == 0) {
      factor.reason = fmt::format("{} run{} of different plans cannot tell it "
                                  "from the others",
                                  count, count == 1 ? "" : "s");
    } else {
      factor.isFreed = true;
      --left;
    }
  }
}

static double predicted(const StepParts &parts,
                        llvm::ArrayRef<CalibrationFactor> factors) {
  double sum = parts.rest;
  for (size_t i = 0; i < 3; ++i)
    sum += factors[i].value * parts.seconds[i];
  return sum;
}

/// Solves for the freed factors; returns the inverse of the normal matrix, with
/// 0 for the others.
static Matrix3 solve(llvm::ArrayRef<PredictedRun> runs,
                     llvm::MutableArrayRef<CalibrationFactor> factors) {
  Matrix3 normal = {};
  Vector right = {};
  for (size_t i = 0; i < 3; ++i) {
    double weight = 1 / (factors[i].spread * factors[i].spread);
    normal[i][i] = factors[i].isFreed ? weight : 1;
  }
  // The unknowns are the factors less 1, whose prior is 0.
  for (const PredictedRun &run : runs) {
    if (!hasTime(run))
      continue;
    double scale = 1 / (run.run.seconds * leastNoise);
    double missing = (run.run.seconds - run.parts.total()) * scale;
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3 && factors[i].isFreed; ++j)
        if (factors[j].isFreed)
          normal[i][j] +=
              run.parts.seconds[i] * run.parts.seconds[j] * scale * scale;
    for (size_t i = 0; i < 3; ++i)
      if (factors[i].isFreed)
        right[i] += run.parts.seconds[i] * scale * missing;
  }
  Matrix3 known = inverse(normal);
  for (size_t i = 0; i < 3; ++i) {
    double more = 0;
    for (size_t j = 0; j < 3; ++j)
      more += known[i][j] * right[j];
    factors[i].value = factors[i].isFreed ? std::max(1 + more, 0.05) : 1;
  }
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      if (!factors[i].isFreed || !factors[j].isFreed)
        known[i][j] = 0;
  return known;
}

Calibration::Calibration(std::vector<PredictedRun> given)
    : runs(std::move(given)) {
  // Isolated products on GPUs are within 10 % of predictions, kernels within
  // some 30 % (docs/Simulation.md); links of clouds have half of their rate.
  all = {CalibrationFactor{"products", 0.1}, CalibrationFactor{"kernels", 0.3},
         CalibrationFactor{"links", 0.5}, CalibrationFactor{"memory", 0.1}};
  fitTimes();
  fitMemory();
  crossValidate();
}

/// The standard deviation of shares around 0, with `unknowns` fitted.
static double deviation(llvm::ArrayRef<double> shares, size_t unknowns) {
  double sum = 0;
  for (double share : shares)
    sum += share * share;
  size_t free = shares.size() > unknowns ? shares.size() - unknowns : 1;
  return std::max(std::sqrt(sum / double(free)), leastNoise);
}

void Calibration::fitTimes() {
  auto times = llvm::MutableArrayRef(all).take_front(3);
  chooseFreed(runs, times);
  covariance = solve(runs, times);
  std::vector<double> shares;
  for (const PredictedRun &run : runs)
    if (hasTime(run))
      shares.push_back(predicted(run.parts, times) / run.run.seconds - 1);
  timeNoise = deviation(
      shares, size_t(llvm::count_if(times, [](const CalibrationFactor &each) {
        return each.isFreed;
      })));
  // The fit assumed the least noise.
  double ratio = timeNoise / leastNoise;
  for (Vector &row : covariance)
    for (double &each : row)
      each *= ratio * ratio;
}

void Calibration::fitMemory() {
  CalibrationFactor &memory = all[3];
  double normal = 1 / (memory.spread * memory.spread), right = 0;
  std::vector<double> shares;
  for (const PredictedRun &run : runs)
    if (hasBytes(run)) {
      double share = double(run.bytes) / double(run.run.bytes);
      normal += share * share / (leastNoise * leastNoise);
      right += share * (1 - share) / (leastNoise * leastNoise);
      shares.push_back(share);
    }
  memory.isFreed = shares.size() >= 2;
  if (!memory.isFreed) {
    memory.reason = fmt::format("{} run{} with bytes {} too few", shares.size(),
                                shares.size() == 1 ? "" : "s",
                                shares.size() == 1 ? "is" : "are");
    memoryNoise = memory.spread;
    return;
  }
  memory.value = 1 + right / normal;
  for (double &share : shares)
    share = memory.value * share - 1;
  memoryNoise = deviation(shares, 1);
  double ratio = memoryNoise / leastNoise;
  memoryVariance = ratio * ratio / normal;
}

/// The seconds of run `left` as predicted from the other runs.
static double leftOut(llvm::ArrayRef<PredictedRun> runs, size_t left,
                      llvm::ArrayRef<CalibrationFactor> priors) {
  std::vector<PredictedRun> others = runs.vec();
  others.erase(others.begin() + ptrdiff_t(left));
  std::vector<CalibrationFactor> factors;
  for (const CalibrationFactor &prior : priors.take_front(3))
    factors.push_back({prior.name, prior.spread});
  chooseFreed(others, factors);
  solve(others, factors);
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
      found.worst->run.plan, rt::secondsText(found.worst->run.seconds),
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
  double value = predicted(parts, llvm::ArrayRef(all).take_front(3));
  double variance = std::pow(timeNoise * value, 2);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j)
      variance += covariance[i][j] * parts.seconds[i] * parts.seconds[j];
    // Factors that no run has fixed are as uncertain as before.
    if (!all[i].isFreed)
      variance += std::pow(all[i].spread * parts.seconds[i], 2);
  }
  return {value, widths * std::sqrt(variance)};
}

Calibrated Calibration::bytes(int64_t predictedBytes) const {
  double own = double(predictedBytes), value = all[3].value * own;
  double variance =
      std::pow(memoryNoise * value, 2) + memoryVariance * own * own;
  return {value, widths * std::sqrt(variance)};
}

std::string Calibration::text() const {
  std::string text = fmt::format("\nCalibrated by {} run{}\n", runs.size(),
                                 runs.size() == 1 ? "" : "s");
  for (const CalibrationFactor &factor : all)
    text +=
        factor.isFreed
            ? fmt::format("  {:<9} times {:.2f}\n", factor.name, factor.value)
            : fmt::format("  {:<9} stays 1: {}\n", factor.name, factor.reason);
  if (leftOutError > 0)
    text += fmt::format("  each run is predicted from the others to {:.1f} % "
                        "on average\n",
                        100 * leftOutError);
  for (const std::string &problem : problems)
    text += "  " + problem + "\n";
  return text;
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
    bool isProduct = name == "products" || name == "attention",
         isKernel = name == "kernels" || name == "copies";
    seconds *= name == "bubble"   ? all
               : name == hostPart ? 1
               : isProduct        ? factors[StepParts::Products].value
               : isKernel         ? factors[StepParts::Kernels].value
                                  : factors[StepParts::Links].value;
  }
  for (double Evaluation::*links :
       {&Evaluation::exposed, &Evaluation::communication})
    step.*links *= factors[StepParts::Links].value;
  step.seconds = time.value;
  step.isComposed = true;
  step.error.seconds = time.value > 0 ? time.margin / time.value : 0;
  step.atLeast = 0;
  // One factor for all three: the total is never less than what is profiled.
  MemoryBill &memory = step.memory;
  for (int64_t *bytes :
       {&memory.total, &memory.profiled, &memory.profiledReserved})
    *bytes = int64_t(calibration.bytes(*bytes).value);
}
