#include "Candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// Numbers that are right but for something.
class Damages {
public:
  explicit Damages(Candidates &all) : all(all) {}

  void addAll() {
    for (const auto &[text, values] : all.each.others)
      all.add(VerdictKind::Term, 0, text, {}, values);
    tryTerms();
    tryRows();
    tryCopies();
  }

private:
  /// A multiple of another tensor has been added.
  void tryTerms() {
    if (all.areFewNumbers())
      return;
    RankValues rest = all.each.values;
    for (size_t rank = 0; rank < rest.size(); ++rank)
      for (size_t i = 0; i < rest[rank].size(); ++i)
        rest[rank][i] -= all.each.right[rank][i];
    for (const Term &term : all.each.terms) {
      double factor = nearestFactor(rest, term.values);
      RankValues prediction = all.each.right;
      for (size_t rank = 0; rank < rest.size(); ++rank)
        for (size_t i = 0; i < rest[rank].size(); ++i)
          prediction[rank][i] += factor * term.values[rank][i];
      all.add(VerdictKind::Term, 0, termText(term, factor), {}, prediction);
    }
  }

  /// Says what a multiple of a term, added to what is right, means.
  std::string termText(const Term &term, double factor) const {
    double tolerance = std::max(all.each.tolerance.relative, 1e-6);
    std::optional<std::string> why =
        factorText(1 + factor, all.each.sources, tolerance);
    if (!term.isSummand)
      return fmt::format("right but for a term: {:.4g} times {} has been added",
                         factor, term.name);
    if (std::abs(1 + factor) <= tolerance)
      return fmt::format("right but for a term: {} is not added", term.name);
    return fmt::format("right but for a term: {} counts {:.4g} times{}",
                       term.name, 1 + factor,
                       why ? fmt::format(" ({})", *why) : "");
  }

  /// Right but for a few positions of one dimension.
  void tryRows() {
    if (!all.each.tensor)
      return;
    const PlanBuffer &buffer = all.each.tensor->buffer();
    std::vector<double> wanted = wholeOf(*all.each.tensor, all.each.form,
                                         all.each.right, all.completeRank());
    std::vector<double> has = wholeOf(*all.each.tensor, all.each.form,
                                      all.each.values, all.completeRank());
    if (has.size() != wanted.size())
      return;
    std::vector<std::string> names = indexNamesOf(buffer);
    for (size_t dim = 0; dim < buffer.shape.size(); ++dim)
      tryRowsOf(has, wanted, dim, names[dim]);
  }

  void tryRowsOf(const std::vector<double> &has,
                 const std::vector<double> &wanted, size_t dim,
                 const std::string &name) {
    const Shape &shape = all.each.tensor->buffer().shape;
    int64_t inner = 1;
    for (size_t i = dim + 1; i < shape.size(); ++i)
      inner *= shape[i];
    double least = all.each.tolerance.relative * rootMeanSquare({wanted});
    std::set<int64_t> rows;
    for (size_t i = 0; i < has.size(); ++i)
      if (!(std::abs(has[i] - wanted[i]) <=
            std::max(least, all.each.tolerance.relative * std::abs(wanted[i]))))
        rows.insert(int64_t(i) / inner % shape[dim]);
    if (rows.empty() || int64_t(rows.size()) * 2 > shape[dim])
      return;
    Candidate candidate;
    candidate.kind = VerdictKind::Rows;
    candidate.weight = int(std::min<size_t>(rows.size(), 1000));
    candidate.text = fmt::format(
        "right but for {} of {} positions along {} ({}{})", rows.size(),
        shape[dim], name, *rows.begin(),
        rows.size() > 1 ? fmt::format(" to {}", *rows.rbegin()) : "");
    candidate.error = 0;
    all.list.push_back(std::move(candidate));
  }

  /// Copies that should be equal differ.
  void tryCopies() {
    std::vector<int64_t> apart;
    for (int64_t axis : all.copies())
      if (all.differAlong({axis}))
        apart.push_back(axis);
    if (apart.empty())
      return;
    std::vector<int64_t> rightRanks;
    for (size_t rank = 0; rank < all.each.values.size(); ++rank)
      if (!all.each.values[rank].empty() &&
          distance({all.each.values[rank]}, {all.each.right[rank]}) <=
              all.each.tolerance.relative)
        rightRanks.push_back(int64_t(rank));
    Candidate candidate;
    candidate.kind = VerdictKind::Copies;
    candidate.axes = apart;
    candidate.text = fmt::format("copies differ among the ranks of {}",
                                 axesText(all.mesh, apart));
    if (!rightRanks.empty())
      candidate.text += fmt::format(", and those of rank {} are right",
                                    fmt::join(rightRanks, ", "));
    candidate.error = 0;
    all.list.push_back(std::move(candidate));
  }

  Candidates &all;
};

} // namespace

void tpsp::check::addDamages(Candidates &all) { Damages(all).addAll(); }
