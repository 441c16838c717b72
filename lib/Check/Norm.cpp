#include "Norm.h"

#include "BoundTensors.h"
#include "Hypotheses.h"

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

void tpsp::check::addSquares(const Plan &plan, const rt::RankMesh &mesh,
                             const RightValues &right,
                             GradientSquares &squares) {
  std::set<int64_t> parameters;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::Parameter)
      parameters.insert(tensor.number);
  if (squares.own.empty())
    squares.own.assign(mesh.numRanks(), {0});
  squares.rounded.resize(
      std::max(squares.rounded.size(), right.roundedSquares.size()), 0);
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.kind != BufferKind::Gradient || !parameters.count(tensor.of))
      continue;
    const std::vector<double> &whole = right.results[tensor.resultNumber()];
    for (size_t draw = 0; draw < right.roundedSquares.size(); ++draw)
      squares.rounded[draw] +=
          right.roundedSquares[draw][tensor.resultNumber()];
    PlacedTensor placed(tensor, mesh);
    for (double value : whole)
      squares.all += value * value;
    for (int64_t axis : placed.dividing())
      squares.dividing.insert(axis);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      for (double value : placed.partOf(whole, rank))
        squares.own[rank].front() += value * value;
  }
}

/// The relative error that rounding may make in the norm.
static double roundingOf(const GradientSquares &squares) {
  if (squares.all == 0 || squares.rounded.empty())
    return 0;
  double sum = 0;
  for (double rounded : squares.rounded) {
    double off = std::sqrt(rounded / squares.all) - 1;
    sum += off * off;
  }
  auto draws = int64_t(squares.rounded.size());
  return rt::roundingFactorOf(draws) * std::sqrt(sum / double(draws));
}

/// Says over which ranks the squares were added up, if that predicts the
/// values.
static void explain(const GradientSquares &squares, const rt::RankMesh &mesh,
                    const RankValues &values, double tolerance,
                    TensorVerdict &verdict) {
  std::vector<int64_t> all(mesh.axes().size());
  std::iota(all.begin(), all.end(), 0);
  constexpr size_t mostAxes = 6;
  if (all.size() > mostAxes)
    return;
  for (const std::vector<int64_t> &axes : subsetsOf(all)) {
    RankValues norms = summed(mesh, squares.own, axes);
    for (std::vector<double> &each : norms)
      each.front() = std::sqrt(each.front());
    if (distance(values, norms) > tolerance)
      continue;
    verdict.kind = VerdictKind::OtherAxes;
    verdict.text =
        axes.empty()
            ? fmt::format(
                  "the norm of each rank's own parts: their squares are not "
                  "added up over {}",
                  axesText(mesh,
                           {squares.dividing.begin(), squares.dividing.end()}))
            : fmt::format("the ranks' squares are added up over {}: copies "
                          "count several times, or parts are left out",
                          axesText(mesh, axes));
    verdict.error = distance(values, norms);
    return;
  }
}

void GradientSquares::add(const GradientSquares &other) {
  all += other.all;
  own.resize(std::max(own.size(), other.own.size()), {0});
  for (size_t rank = 0; rank < other.own.size(); ++rank)
    own[rank].front() += other.own[rank].front();
  rounded.resize(std::max(rounded.size(), other.rounded.size()), 0);
  for (size_t draw = 0; draw < other.rounded.size(); ++draw)
    rounded[draw] += other.rounded[draw];
  dividing.insert(other.dividing.begin(), other.dividing.end());
}

TensorVerdict tpsp::check::judgeNorm(const DumpEntry &entry, const Plan &plan,
                                     const rt::RankMesh &mesh,
                                     const GradientSquares &squares,
                                     double scale) {
  TensorCase each;
  each.mesh = &mesh;
  int64_t dtype = TPSP_RT_F64;
  for (const std::optional<DumpedTensor> &value : entry.ranks) {
    each.values.push_back(value ? value->values : std::vector<double>());
    if (value && rt::toleranceOf(value->dtype) > rt::toleranceOf(dtype))
      dtype = value->dtype;
  }
  each.right.assign(mesh.numRanks(), {std::sqrt(squares.all)});
  // A norm is printed and dumped with few digits.
  constexpr double least = 1e-4;
  each.tolerance.relative = std::max(least, rt::toleranceOf(dtype));
  each.tolerance.relative =
      std::max(each.tolerance.relative, roundingOf(squares));
  each.sources = factorSources(plan.mesh, plan.microBatches, scale);
  addRoots(plan.mesh, each.sources);
  TensorVerdict verdict;
  verdict.title = entry.title();
  verdict.place = int64_t(plan.commands.size());
  judge(each, verdict);
  if (!isRight(verdict.kind))
    explain(squares, mesh, each.values, each.tolerance.relative, verdict);
  return verdict;
}
