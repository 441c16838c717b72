#include "Updates.h"

#include "Candidates.h"
#include "Ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

//===----------------------------------------------------------------------===//
// Steps without an update's communication
//===----------------------------------------------------------------------===//

/// Whether each of `axes` is among `others`.
static bool areAmong(const std::vector<int64_t> &axes,
                     const std::vector<int64_t> &others) {
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
    return std::find(others.begin(), others.end(), axis) != others.end();
  });
}

static bool isChangeable(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllGather;
}

std::vector<int64_t> tpsp::check::updateRowsOf(const Plan &plan,
                                               const rt::RankMesh &mesh,
                                               const PlanBuffer &parameter) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < plan.ledger.size(); ++i) {
    const LedgerRow &row = plan.ledger[i];
    if (row.phase == Phase::Update && row.tensor == parameter.name &&
        row.gradients.empty() && row.group > 1 && !row.commands.empty() &&
        isChangeable(row.kind))
      rows.push_back(int64_t(i));
  }
  std::sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) {
    return plan.ledger[a].commands.front() < plan.ledger[b].commands.front();
  });
  // At the end, the new parameter is gathered over the axes of the state.
  std::vector<int64_t> dividing = PlacedTensor(parameter, mesh).dividing();
  while (!rows.empty() &&
         plan.ledger[rows.back()].kind == CollectiveKind::AllGather &&
         !areAmong(axesOf(plan, plan.ledger[rows.back()]), dividing))
    rows.pop_back();
  return rows;
}

/// Leaves out the communication over `axes` of one row. Nothing if the row
/// also gathers over other axes.
static void leaveOut(const Plan &plan, const LedgerRow &row,
                     const std::vector<int64_t> &axes, Change &change) {
  std::vector<int64_t> own = axesOf(plan, row), left;
  for (int64_t axis : own)
    if (!areAmong({axis}, axes))
      left.push_back(axis);
  bool isGather = row.kind == CollectiveKind::AllGather;
  if (left.size() == own.size() || (isGather && !left.empty()))
    return;
  // Zeros in place of other ranks' parts leave a product of a part with itself.
  for (int64_t command : row.commands)
    change.commands[command] = {left, 1, isGather};
}

std::vector<LocalUpdates>
tpsp::check::localUpdatesOf(const Plan &plan, const rt::RankMesh &mesh) {
  std::set<int64_t> rows, axes;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::Parameter && tensor.updatedBy >= 0)
      for (int64_t row : updateRowsOf(plan, mesh, tensor)) {
        rows.insert(row);
        for (int64_t axis : axesOf(plan, plan.ledger[row]))
          if (plan.mesh[axis].size > 1)
            axes.insert(axis);
      }
  std::vector<LocalUpdates> all;
  for (int64_t axis : axes)
    all.push_back({{axis}, {}});
  if (axes.size() > 1)
    all.push_back({{axes.begin(), axes.end()}, {}});
  for (LocalUpdates &each : all)
    for (int64_t row : rows)
      leaveOut(plan, plan.ledger[row], each.axes, each.change);
  return all;
}

