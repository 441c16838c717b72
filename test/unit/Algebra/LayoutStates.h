/// The state of a layout along one axis, for the joint oracle.
#ifndef TPSP_TEST_LAYOUTSTATES_H
#define TPSP_TEST_LAYOUTSTATES_H

#include "PlacementOracle.h"
#include "tpsp/Algebra/PlacementSearch.h"

#include <algorithm>

namespace tpsp::oracle {

inline constexpr int isWhole = -1, isPending = -2;

/// The dimension of a tensor that an axis divides, or one of the constants.
inline int stateOf(const Layout &layout, unsigned axis) {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim)
    for (unsigned other : layout.dims[dim])
      if (other == axis)
        return int(dim);
  for (unsigned other : layout.pending)
    if (other == axis)
      return isPending;
  return isWhole;
}

inline void erase(std::vector<unsigned> &axes, unsigned axis) {
  axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
}

inline void dropAxis(Layout &layout, unsigned axis) {
  for (auto &axes : layout.dims)
    erase(axes, axis);
  erase(layout.pending, axis);
}

inline void putAxis(Layout &layout, unsigned axis, int state) {
  dropAxis(layout, axis);
  if (state >= 0)
    layout.dims[state].push_back(axis);
  if (state == isPending) {
    layout.pending.push_back(axis);
    std::sort(layout.pending.begin(), layout.pending.end());
  }
}

inline int dimOf(const IndexStructure::Tensor &tensor, int index) {
  for (size_t dim = 0; dim < tensor.indices.size(); ++dim)
    if (int(tensor.indices[dim]) == index)
      return int(dim);
  return -1;
}

inline Shape shapeOf(const IndexStructure::Tensor &tensor) {
  return Shape(tensor.shape.begin(), tensor.shape.end());
}

/// The bytes of a rank's part of an activation; 0 for a parameter.
inline double bytesOf(const PlacementProblem::Value &value,
                      const Layout &layout, const Sizes &sizes) {
  double bytes = value.isWeight ? 0 : double(value.elementBytes);
  for (int64_t extent : value.shape)
    bytes *= double(extent);
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    if (stateOf(layout, axis) >= 0)
      bytes /= double(sizes[axis]);
  return bytes;
}

/// Whether an operand's index is summed by a lookup that multiplies nothing
/// along it. Each rank of an axis on it would have a result of full size.
inline bool sumsZeros(const PlacementProblem &problem,
                      const PlacementProblem::Operation &operation,
                      unsigned operand, unsigned index) {
  if (!operation.structure.usesPositions)
    return false;
  for (const IndexStructure::Tensor &tensor : operation.structure.results)
    if (dimOf(tensor, int(index)) >= 0)
      return false;
  for (unsigned i = 0; i < operation.operands.size(); ++i)
    if (i != operand && !problem.values[operation.operands[i]].isSmall &&
        dimOf(operation.structure.operands[i], int(index)) >= 0)
      return false;
  return true;
}

inline bool sharesAnIndex(std::vector<int> drives) {
  std::sort(drives.begin(), drives.end());
  return std::adjacent_find(drives.begin(), drives.end(), [](int a, int b) {
           return a >= 0 && a == b;
         }) != drives.end();
}

/// Visits every tensor of an operation with its value.
template <typename Visit>
inline void forEachTensor(const PlacementProblem::Operation &operation,
                          Visit visit) {
  for (size_t i = 0; i < operation.operands.size(); ++i)
    visit(operation.structure.operands[i], operation.operands[i]);
  for (size_t i = 0; i < operation.results.size(); ++i)
    visit(operation.structure.results[i], operation.results[i]);
}

} // namespace tpsp::oracle

#endif // TPSP_TEST_LAYOUTSTATES_H
