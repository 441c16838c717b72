/// The best compute placement of an operation by brute force. It tries every
/// index that an axis may drive and every order of the axes on an index.
/// TransitionOracle prices them. It shares no code with lib/Algebra.
#ifndef TPSP_TEST_UNIT_ALGEBRA_PLACEMENTORACLE_H
#define TPSP_TEST_UNIT_ALGEBRA_PLACEMENTORACLE_H

#include "TransitionOracle.h"

namespace tpsp::oracle {

/// An einsum in plain containers: per tensor the numbers of its indices.
struct Einsum {
  std::vector<int64_t> extents;                ///< per index
  std::vector<std::vector<unsigned>> operands; ///< per operand, per dimension
  std::vector<unsigned> result;

  Shape shapeOf(const std::vector<unsigned> &tensor) const;
};

/// How a sum may wait until after an operation.
enum class Waits { Never, IfAllAlike, IfExactlyOne };

/// Properties of other operations, besides an einsum's indices.
struct Traits {
  Waits waits = Waits::IfExactlyOne;
  /// Per index, whether no axis may drive it; if empty, axes may drive all.
  std::vector<bool> whole;
  /// Per operand, whether its pending reduction is a maximum; if empty, none
  /// is.
  std::vector<bool> operandIsMaximum;
  /// Whether the operation's own reduction is a maximum, and whether the wanted
  /// pending reduction is one.
  bool resultIsMaximum = false, wantedIsMaximum = false;
  /// The tensors' shapes, if they differ from the indices' extents (merged
  /// dimensions); else empty.
  std::vector<Shape> operandShapes;
  std::optional<Shape> resultShape;
};

struct OperationPrice {
  unsigned idle = 0;
  unsigned collectives = 0;
  double work = 0;
  unsigned earlySums = 0;
  int64_t bytes = 0;

  bool operator<(const OperationPrice &other) const {
    return std::tie(idle, collectives, work, earlySums, bytes) <
           std::tie(other.idle, other.collectives, other.work, other.earlySums,
                    other.bytes);
  }
};

class PlacementOracle {
public:
  PlacementOracle(Einsum einsum, int64_t elementBytes, Sizes sizes,
                  Traits traits = Traits());

  /// Returns the cheapest of all choices in which every tensor moves directly;
  /// nullopt if there is none.
  std::optional<OperationPrice> best(const std::vector<Layout> &operands,
                                     const std::optional<Layout> &wanted) const;

  /// What one axis drives: an index, or one of these.
  static constexpr int nothing = -1, pending = -2;
  using Drives = std::vector<int>;

  /// Whether the axis may drive this.
  bool allows(const std::vector<Layout> &operands,
              const std::optional<Layout> &wanted, unsigned axis,
              int drive) const;
  /// The axes of every index, in one order; `order` lists all axes.
  std::vector<std::vector<unsigned>>
  axesOfIndices(const Drives &drives, const std::vector<unsigned> &order) const;
  /// Return the layouts that the operands must have and that the result gets.
  Layout operandUnder(const Drives &drives, const std::vector<unsigned> &order,
                      unsigned operand, const Layout &has) const;
  Layout resultUnder(const Drives &drives,
                     const std::vector<unsigned> &order) const;

private:
  std::optional<OperationPrice> price(const std::vector<Layout> &operands,
                                      const std::optional<Layout> &wanted,
                                      const Drives &drives,
                                      const std::vector<unsigned> &order) const;

  Shape operandShape(unsigned operand) const;
  Shape resultShape() const;

  Einsum einsum;
  Sizes sizes;
  Traits traits;
  std::vector<TransitionOracle> operandOracles;
  TransitionOracle resultOracle;
};

} // namespace tpsp::oracle

#endif // TPSP_TEST_UNIT_ALGEBRA_PLACEMENTORACLE_H