rt::Status tpsp::check::addLocalUpdates(Predictor &predictor,
                                        const rt::RankMesh &mesh,
                                        std::vector<BoundTensor> &tensors) {
  auto isWrong = [](const BoundTensor &tensor) {
    return !tensor.each.before.empty() && !isRight(tensor.verdict.kind);
  };
  if (std::none_of(tensors.begin(), tensors.end(), isWrong))
    return {};
  for (const LocalUpdates &local : localUpdatesOf(predictor.plan(), mesh)) {
    std::vector<RankValues> results;
    TPSP_TRY(predictor.run(local.change, results));
    for (BoundTensor &tensor : tensors)
      if (isWrong(tensor))
        tensor.each.localUpdates.push_back(
            {local.axes, predictionFor(tensor, results)});
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Hypotheses about a new parameter
//===----------------------------------------------------------------------===//

namespace {

/// Factors of a change and of the parameter itself.
struct Fit {
  double change = 0, parameter = 0;
};

class UpdateCandidates {
public:
  explicit UpdateCandidates(Candidates &all)
      : all(all), moved(minus(all.each.values, all.each.before)) {}

  void addAll() {
    addScaled("the update is ", {}, all.each.right);
    for (const auto &[axes, after] : all.each.localUpdates)
      addLocal(axes, after);
  }

private:
  static RankValues minus(const RankValues &a, const RankValues &b) {
    RankValues out = a;
    for (size_t rank = 0; rank < a.size(); ++rank)
      for (size_t i = 0; i < a[rank].size(); ++i)
        out[rank][i] -= b[rank][i];
    return out;
  }

  void addLocal(const std::vector<int64_t> &axes, const RankValues &after) {
    std::string text =
        fmt::format("each rank of {} updates its part as if it were the whole "
                    "matrix",
                    axesText(all.mesh, axes));
    all.add(VerdictKind::OtherAxes, int(axes.size()), text, axes, after);
    addScaled(text + ", and the update is ", axes, after);
  }

  /// Adds the hypothesis that the change from `before` to `after` is multiplied
  /// by a number, or all of it but the decay.
  void addScaled(const std::string &how, const std::vector<int64_t> &axes,
                 const RankValues &after) {
    RankValues change = minus(after, all.each.before);
    double factor = nearestFactor(moved, change);
    if (std::abs(factor - 1) <= factorTolerance(change))
      return;
    if (add(how, axes, change, {factor, 0}) || count() < fewestToFit)
      return;
    Fit fit = fitted(change);
    // A decay is subtracted, and does not have the factor.
    if (fit.parameter * (fit.change - 1) >= 0 &&
        std::abs(fit.parameter) < mostDecay)
      add(how, axes, change, fit);
  }

  /// The fit of two factors, by least squares.
  Fit fitted(const RankValues &change) const {
    double cc = 0, cp = 0, pp = 0, cm = 0, pm = 0;
    for (size_t rank = 0; rank < moved.size(); ++rank)
      for (size_t i = 0; i < moved[rank].size(); ++i) {
        double c = change[rank][i], p = all.each.before[rank][i];
        cc += c * c;
        cp += c * p;
        pp += p * p;
        cm += c * moved[rank][i];
        pm += p * moved[rank][i];
      }
    double determinant = cc * pp - cp * cp;
    if (!(determinant > 1e-9 * cc * pp))
      return {};
    return {(cm * pp - pm * cp) / determinant,
            (pm * cc - cm * cp) / determinant};
  }

  /// Adds a candidate, if a size explains its factor and rounding its error.
  bool add(const std::string &how, const std::vector<int64_t> &axes,
           const RankValues &change, const Fit &fit) {
    double tolerance = all.each.tolerance.relative;
    Candidate candidate;
    candidate.prediction = all.each.before;
    for (size_t rank = 0; rank < moved.size(); ++rank)
      for (size_t i = 0; i < moved[rank].size(); ++i)
        candidate.prediction[rank][i] +=
            fit.change * change[rank][i] +
            fit.parameter * all.each.before[rank][i];
    candidate.error = distance(all.each.values, candidate.prediction);
    std::optional<std::string> why =
        reasonFor(fit.change, factorTolerance(change), axes);
    if (!why || candidate.error > tolerance ||
        distance(candidate.prediction, all.each.right) <= 2 * tolerance)
      return false;
    candidate.kind = VerdictKind::OtherAxes;
    candidate.weight = int(axes.size()) + 2;
    candidate.axes = axes;
    candidate.text =
        fmt::format("{}{}{} ({})", how, timesText(fit.change),
                    fit.parameter != 0 ? ", but for the decay" : "", *why);
    all.list.push_back(std::move(candidate));
    return true;
  }

  /// Why an update is multiplied by a number: the sizes of axes, or the length
  /// that a matrix's update gets. None if nothing explains it.
  std::optional<std::string> reasonFor(double factor, double tolerance,
                                       const std::vector<int64_t> &axes) const {
    std::optional<std::string> sizes =
        factorText(factor, all.each.sources, tolerance);
    if (sizes || all.each.localUpdates.empty())
      return sizes;
    const Shape &shape = all.each.tensor->buffer().shape;
    Shape part = axes.empty() ? shape : partOver(shape, axes);
    for (size_t rows = 1; rows < shape.size(); ++rows)
      for (const Length &has : lengthsOf(part, rows))
        for (const Length &should : lengthsOf(shape, rows))
          if (std::abs(has.value / should.value / factor - 1) <= tolerance)
            return fmt::format("scaled by {}{}", has.name,
                               axes.empty() ? "" : " of the part");
    return std::nullopt;
  }

  /// The extents of a part of the whole tensor that `axes` divide.
  Shape partOver(const Shape &shape, const std::vector<int64_t> &axes) const {
    Shape part = shape;
    auto size = int64_t(sizeOf(all.mesh, axes));
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] % size == 0) {
        part[dim] /= size;
        break;
      }
    return part;
  }

  /// The length of a matrix's update.
  struct Length {
    const char *name;
    double value;
  };

  /// The lengths that variants of Muon use. The first `rows` dimensions are
  /// rows.
  static std::vector<Length> lengthsOf(const Shape &shape, size_t rows) {
    double r = 1, c = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      (dim < rows ? r : c) *= double(shape[dim]);
    return {{"sqrt(max(1, rows / columns))", std::sqrt(std::max(1.0, r / c))},
            {"0.2 sqrt(max(rows, columns))", 0.2 * std::sqrt(std::max(r, c))},
            {"sqrt(rows / columns)", std::sqrt(r / c)},
            {"1", 1}};
  }

  /// An update changes a parameter little, so that rounding of the new
  /// parameter is a larger share of the change.
  double factorTolerance(const RankValues &change) const {
    double share = rootMeanSquare(change) / rootMeanSquare(all.each.before);
    double tolerance = all.each.tolerance.relative / std::max(share, 1e-9);
    constexpr double least = 1e-6, most = 0.02;
    return std::clamp(tolerance, least, most);
  }

  size_t count() const {
    std::set<double> numbers;
    for (const std::vector<double> &each : moved)
      numbers.insert(each.begin(), each.end());
    return numbers.size();
  }

  /// Two factors are not fitted to fewer numbers.
  static constexpr size_t fewestToFit = 8;
  /// The largest product of a learning rate and a decay.
  static constexpr double mostDecay = 0.2;

  Candidates &all;
  /// The dumped change of the parameter.
  RankValues moved;
};

} // namespace

void tpsp::check::addUpdates(Candidates &all) {
  if (!all.each.before.empty())
    UpdateCandidates(all).addAll();
}
