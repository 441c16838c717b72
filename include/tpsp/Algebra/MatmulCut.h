/// Cuts a matrix product along an index of one of its tensors. The product can
/// then be computed tile by tile, while a collective delivers or fetches the
/// tiles.
#ifndef TPSP_ALGEBRA_MATMULCUT_H
#define TPSP_ALGEBRA_MATMULCUT_H

#include "tpsp/Algebra/MatmulForm.h"

#include <array>

namespace tpsp {

/// A dense tensor seen as [outer, tiles, chunk], in elements. Tile number t is
/// its part [outer, t, chunk].
struct Tiling {
  int64_t tiles = 1;
  int64_t chunk = 1;
};

/// The tensors of a product: A, B and the result C.
enum class MatmulTensor { A, B, C };

/// One tile's part of a product. Strides and leading dimensions are those of
/// the whole tensors. The product of tile t begins at tile t of each cut
/// tensor.
struct MatmulCut {
  MatmulForm form;
  /// For A, B and C, how the cut divides the tensor; nullopt if every tile
  /// needs the whole tensor.
  std::array<std::optional<Tiling>, 3> tilings;

  std::optional<Tiling> tilingOf(MatmulTensor tensor) const {
    return tilings[size_t(tensor)];
  }
  /// Makes one tensor's tile a dense buffer of its own, [outer, chunk]. Its
  /// tiling is removed, and its strides shrink.
  void compact(MatmulTensor tensor);
};

/// Returns nullopt if the tiles do not divide one index of the product. The
/// index must not be summed, because the tiles' products would have to be
/// added.
std::optional<MatmulCut> cutMatmul(const MatmulForm &form, MatmulTensor tensor,
                                   Tiling tiling);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULCUT_H
