/// Decides which extents an axis of a placement problem may divide, together
/// with the axes that are decided already or are expected.
#ifndef TPSP_ALGEBRA_AXISEXTENTS_H
#define TPSP_ALGEBRA_AXISEXTENTS_H

#include "tpsp/Algebra/PlacementSearch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tpsp {

/// The decisions for the axes that were searched before.
struct DecidedAxes {
  llvm::SmallVector<bool, 4> is; ///< per axis
  PlacementAnswer answer;
};

/// Holds references to the problem and the decisions, which must outlive it.
class AxisExtents {
public:
  using Value = PlacementProblem::Value;
  using Operation = PlacementProblem::Operation;

  AxisExtents(const PlacementProblem &problem, const DecidedAxes &decided,
              AxisId axis)
      : problem(problem), decided(decided), axis(axis),
        size(problem.mesh.size(axis)) {}

  /// Whether other axes made an extent too small for this axis. If so, the
  /// order in which axes are searched matters.
  bool wasCrowded() const { return isCrowded; }

protected:
  /// The number of parts into which the other axes divide a dimension. Decided
  /// axes count by the state in which they leave the value, other axes by the
  /// expected placement.
  int64_t partsByOthers(unsigned value, unsigned dim) const {
    int64_t parts = 1;
    for (auto [other, is] : llvm::enumerate(decided.is))
      if (is && decided.answer.homes[value][other].dim() == dim)
        parts *= problem.mesh.size(other);
    return parts * partsUndecided(value, dim);
  }

  /// Whether the axis divides the index's extents, together with the axes that
  /// drive the index or are expected on it.
  bool divides(const Operation &operation, IndexId index) const {
    if (!isOneBlock(operation, index))
      return false;
    if (cutsRows(operation, index))
      return true;
    int64_t driven = size * partsDecided(operation, index);
    auto fits = [&](const IndexStructure::Tensor &tensor, unsigned value) {
      std::optional<unsigned> dim = tensor.dimOf(index);
      if (!dim)
        return true;
      int64_t parts = driven * partsUndecided(value, *dim);
      bool isEven = tensor.shape[*dim] % parts == 0;
      isCrowded |= !isEven && tensor.shape[*dim] % size == 0;
      return isEven;
    };
    return allTensors(operation, fits);
  }

  /// Whether all of an operation's tensors, with their values, pass the test.
  template <typename Test>
  static bool allTensors(const Operation &operation, Test test) {
    const IndexStructure &structure = operation.structure;
    for (auto [tensor, value] :
         llvm::zip_equal(structure.operands, operation.operands))
      if (!test(tensor, value))
        return false;
    for (auto [tensor, value] :
         llvm::zip_equal(structure.results, operation.results))
      if (!test(tensor, value))
        return false;
    return true;
  }

  /// The wanted placement of a value, or else its expected placement.
  const Placement &expected(unsigned value) const {
    const Value &v = problem.values[value];
    return v.wanted ? *v.wanted : v.expected;
  }

  const PlacementProblem &problem;
  const DecidedAxes &decided;
  AxisId axis;
  int64_t size;

private:
  /// Whether the operation works on rows of elements, and the axis is expected
  /// on the index of a tensor that is cut along it.
  bool cutsRows(const Operation &operation, IndexId index) const {
    auto isEven = [&](const IndexStructure::Tensor &tensor, unsigned value) {
      const Placement &placement = expected(value);
      std::optional<FlatCut> cut =
          flatCut(problem.values[value].shape, placement, problem.mesh);
      return !cut || tensor.dimOf(index) != cut->dim ||
             !llvm::is_contained(placement.dims[cut->dim], axis);
    };
    return !allTensors(operation, isEven) && operation.structure.worksOnRows();
  }

  /// The number of parts into which other axes, not decided yet, are expected
  /// to divide a dimension of a value.
  int64_t partsUndecided(unsigned value, unsigned dim) const {
    int64_t parts = 1;
    for (AxisId other : expected(value).dims[dim])
      if (other != axis && !decided.is[other])
        parts *= problem.mesh.size(other);
    return parts;
  }

  /// The number of parts into which the decided axes divide the index of an
  /// operation.
  int64_t partsDecided(const Operation &operation, IndexId index) const {
    const llvm::SmallVector<Drive, 2> &drives =
        decided.answer.drives[&operation - problem.operations.data()];
    int64_t parts = 1;
    for (auto [other, is] : llvm::enumerate(decided.is))
      if (is && drives[other] == Drive{Drive::Index, index})
        parts *= problem.mesh.size(other);
    return parts;
  }

  /// The number of parts into which axes, not decided yet, are expected to
  /// divide the index, if it is a dimension of its own.
  int64_t partsExpected(const Operation &operation, IndexId index) const {
    int64_t parts = 1;
    allTensors(operation,
               [&](const IndexStructure::Tensor &tensor, unsigned value) {
                 std::optional<unsigned> dim = tensor.dimOf(index);
                 if (!dim || tensor.parts(*dim).size() > 1)
                   return true;
                 parts = std::max(parts, partsUndecided(value, *dim));
                 return true;
               });
    return parts;
  }

  /// Whether the parts of merged dimensions before a divided one are used up,
  /// if the axis drives `index`.
  bool isOneBlock(const Operation &operation, IndexId index) const {
    const IndexStructure &structure = operation.structure;
    // Cached: each part is looked up for each tensor, and a look-up visits all
    // tensors.
    llvm::SmallDenseMap<IndexId, int64_t, 8> known;
    auto ranks = [&](IndexId part) {
      auto [found, isNew] = known.try_emplace(part);
      if (isNew)
        found->second = partsDecided(operation, part) *
                        partsExpected(operation, part) *
                        (part == index ? size : 1);
      return found->second;
    };
    return allTensors(
        operation, [&](const IndexStructure::Tensor &tensor, unsigned) {
          std::optional<unsigned> dim = tensor.dimOf(index);
          return !dim || structure.isOneBlock(tensor, *dim, ranks);
        });
  }

  mutable bool isCrowded = false;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISEXTENTS_H
