#include "Compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::check;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The squares of a target that is not compared.
static Squares squaresOf(const std::vector<double> &wanted, double factor) {
  Squares squares;
  for (double each : wanted)
    if (std::isfinite(each))
      squares.wanted += factor * each * factor * each;
  return squares;
}

Squares tpsp::check::squaresOf(const std::vector<double> &values,
                               const std::vector<double> &wanted,
                               double factor) {
  Squares squares = ::squaresOf(wanted, factor);
  if (values.size() != wanted.size()) {
    squares.off = infinity;
    return squares;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    double target = factor * wanted[i];
    // Equal infinities, or NaNs on both sides, are no difference.
    if (values[i] == target || (std::isnan(values[i]) && std::isnan(target)))
      continue;
    squares.off += (values[i] - target) * (values[i] - target);
  }
  return squares;
}

/// The least norm by which a part's error is divided. A part that is much
/// smaller than the others has their rounding, too.
static double leastNorm(const std::vector<Squares> &ranks) {
  constexpr double share = 0.1;
  double total = 0;
  for (const Squares &each : ranks)
    total += each.wanted;
  return share * std::sqrt(total / double(std::max<size_t>(ranks.size(), 1)));
}

std::vector<double> tpsp::check::sizesOfParts(const RankValues &wanted) {
  std::vector<Squares> ranks;
  for (const std::vector<double> &part : wanted)
    if (!part.empty())
      ranks.push_back(::squaresOf(part, 1));
  double least = leastNorm(ranks);
  std::vector<double> sizes;
  auto squares = ranks.begin();
  for (const std::vector<double> &part : wanted)
    sizes.push_back(part.empty()
                        ? 0
                        : std::max(std::sqrt((squares++)->wanted), least) /
                              std::sqrt(double(part.size())));
  return sizes;
}

double tpsp::check::distance(const RankValues &values, const RankValues &wanted,
                             double factor) {
  std::vector<Squares> ranks;
  for (size_t rank = 0; rank < values.size(); ++rank)
    if (!values[rank].empty())
      ranks.push_back(squaresOf(values[rank], wanted[rank], factor));
  return distanceOf(ranks);
}

double tpsp::check::distanceOf(const std::vector<Squares> &ranks) {
  double least = leastNorm(ranks);
  double worst = 0;
  for (const Squares &each : ranks) {
    double norm = std::max(std::sqrt(each.wanted), least);
    double off = std::sqrt(each.off);
    if (off == 0)
      continue;
    double relative = norm > 0 ? off / norm : infinity;
    worst = std::isnan(relative) ? infinity : std::max(worst, relative);
  }
  return worst;
}

double tpsp::check::nearestFactor(const RankValues &values,
                                  const RankValues &wanted) {
  double product = 0, squares = 0;
  for (size_t rank = 0; rank < values.size(); ++rank)
    for (size_t i = 0; i < std::min(values[rank].size(), wanted[rank].size());
         ++i) {
      product += values[rank][i] * wanted[rank][i];
      squares += wanted[rank][i] * wanted[rank][i];
    }
  double factor = squares > 0 ? product / squares : 0;
  return std::isfinite(factor) ? factor : 0;
}

double tpsp::check::rootMeanSquare(const RankValues &values) {
  double squares = 0;
  int64_t count = 0;
  for (const std::vector<double> &each : values)
    for (double value : each) {
      squares += value * value;
      ++count;
    }
  return std::sqrt(squares / double(std::max<int64_t>(count, 1)));
}

int64_t tpsp::check::distinguishing(const RankValues &values,
                                    const RankValues &one,
                                    const RankValues &other,
                                    const Tolerance &tolerance) {
  double least = tolerance.relative * rootMeanSquare(other);
  int64_t count = 0;
  for (size_t rank = 0; rank < one.size(); ++rank)
    for (size_t i = 0; !values[rank].empty() &&
                       i < std::min(one[rank].size(), other[rank].size());
         ++i)
      count += std::abs(one[rank][i] - other[rank][i]) > least;
  return count;
}

/// "the sizes of dp and tp", "the size of tp twice".
static std::string productText(const std::vector<std::string> &names) {
  if (names.size() == 2 && names[0] == names[1])
    return fmt::format("the square of {}", names[0]);
  return fmt::format("{}", fmt::join(names, " times "));
}

namespace {
/// Tries products of the sources' powers, those with fewest factors first.
class FactorSearch {
public:
  FactorSearch(double factor, const std::vector<FactorSource> &sources,
               double tolerance)
      : factor(factor), sources(sources), tolerance(tolerance) {}

  std::vector<std::string> find() {
    constexpr int mostFactors = 3;
    for (int count = 1; count <= mostFactors && found.empty(); ++count)
      add(0, count, 1);
    return found;
  }

private:
  void add(size_t from, int left, double product) {
    if (left == 0) {
      if (std::abs(product / factor - 1) <= tolerance)
        found.push_back(text());
      return;
    }
    for (size_t i = from; i < sources.size(); ++i) {
      take(over, i, left, product * sources[i].size);
      take(under, i, left, product / sources[i].size);
    }
  }
  void take(std::vector<std::string> &side, size_t i, int left,
            double product) {
    side.push_back(sources[i].name);
    add(i, left - 1, product);
    side.pop_back();
  }
  std::string text() const {
    if (under.empty())
      return productText(over);
    return fmt::format("{} over {}", over.empty() ? "1" : productText(over),
                       productText(under));
  }

  const double factor;
  const std::vector<FactorSource> &sources;
  const double tolerance;
  std::vector<std::string> over, under, found;
};
} // namespace

std::optional<std::string>
tpsp::check::factorText(double factor, const std::vector<FactorSource> &sources,
                        double tolerance) {
  std::vector<std::string> found =
      FactorSearch(factor, sources, tolerance).find();
  if (found.empty())
    return std::nullopt;
  return fmt::format("{}", fmt::join(found, ", or "));
}
