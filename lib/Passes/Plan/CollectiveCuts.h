/// Cutting a collective and the product before or behind it into tiles, so that
/// the one can run under the other.
///
///   all_gather -> matmul   the rank's own tile is multiplied while the others'
///                          arrive, all in one gather or one by one around the
///                          ring, each in parts where that is faster; each
///                          product is written into its place
///   matmul -> reduce_scatter, matmul -> all_reduce
///                          the product is made in chunks, each reduced while
///                          the next is multiplied: chunks of rows, reduced
///                          into place, or of columns, copied there
#ifndef TPSP_PASSES_PLAN_COLLECTIVECUTS_H
#define TPSP_PASSES_PLAN_COLLECTIVECUTS_H

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

struct CollectiveCut {
  /// Own tile first and the rest when the gather is done; own tile first and
  /// then one after another around the ring; chunks of a reduction.
  enum Kind { OwnFirst, Ring, Chunks } kind = Ring;
  int64_t pieces = 1;
  /// Of a ring: how many parts each tile comes in. The product with a part
  /// begins when it is there, and it is passed on before the next has come.
  int64_t parts = 1;
  /// Of chunks: how many elements in a row are dealt out to the pieces. All
  /// that the reduction keeps together, or a row of the product.
  int64_t period = 0;
  /// The collective and its products, one after another and cut, with nothing
  /// else to do.
  double secondsBefore = 0, secondsAfter = 0;
};

/// The fastest cut of a collective, which may be slower than none; nullopt if
/// there is none: no product that can be cut beside it. `chunks` fixes the
/// number of pieces of a reduction, and of parts of a tile where they can be
/// cut so; 0 tries several.
std::optional<CollectiveCut> chooseCut(mlir::Operation *collective,
                                       const CostModel &cost, int64_t chunks);

/// Cuts as chosen; the collective is gone, or does not wait for its products
/// any more. `whole` numbers it: the ledger's rows of its pieces carry it.
void applyCut(mlir::Operation *collective, const CollectiveCut &cut,
              int64_t whole);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_COLLECTIVECUTS_H
