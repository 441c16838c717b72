/// The least cost of moving a tensor between two placements. It is found by a
/// search over single collectives in which every axis moves directly to its
/// target. The collectives are those of the table in Collective.h, axis by
/// axis, and a permute if the order of the subscripts requires it. The oracle
/// shares no code with lib/Algebra; the tests compare the two.
#ifndef TPSP_TEST_UNIT_ALGEBRA_TRANSITIONORACLE_H
#define TPSP_TEST_UNIT_ALGEBRA_TRANSITIONORACLE_H

#include "tpsp/Algebra/Placement.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tpsp::oracle {

/// A placement in plain containers: per dimension the axes, major to minor.
struct Layout {
  std::vector<std::vector<unsigned>> dims;
  std::vector<unsigned> pending; ///< ascending

  bool operator<(const Layout &other) const {
    return std::tie(dims, pending) < std::tie(other.dims, other.pending);
  }
  bool operator==(const Layout &other) const {
    return dims == other.dims && pending == other.pending;
  }
};

/// Hashes of layouts and of pairs of layouts, for unordered containers.
struct LayoutHash {
  size_t operator()(const Layout &layout) const;
  size_t operator()(const std::pair<Layout, Layout> &pair) const;
};

Layout layoutOf(const Placement &placement);
Placement placementOf(const Layout &layout);
/// "[0 1][ ] | 2", for failure messages.
std::string toString(const Layout &layout);

/// Returns every layout of a tensor of this rank over `numAxes` axes, with
/// pending axes if `withPending`.
std::vector<Layout> allLayouts(unsigned rank, unsigned numAxes,
                               bool withPending);

using Sizes = std::vector<int64_t>;
using Shape = std::vector<int64_t>;

/// Whether every dimension divides evenly among its axes.
bool divides(const Layout &layout, const Shape &shape, const Sizes &sizes);

/// Elements that one rank holds.
int64_t localElements(const Layout &layout, const Shape &shape,
                      const Sizes &sizes);

struct Price {
  /// Axes of collectives that communicate; all axes of a permute count once.
  unsigned moves = 0;
  int64_t bytes = 0;

  bool operator<(const Price &other) const {
    return std::tie(moves, bytes) < std::tie(other.moves, other.bytes);
  }
  bool operator==(const Price &other) const {
    return moves == other.moves && bytes == other.bytes;
  }
};

/// Movements between the layouts of one tensor.
class TransitionOracle {
public:
  TransitionOracle(Shape shape, int64_t elementBytes, Sizes sizes)
      : shape(std::move(shape)), elementBytes(elementBytes),
        sizes(std::move(sizes)) {}

  /// Returns the cheapest direct movement: fewest moves first, then fewest
  /// bytes. Returns nullopt if there is none.
  std::optional<Price> price(const Layout &from, const Layout &to) const;

private:
  struct Edge {
    Layout to;
    int kind; ///< -1: a slice, which communicates nothing
    std::vector<unsigned> axes;
  };
  std::vector<Edge> edgesFrom(const Layout &from) const;
  int64_t bytes(const Layout &from, const Edge &edge) const;

  Shape shape;
  int64_t elementBytes;
  Sizes sizes;
  mutable std::unordered_map<std::pair<Layout, Layout>, std::optional<Price>,
                             LayoutHash>
      known;
};

} // namespace tpsp::oracle

#endif // TPSP_TEST_UNIT_ALGEBRA_TRANSITIONORACLE_H
