#include "tpsp/Check/Planted.h"
#include "tpsp/Abi/NamePattern.h"

#include "BoundTensors.h"
#include "Ledger.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

namespace {

/// A mistake in the results alone, which no collective makes.
struct ResultMistake {
  std::string text;
  VerdictKind kind;
  double factor = 1;
  std::function<RankValues(RankValues)> make;
};

class Planter {
public:
  Planter(const CheckedProgram &planted, NumbersChecker &checker, uint64_t seed)
      : plan(*planted.description.plan), checker(checker), random(seed) {}

  Status begin(const CheckedProgram &planted,
               const PredictorSettings &settings) {
    TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
    TPSP_TRY(Predictor::create(plan, planted.step, planted.source, settings,
                               predictor));
    TPSP_TRY(predictor->run({}, own));
    TPSP_TRY(measureNoise());
    for (bool ofSingleRows : {false, true})
      for (StepHypothesis &each : hypothesesOf(plan, mesh, ofSingleRows))
        steps.push_back(std::move(each));
    return {};
  }

  Status plant(PlantedMistakeReport &out) {
    // One in four is a mistake in a result.
    bool isOfResult = steps.empty() || random() % 4 == 0;
    return isOfResult ? plantInResult(out) : plantInStep(out);
  }

  /// How the check judges the dump without a mistake.
  PlantedMistakeReport unplanted;

private:
  /// Checks the dump without a mistake, and keeps its tensors' errors.
  Status measureNoise() {
    CheckReport report;
    TPSP_TRY(checker.check(dumpOf(own), report));
    for (const TensorVerdict &each : report.tensors)
      noise[each.title] = each.errorOfRight;
    findCauses(report);
    unplanted.mistake = "none";
    unplanted.said = saidBy(report);
    unplanted.fate = report.findings.empty() ? PlantedFate::Invisible
                                             : PlantedFate::Otherwise;
    return {};
  }

  template <typename List> auto &drawn(List &list) {
    return list[random() % list.size()];
  }

  Status plantInStep(PlantedMistakeReport &out) {
    const StepHypothesis &step = drawn(steps);
    out.mistake = step.text;
    std::vector<RankValues> results;
    TPSP_TRY(predictor->run(step.change, results));
    CheckReport report;
    TPSP_TRY(checker.check(dumpOf(results), report));
    findCauses(report);
    out.fate = fateOf(report, results, [&](const TensorVerdict &verdict) {
      return saysStep(verdict, step);
    });
    out.said = saidBy(report);
    return {};
  }

  Status plantInResult(PlantedMistakeReport &out) {
    std::vector<size_t> gradients;
    for (size_t i = 0; i < own.size(); ++i)
      if (predictor->results()[i]->kind == BufferKind::Gradient &&
          predictor->results()[i]->pending.empty())
        gradients.push_back(i);
    if (gradients.empty()) {
      out.mistake = "none";
      out.fate = PlantedFate::Invisible;
      return {};
    }
    size_t which = drawn(gradients);
    const PlanBuffer &buffer = *predictor->results()[which];
    std::vector<ResultMistake> mistakes = mistakesIn(buffer);
    const ResultMistake &mistake = drawn(mistakes);
    out.mistake = buffer.name + ": " + mistake.text;
    std::vector<RankValues> results = own;
    results[which] = mistake.make(results[which]);
    CheckReport report;
    TPSP_TRY(checker.check(dumpOf(results), report));
    findCauses(report);
    out.fate = fateOf(report, results, [&](const TensorVerdict &verdict) {
      return saysResult(verdict, mistake);
    });
    out.said = saidBy(report);
    return {};
  }

