/// Cutting a matrix product along an index of one of its tensors. It can then
/// be done tile by tile, as a collective delivers or fetches the tiles.
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

/// One tile's worth of a product. Strides and leading dimensions are those of
/// the whole tensors; the product of tile t begins where tile t of each cut
/// tensor begins.
struct MatmulCut {
  MatmulForm form;
  /// Of A, B and C: how the cut falls in them; nullopt of a tensor that every
  /// tile needs whole.
  std::array<std::optional<Tiling>, 3> tilings;

  std::optional<Tiling> tilingOf(MatmulTensor tensor) const {
    return tilings[size_t(tensor)];
  }
  /// Makes one tensor's tile a dense buffer of its own, [outer, chunk]: its
  /// tiling goes, its strides close up.
  void compact(MatmulTensor tensor);
};

/// nullopt if the tiles do not fall on one index of the product, or on one that
/// is summed. (The tiles' products would have to be added.)
std::optional<MatmulCut> cutMatmul(const MatmulForm &form, MatmulTensor tensor,
                                   Tiling tiling);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULCUT_H
