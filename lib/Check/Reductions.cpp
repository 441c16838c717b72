#include "Candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

using namespace tpsp;
using namespace tpsp::check;

static std::vector<int64_t> without(const std::vector<int64_t> &list,
                                    const std::vector<int64_t> &others) {
  std::vector<int64_t> rest;
  for (int64_t each : list)
    if (std::find(others.begin(), others.end(), each) == others.end())
      rest.push_back(each);
  return rest;
}

namespace {

/// Sums that are missing, done twice, or over other ranks.
class Reductions {
public:
  explicit Reductions(Candidates &all) : all(all) {}

  void addAll() {
    tryMissing();
    tryFactor();
    tryOtherAxes();
  }

private:
  /// A sum or mean over axes of what the ranks have is right, or they have what
  /// the program has before its reduction.
  void tryMissing() {
    for (const auto &[axes, prediction] : all.each.partial) {
      std::vector<int64_t> missing = without(all.each.reduced, axes);
      if (missing.empty() || !without(axes, all.each.reduced).empty())
        continue;
      addMissing(missing, prediction, 1, "sum");
      addMissing(missing, prediction, sizeOf(all.mesh, missing), "mean");
    }
    std::vector<int64_t> axes = all.copies();
    for (const std::vector<int64_t> &missing : subsetsOf(axes)) {
      if (missing.empty() || !all.differAlong(missing))
        continue;
      RankValues sums = summed(all.mesh, all.each.values, missing);
      tryCompletion(missing, sums, 1, "sum");
      tryCompletion(missing, sums, sizeOf(all.mesh, missing), "mean");
    }
  }

  void addMissing(const std::vector<int64_t> &missing,
                  const RankValues &prediction, double factor,
                  const char *what) {
    all.add(VerdictKind::Missing, int(missing.size()),
            fmt::format("the {} over {} is missing", what,
                        axesText(all.mesh, missing)),
            missing, prediction, factor);
  }

  void tryCompletion(const std::vector<int64_t> &missing,
                     const RankValues &sums, double factor, const char *what) {
    Candidate candidate;
    candidate.kind = VerdictKind::Missing;
    candidate.weight = int(missing.size());
    candidate.text = fmt::format("the {} over {} is missing", what,
                                 axesText(all.mesh, missing));
    candidate.axes = missing;
    candidate.factor = factor;
    candidate.error = distance(sums, all.each.right, factor);
    all.list.push_back(std::move(candidate));
  }

  void tryFactor() {
    all.addMultiple(VerdictKind::Factor, 0, "", {}, all.each.right);
  }

  /// Sums of the program's partial tensor over axes that are not those which it
  /// needs, and sums of complete tensors.
  void tryOtherAxes() {
    for (const auto &[axes, prediction] : all.each.partial) {
      std::vector<int64_t> missing = without(all.each.reduced, axes);
      std::vector<int64_t> extra = without(axes, all.each.reduced);
      if (extra.empty() && missing.empty())
        continue;
      std::string text =
          axes.empty() ? fmt::format("the sum over {} is missing",
                                     axesText(all.mesh, missing))
                       : fmt::format("added up over {}, and not over {}",
                                     axesText(all.mesh, axes),
                                     axesText(all.mesh, all.each.reduced));
      int weight = int(missing.size() + extra.size());
      if (!extra.empty())
        all.add(VerdictKind::OtherAxes, weight, text, axes, prediction);
      all.addMultiple(VerdictKind::OtherAxes, weight + 1, text, axes,
                      prediction);
    }
    tryComplete();
  }

  void tryComplete() {
    std::vector<int64_t> every(all.mesh.axes().size());
    std::iota(every.begin(), every.end(), 0);
    constexpr size_t mostAxes = 6;
    if (every.size() > mostAxes)
      return;
    for (const std::vector<int64_t> &axes : subsetsOf(every)) {
      if (axes.empty() || all.areCopies(all.each.right, axes) ||
          !all.areSameSizes())
        continue;
      RankValues sums = summed(all.mesh, all.each.right, axes);
      std::string over = axesText(all.mesh, axes);
      all.add(VerdictKind::OtherAxes, int(axes.size()),
              fmt::format("complete, and added up over {} once more", over),
              axes, sums);
      all.add(VerdictKind::OtherAxes, int(axes.size()),
              fmt::format("complete, and averaged over {}", over), axes, sums,
              1 / sizeOf(all.mesh, axes));
    }
  }

  Candidates &all;
};

} // namespace

void tpsp::check::addReductions(Candidates &all) { Reductions(all).addAll(); }
