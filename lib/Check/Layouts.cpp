#include "Candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// Right numbers in other places.
class Layouts {
public:
  explicit Layouts(Candidates &all) : all(all) {}

  void addAll() {
    tryOtherShard();
    tryChunks();
  }

private:
  /// Every rank has what some rank should have.
  void tryOtherShard() {
    constexpr size_t most = 64;
    size_t ranks = all.each.values.size();
    if (ranks > most || !all.areSameSizes())
      return;
    RankValues prediction(ranks);
    std::vector<std::string> moves;
    for (size_t rank = 0; rank < ranks; ++rank) {
      size_t from = nearestShard(rank);
      prediction[rank] = all.each.right[from];
      if (from != rank)
        moves.push_back(fmt::format("rank {} has rank {}'s", rank, from));
    }
    if (moves.empty())
      return;
    constexpr size_t shown = 4;
    size_t more = moves.size() - std::min(moves.size(), shown);
    moves.resize(std::min(moves.size(), shown));
    all.add(VerdictKind::OtherShard, 0,
            fmt::format("the parts of other ranks: {}{}",
                        fmt::join(moves, ", "),
                        more ? fmt::format(" and {} more", more) : ""),
            {}, prediction);
  }

  size_t nearestShard(size_t rank) const {
    size_t best = rank;
    double least = distance({all.each.values[rank]}, {all.each.right[rank]});
    for (size_t from = 0; from < all.each.right.size(); ++from) {
      if (least <= all.each.tolerance.relative)
        break;
      double error = distance({all.each.values[rank]}, {all.each.right[from]});
      if (error < least) {
        least = error;
        best = from;
      }
    }
    return best;
  }

  /// The whole tensor in another order: two dimensions of equal extents are
  /// exchanged, or a dimension's chunks are in another order.
  void tryChunks() {
    if (!all.each.tensor)
      return;
    const PlanBuffer &buffer = all.each.tensor->buffer();
    std::vector<std::string> names = indexNamesOf(buffer);
    std::vector<double> whole =
        wholeOf(*all.each.tensor, all.each.form, all.each.right, 0);
    const Shape &shape = buffer.shape;
    for (size_t i = 0; i < shape.size(); ++i)
      for (size_t j = i + 1; j < shape.size(); ++j)
        if (shape[i] == shape[j]) {
          std::vector<size_t> order(shape.size());
          std::iota(order.begin(), order.end(), 0);
          std::swap(order[i], order[j]);
          addWhole(fmt::format("transposed: {} and {} are exchanged", names[i],
                               names[j]),
                   transposed(whole, shape, order));
        }
    for (size_t dim = 0; dim < shape.size(); ++dim)
      tryChunksOf(whole, dim, names[dim]);
  }

  void tryChunksOf(const std::vector<double> &whole, size_t dim,
                   const std::string &name) {
    const Shape &shape = all.each.tensor->buffer().shape;
    std::set<int64_t> counts;
    for (const MeshAxis &axis : all.mesh.axes())
      for (int64_t count : {axis.size, 2 * axis.size, int64_t(2), int64_t(3)})
        if (count > 1 && count < shape[dim] && shape[dim] % count == 0)
          counts.insert(count);
    for (int64_t count : std::set<int64_t>(counts)) {
      counts.insert(shape[dim] / count);
    }
    for (int64_t count : counts) {
      int64_t outer = 1, inner = 1;
      for (size_t i = 0; i < shape.size(); ++i)
        (i < dim ? outer : inner) *= i == dim ? 1 : shape[i];
      addWhole(fmt::format("{} in another order: its {} pieces of {} are "
                           "interleaved",
                           name, count, shape[dim] / count),
               transposed(whole, {outer, count, shape[dim] / count, inner},
                          {0, 2, 1, 3}));
    }
  }

  void addWhole(const std::string &text, const std::vector<double> &whole) {
    RankValues parts = all.each.tensor->partsOf(whole);
    all.add(VerdictKind::OtherCut, 0, text, {},
            inForm(*all.each.tensor, all.each.form, parts));
  }

  Candidates &all;
};

} // namespace

void tpsp::check::addLayouts(Candidates &all) { Layouts(all).addAll(); }
