/// Cuts a collective and the product before or after it into tiles, so that
/// they can overlap.
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
  /// OwnFirst: the rank's own tile is multiplied first, the rest when the
  /// gather is done. Ring: the own tile first, then one tile after another
  /// around the ring. Chunks: the product before a reduction is computed in
  /// chunks.
  enum Kind { OwnFirst, Ring, Chunks } kind = Ring;
  int64_t pieces = 1;
  /// Rings only: the number of parts of each tile. The product with a part
  /// begins when the part arrives. A part is passed on before the next one
  /// arrives.
  int64_t parts = 1;
  /// Chunks only: how many consecutive elements are distributed over the
  /// pieces. For chunks of rows that is all that the reduction keeps together,
  /// for chunks of columns a row of the product.
  int64_t period = 0;
  /// Predicted seconds of the collective and its products in isolation: one
  /// after another, and cut.
  double secondsBefore = 0, secondsAfter = 0;
};

/// The fastest cut of a collective, which may be slower than no cut. nullopt if
/// no adjacent product can be cut. `chunks` fixes the number of pieces of a
/// reduction, and of parts of a ring's tile, if that many are possible; 0 tries
/// several.
std::optional<CollectiveCut> chooseCut(mlir::Operation *collective,
                                       const CostModel &cost, int64_t chunks);

/// Applies a cut. The collective is then erased, or no longer waits for its
/// products. The ledger's rows of its pieces carry its number, `whole`.
void applyCut(mlir::Operation *collective, const CollectiveCut &cut,
              int64_t whole);

// Implementation details: the functions for each form. `group`: the number of
// ranks.

std::optional<CollectiveCut> chooseGatherCut(plan::AllGatherOp gather,
                                             int64_t group,
                                             const CostModel &cost,
                                             int64_t chunks);
void applyGatherCut(plan::AllGatherOp gather, int64_t group,
                    const CollectiveCut &cut, int64_t whole);
std::optional<CollectiveCut> chooseReductionCut(mlir::Operation *collective,
                                                const CostModel &cost,
                                                int64_t chunks);
void applyReductionCut(mlir::Operation *collective, const CollectiveCut &cut,
                       int64_t whole);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_COLLECTIVECUTS_H
