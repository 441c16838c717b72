/// Tensors spread over ranks. Collectives are done on the ranks' blocks:
/// gather, add, cut, exchange. The simulation does not know a transition's
/// target.
#ifndef TPSP_TEST_UNIT_ALGEBRA_RANKSIMULATION_H
#define TPSP_TEST_UNIT_ALGEBRA_RANKSIMULATION_H

#include "TransitionOracle.h"

#include "tpsp/Algebra/Collective.h"

namespace tpsp::oracle {

/// A dense row-major tensor of integers.
struct Dense {
  Shape shape;
  std::vector<int64_t> values;

  explicit Dense(Shape shape);
  int64_t &at(const std::vector<int64_t> &position);
  int64_t at(const std::vector<int64_t> &position) const;

  bool operator==(const Dense &other) const {
    return shape == other.shape && values == other.values;
  }
};

Dense add(const Dense &a, const Dense &b);
/// Returns the part of `whole` from `begin` with extent `extent` along `dim`.
Dense cut(const Dense &whole, unsigned dim, int64_t begin, int64_t extent);
Dense concatenate(const std::vector<Dense> &parts, unsigned dim);

/// Calls `visit` with every position of `shape`, in row-major order.
template <typename Visit>
void forEachPosition(const Shape &shape, Visit visit) {
  std::vector<int64_t> position(shape.size(), 0);
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  for (;;) {
    visit(position);
    size_t dim = shape.size();
    while (dim > 0 && ++position[dim - 1] == shape[dim - 1])
      position[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// Ranks numbered row-major over the axes, first axis slowest.
class Ranks {
public:
  explicit Ranks(Sizes sizes) : sizes(std::move(sizes)) {}

  int64_t count() const;
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// Position of `rank` in its group over `axes`, major to minor.
  int64_t positionIn(int64_t rank, const AxisList &axes) const;
  /// The group of `rank` over `axes`, in order of position.
  std::vector<int64_t> group(int64_t rank, const AxisList &axes) const;
  int64_t groupSize(const AxisList &axes) const;

  /// The block of `whole` that `rank` holds under `dims`.
  Dense block(const Dense &whole, const Layout &layout, int64_t rank) const;

  const Sizes sizes;
};

/// Returns every rank's block after one collective.
std::vector<Dense> apply(const CollectiveStep &step, const Placement &before,
                         const std::vector<Dense> &held, const Ranks &ranks);

/// Random summands of a tensor, one for every coordinate on the pending axes.
/// All ranks with the same coordinate hold blocks of the same summand.
class Summands {
public:
  Summands(const Shape &shape, const Layout &layout, const Ranks &ranks,
           unsigned seed);

  /// Returns the block that `rank` holds at first.
  Dense held(int64_t rank) const;
  /// Returns the block that `rank` must hold under another layout, which is
  /// pending over some of the same axes.
  Dense expected(const Layout &target, int64_t rank) const;

private:
  /// Row-major number of a coordinate on the pending axes.
  size_t numberOf(const std::vector<int64_t> &coordinates) const;

  Layout layout;
  const Ranks &ranks;
  std::vector<Dense> summands;
};

} // namespace tpsp::oracle

#endif // TPSP_TEST_UNIT_ALGEBRA_RANKSIMULATION_H
