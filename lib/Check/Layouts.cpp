#include "Candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// For each piece of a tensor, the piece of another one that it is nearest to.
class PieceOrder {
public:
  /// Pieces of equal sizes, one after another.
  PieceOrder(std::vector<double> values, std::vector<double> right,
             int64_t count)
      : values(std::move(values)), right(std::move(right)),
        size(this->right.size() / count) {
    for (int64_t at = 0; at < count; ++at)
      order.push_back(nearest(at));
  }

  /// Whether every piece is somewhere, and at least one elsewhere. Pieces of
  /// zeros are near to each other, and moved only if all are.
  bool areMoved() const {
    std::vector<bool> isSeen(order.size(), false);
    for (int64_t from : order) {
      if (isSeen[from])
        return false;
      isSeen[from] = true;
    }
    return !std::is_sorted(order.begin(), order.end());
  }

  std::vector<double> moved() const {
    std::vector<double> out;
    for (int64_t from : order)
      out.insert(out.end(), right.begin() + from * size,
                 right.begin() + (from + 1) * size);
    return out;
  }

  /// "reversed", "turned by 1", "2, 0, 1, ...".
  std::string text() const {
    auto count = int64_t(order.size());
    bool isReversed = true, isTurned = true;
    for (int64_t at = 0; at < count; ++at) {
      isReversed &= order[at] == count - 1 - at;
      isTurned &= order[at] == (order[0] + at) % count;
    }
    if (isReversed)
      return "reversed";
    if (isTurned)
      return fmt::format("turned by {}", count - order[0]);
    constexpr size_t shown = 8;
    std::vector<int64_t> first(order.begin(),
                               order.begin() + std::min(shown, order.size()));
    return fmt::format("{}{}", fmt::join(first, ", "),
                       order.size() > shown ? ", ..." : "");
  }

private:
  /// A few elements of the pieces decide.
  int64_t nearest(int64_t at) const {
    constexpr int64_t mostElements = 256;
    int64_t stride = (size + mostElements - 1) / mostElements;
    int64_t best = at;
    double least = squares(at, at, stride);
    for (int64_t from = 0; from < int64_t(right.size()) / size; ++from)
      if (double off = squares(at, from, stride); off < least) {
        least = off;
        best = from;
      }
    return best;
  }

  double squares(int64_t at, int64_t from, int64_t stride) const {
    double sum = 0;
    for (int64_t i = 0; i < size; i += stride) {
      double off = values[at * size + i] - right[from * size + i];
      sum += off * off;
    }
    return sum;
  }

  const std::vector<double> values, right;
  const int64_t size;
  std::vector<int64_t> order;
};

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
    std::vector<double> whole = wholeOf(*all.each.tensor, all.each.form,
                                        all.each.right, all.completeRank());
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
    tryMovedPieces(whole);
  }

  /// The numbers of equal pieces into which a dimension may be cut, at most so
  /// many.
  std::set<int64_t> pieceCounts(int64_t extent) const {
    std::set<int64_t> counts;
    for (const MeshAxis &axis : all.mesh.axes())
      for (int64_t count : {axis.size, 2 * axis.size, int64_t(2), int64_t(3)})
        if (count > 1 && count < extent && extent % count == 0)
          counts.insert(count);
    return counts;
  }

  void tryChunksOf(const std::vector<double> &whole, size_t dim,
                   const std::string &name) {
    const Shape &shape = all.each.tensor->buffer().shape;
    std::set<int64_t> counts = pieceCounts(shape[dim]);
    for (int64_t count : std::set<int64_t>(counts))
      counts.insert(shape[dim] / count);
    for (int64_t count : counts)
      addWhole(fmt::format("{} in another order: its {} pieces of {} are "
                           "interleaved",
                           name, count, shape[dim] / count),
               transposed(whole, cutShape(dim, count), {0, 2, 1, 3}));
  }

  /// The shape with a dimension cut into pieces: what is outside, pieces, the
  /// positions of a piece, what is inside.
  Shape cutShape(size_t dim, int64_t pieces) const {
    const Shape &shape = all.each.tensor->buffer().shape;
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < shape.size(); ++i)
      (i < dim ? outer : inner) *= i == dim ? 1 : shape[i];
    return {outer, pieces, shape[dim] / pieces, inner};
  }

  /// Each piece of a dimension may be any of what is right, such as heads or
  /// ranks' parts in another order.
  void tryMovedPieces(const std::vector<double> &whole) {
    const Shape &shape = all.each.tensor->buffer().shape;
    std::vector<double> has = wholeOf(*all.each.tensor, all.each.form,
                                      all.each.values, all.completeRank());
    if (has.size() != whole.size())
      return;
    std::vector<std::string> names = indexNamesOf(all.each.tensor->buffer());
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      std::set<int64_t> counts = pieceCounts(shape[dim]);
      constexpr int64_t mostPieces = 64;
      if (shape[dim] > 1 && shape[dim] <= mostPieces)
        counts.insert(shape[dim]);
      for (int64_t count : counts)
        addMovedPieces(has, whole, dim, count, names[dim]);
    }
  }

  void addMovedPieces(const std::vector<double> &has,
                      const std::vector<double> &whole, size_t dim,
                      int64_t count, const std::string &name) {
    Shape cut = cutShape(dim, count);
    // The pieces one after another.
    const std::vector<size_t> order = {1, 0, 2, 3};
    PieceOrder pieces(transposed(has, cut, order),
                      transposed(whole, cut, order), count);
    if (!pieces.areMoved())
      return;
    std::vector<double> moved =
        transposed(pieces.moved(), transposedShape(cut, order), order);
    addWhole(fmt::format("{} in another order: its {} pieces of {} are {}",
                         name, count, cut[2], pieces.text()),
             moved, int(count));
  }

  void addWhole(const std::string &text, const std::vector<double> &whole,
                int weight = 0) {
    RankValues parts = all.each.tensor->partsOf(whole);
    all.add(VerdictKind::OtherCut, weight, text, {},
            inForm(*all.each.tensor, all.each.form, parts));
  }

  Candidates &all;
};

} // namespace

void tpsp::check::addLayouts(Candidates &all) { Layouts(all).addAll(); }
