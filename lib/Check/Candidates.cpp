#include "Candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

double tpsp::check::sizeOf(const rt::RankMesh &mesh,
                           const std::vector<int64_t> &axes) {
  double size = 1;
  for (int64_t axis : axes)
    size *= double(mesh.axes()[axis].size);
  return size;
}

std::string tpsp::check::timesText(double factor) {
  if (factor > 1)
    return fmt::format("{:.4g} times too large", factor);
  if (factor > 0)
    return fmt::format("{:.4g} times too small", 1 / factor);
  return fmt::format("{:.4g} times what is right", factor);
}

void Candidates::add(VerdictKind kind, int weight, std::string text,
                     std::vector<int64_t> axes, const RankValues &prediction,
                     double factor) {
  // A prediction that equals the right values explains no error.
  if (distance(prediction, each.right, 1 / factor) <=
      2 * each.tolerance.relative)
    return;
  Candidate candidate;
  candidate.kind = kind;
  candidate.weight = weight;
  candidate.text = std::move(text);
  candidate.axes = std::move(axes);
  candidate.factor = factor;
  candidate.error = distance(each.values, prediction, factor);
  if (candidate.error <= each.tolerance.relative)
    candidate.prediction = prediction;
  list.push_back(std::move(candidate));
}

void Candidates::addMultiple(VerdictKind kind, int weight,
                             const std::string &how,
                             const std::vector<int64_t> &axes,
                             const RankValues &prediction) {
  double factor = nearestFactor(each.values, prediction);
  double off = std::abs(factor - 1);
  if (factor == 0 || off <= each.tolerance.relative)
    return;
  std::optional<std::string> why =
      factorText(factor, each.sources, std::max(each.tolerance.relative, 1e-6));
  if (!why && areFewNumbers())
    return;
  std::string text = how.empty() ? "" : how + ", and ";
  text += timesText(factor);
  text +=
      why ? fmt::format(" ({})", *why) : ", which no size of an axis explains";
  size_t before = list.size();
  add(kind, weight + (why ? 1 : 2), text, axes, prediction, factor);
  if (list.size() > before)
    list.back().isUnexplained = !why;
}

std::vector<int64_t> Candidates::copies() const {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < int64_t(mesh.axes().size()); ++axis)
    if (mesh.axes()[axis].size > 1 && areCopies(each.right, {axis}))
      axes.push_back(axis);
  return axes;
}

bool Candidates::areCopies(const RankValues &values,
                           const std::vector<int64_t> &axes) const {
  for (int64_t rank = 0; rank < int64_t(values.size()); ++rank) {
    rt::RankGroup group;
    if (!mesh.group(rank, axes, group).ok() ||
        values[rank] != values[group.ranks.front()])
      return false;
  }
  return true;
}

bool Candidates::differAlong(const std::vector<int64_t> &axes) const {
  // Ranks without the tensor, such as those of other stages, are no copies.
  RankValues means = summed(mesh, each.values, axes);
  for (int64_t rank = 0; rank < int64_t(means.size()); ++rank) {
    rt::RankGroup group;
    if (!mesh.group(rank, axes, group).ok())
      continue;
    auto count = double(std::count_if(
        group.ranks.begin(), group.ranks.end(),
        [&](int64_t other) { return !each.values[other].empty(); }));
    for (double &value : means[rank])
      value /= count;
  }
  return distance(each.values, means) > each.tolerance.relative;
}

int64_t Candidates::completeRank() const {
  for (int64_t rank = 0; rank < int64_t(each.values.size()); ++rank)
    if (isComplete(*each.tensor, each.form, each.values, rank))
      return rank;
  return 0;
}

bool Candidates::areFewNumbers() const {
  constexpr size_t fewest = 3;
  std::set<double> numbers;
  for (const std::vector<double> &values : each.right)
    for (double value : values) {
      numbers.insert(value);
      if (numbers.size() >= fewest)
        return false;
    }
  return true;
}

bool Candidates::areSameSizes() const {
  for (const std::vector<double> &values : each.right)
    if (values.size() != each.right.front().size())
      return false;
  return true;
}
