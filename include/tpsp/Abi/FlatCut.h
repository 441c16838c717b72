/// How axes divide a tensor whose extents they do not divide.
///
/// Only stored tensors are divided so: parameters, their gradients, and the
/// state of optimizers. A rank's block by the axes that divide evenly is one
/// row of its elements. The other axes cut this row into equal pieces, the last
/// ones padded with zeros:
///
///     w[e@dp, d], e = 5, d = 3, dp = 4     15 elements: 4, 4, 4 and 3 with a 0
///
/// No collective has pieces of different sizes, and no extent of the program
/// changes.
#ifndef TPSP_ABI_FLATCUT_H
#define TPSP_ABI_FLATCUT_H

#include <cstddef>
#include <cstdint>

namespace tpsp {

/// Tensors of fewer elements stay whole where the compiler or the planner
/// chooses: their pieces would mostly be messages.
inline constexpr int64_t fewestCutElements = 4096;

/// How many axes of these sizes, major to minor, each divide what the axes
/// before it leave of `extent`. The axes after them cut the block as a row.
template <typename Sizes> size_t evenAxes(int64_t extent, const Sizes &sizes) {
  size_t count = 0;
  for (int64_t size : sizes) {
    if (extent % size != 0)
      break;
    extent /= size;
    ++count;
  }
  return count;
}

/// The elements of one of `ranks` pieces of a row of `elements`, padding
/// included.
inline int64_t pieceOf(int64_t elements, int64_t ranks) {
  return (elements + ranks - 1) / ranks;
}

} // namespace tpsp

#endif // TPSP_ABI_FLATCUT_H