  /// Mistakes that every rank's numbers show without another step.
  std::vector<ResultMistake> mistakesIn(const PlanBuffer &buffer) {
    std::vector<ResultMistake> list;
    for (const MeshAxis &axis : plan.mesh)
      for (double factor : {double(axis.size), 1.0 / double(axis.size)})
        if (axis.size > 1)
          list.push_back({fmt::format("{:.4g} times", factor),
                          VerdictKind::Factor, factor,
                          [factor](RankValues values) {
                            for (auto &each : values)
                              for (double &value : each)
                                value *= factor;
                            return values;
                          }});
    list.push_back({"the parts of the next rank", VerdictKind::OtherShard, 1,
                    [](RankValues values) {
                      std::rotate(values.begin(), values.begin() + 1,
                                  values.end());
                      return values;
                    }});
    if (!buffer.shape.empty() && buffer.shape[0] > 2)
      list.push_back({"zeros in the first position", VerdictKind::Rows, 1,
                      [this, &buffer](RankValues values) {
                        return withoutFirst(buffer, std::move(values));
                      }});
    return list;
  }

  /// The first position of the outermost dimension becomes zero.
  RankValues withoutFirst(const PlanBuffer &buffer, RankValues values) const {
    PlacedTensor placed(buffer, mesh);
    if (buffer.shape.empty())
      return values;
    std::vector<double> whole = placed.wholeAt(values, 0);
    std::fill_n(whole.begin(), int64_t(whole.size()) / buffer.shape[0], 0.0);
    return placed.partsOf(whole);
  }

  /// A dump of all gradients and outputs.
  Dump dumpOf(const std::vector<RankValues> &results) const {
    Dump dump;
    dump.path = "planted";
    dump.numRanks = mesh.numRanks();
    for (size_t i = 0; i < results.size(); ++i) {
      const PlanBuffer &buffer = *predictor->results()[i];
      bool isGradient = buffer.kind == BufferKind::Gradient;
      if (!isGradient && buffer.kind != BufferKind::Output)
        continue;
      DumpEntry entry;
      entry.role = isGradient ? DumpRole::Gradient : DumpRole::Activation;
      entry.name = buffer.name;
      PlacedTensor placed(buffer, mesh);
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
        entry.ranks.push_back(DumpedTensor{TPSP_RT_F32, placed.partShape(rank),
                                           results[i][rank]});
      dump.entries.push_back(std::move(entry));
    }
    return dump;
  }

  /// Whether a verdict is about the planted change of collectives.
  bool saysStep(const TensorVerdict &verdict,
                const StepHypothesis &step) const {
    if (verdict.text == step.text)
      return true;
    if (step.row < 0 || isRight(verdict.kind))
      return false;
    const LedgerRow &row = plan.ledger[step.row];
    // A gradient's own row: the verdict says what is wrong with its sum.
    std::string about = " of " + patternOf(row.tensor) + " over ";
    if (patternOf(verdict.collective).find(about) == std::string::npos)
      return false;
    const RowChange &change = step.change.commands.begin()->second;
    std::vector<int64_t> own = axesOf(plan, row), missing;
    for (int64_t axis : own)
      if (plan.mesh[axis].size > 1 &&
          std::find(change.axes.begin(), change.axes.end(), axis) ==
              change.axes.end())
        missing.push_back(axis);
    std::set<std::string> names, said(verdict.axes.begin(), verdict.axes.end());
    bool isMissing = verdict.kind == VerdictKind::Missing;
    for (int64_t axis : isMissing ? missing : change.axes)
      names.insert(plan.mesh[axis].name);
    bool isSame = isNear(verdict.factor, change.factor);
    // Axes over which another row adds up as well multiply by their sizes.
    double extra = change.factor;
    for (int64_t axis : change.axes)
      if (std::find(own.begin(), own.end(), axis) == own.end())
        extra *= double(plan.mesh[axis].size);
    if (verdict.kind == VerdictKind::Factor)
      return isNear(verdict.factor, extra) && missing.empty();
    if (isMissing)
      return said == names && isSame;
    return verdict.kind == VerdictKind::OtherAxes &&
           (isSame || isNear(verdict.factor, extra));
  }

  static bool isNear(double a, double b) {
    return std::abs(a - b) <= 0.01 * std::abs(b);
  }

