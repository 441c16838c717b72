/// Decides when an index is worth padding, so that axes divide it.
#ifndef TPSP_ALGEBRA_PADDEDEXTENT_H
#define TPSP_ALGEBRA_PADDEDEXTENT_H

#include <cstdint>

namespace tpsp {

/// The smallest multiple of `ranks` that is at least `extent`; both are above
/// 0.
inline int64_t paddedExtent(int64_t extent, int64_t ranks) {
  return (extent + ranks - 1) / ranks * ranks;
}

/// Whether at most half of the positions would be padding. A batch of one
/// sequence on eight ranks is not worth it: seven ranks would compute only
/// padding.
inline bool isWorthPadding(int64_t extent, int64_t ranks) {
  return paddedExtent(extent, ranks) / 2 <= extent;
}

} // namespace tpsp

#endif // TPSP_ALGEBRA_PADDEDEXTENT_H