  static bool saysResult(const TensorVerdict &verdict,
                         const ResultMistake &mistake) {
    return verdict.kind == mistake.kind &&
           (mistake.kind != VerdictKind::Factor ||
            isNear(verdict.factor, mistake.factor));
  }

  template <typename Says>
  PlantedFate fateOf(const CheckReport &report,
                     const std::vector<RankValues> &results, Says says) const {
    if (report.findings.empty())
      return differs(results) ? PlantedFate::Missed : PlantedFate::Invisible;
    bool isExplained = true, isListed = false;
    for (const TensorVerdict &each : report.tensors) {
      if (says(each))
        return PlantedFate::Named;
      for (const Claim &claim : each.alternatives) {
        TensorVerdict other = each;
        static_cast<Claim &>(other) = claim;
        isListed |= says(other);
      }
      isExplained &=
          each.kind < VerdictKind::Rows || each.kind == VerdictKind::Follows;
    }
    if (isListed)
      return PlantedFate::Listed;
    return isExplained ? PlantedFate::Otherwise : PlantedFate::Unnamed;
  }

  /// Whether a planted dump differs from the one without a mistake by more
  /// than rounding explains.
  bool differs(const std::vector<RankValues> &results) const {
    for (size_t i = 0; i < results.size(); ++i) {
      const PlanBuffer &buffer = *predictor->results()[i];
      auto found = noise.find(titleOf(buffer));
      double least = rt::toleranceOf(buffer.dtype);
      if (found != noise.end())
        least = std::max(least, rt::roundingFactor * found->second);
      constexpr double zero = 1e-6;
      if (distance(results[i], own[i]) > least && rootMeanSquare(own[i]) > zero)
        return true;
    }
    return false;
  }

  static std::string titleOf(const PlanBuffer &buffer) {
    bool isGradient = buffer.kind == BufferKind::Gradient;
    return (isGradient ? "grad:" : "act:") + buffer.name;
  }

  static std::string saidBy(const CheckReport &report) {
    if (report.findings.empty())
      return "right";
    const Finding &first = report.findings.front();
    return fmt::format("{}: {} ({})", first.first.title, first.first.text,
                       nameOf(first.first.kind));
  }

  const Plan &plan;
  NumbersChecker &checker;
  std::mt19937_64 random;
  rt::RankMesh mesh;
  std::unique_ptr<Predictor> predictor;
  std::vector<RankValues> own;
  std::map<std::string, double> noise;
  std::vector<StepHypothesis> steps;
};

} // namespace

Status tpsp::check::plantMistakes(const CheckedProgram &planted,
                                  const PredictorSettings &settings,
                                  NumbersChecker &checker, int64_t count,
                                  uint64_t seed,
                                  std::vector<PlantedMistakeReport> &out) {
  Planter planter(planted, checker, seed);
  TPSP_TRY(planter.begin(planted, settings));
  // A right dump must have no finding.
  if (planter.unplanted.fate != PlantedFate::Invisible)
    out.push_back(planter.unplanted);
  for (int64_t i = 0; i < count; ++i)
    TPSP_TRY(planter.plant(out.emplace_back()));
  return {};
}

std::string
tpsp::check::toText(const std::vector<PlantedMistakeReport> &planted) {
  std::array<int64_t, std::size(EnumNames<PlantedFate>::all)> counts{};
  std::string others;
  for (const PlantedMistakeReport &each : planted) {
    ++counts[size_t(each.fate)];
    if (each.fate != PlantedFate::Named && each.fate != PlantedFate::Listed &&
        each.fate != PlantedFate::Invisible)
      others += fmt::format("  {}: {}\n    said: {}\n", nameOf(each.fate),
                            each.mistake, each.said);
  }
  std::string text = fmt::format("{} mistakes planted:", planted.size());
  for (size_t i = 0; i < counts.size(); ++i)
    text += fmt::format("{} {} {}", i ? "," : "", counts[i],
                        nameOf(PlantedFate(i)));
  return text + "\n" + others;
}
