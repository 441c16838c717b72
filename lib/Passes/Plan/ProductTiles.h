/// A product in tiles: the tiles of its buffers, and its epilogue in them.
#ifndef TPSP_PASSES_PLAN_PRODUCTTILES_H
#define TPSP_PASSES_PLAN_PRODUCTTILES_H

#include "PlanMatmul.h"
#include "tpsp/Algebra/MatmulCut.h"
#include "tpsp/Algebra/MatmulEpilogue.h"
#include "tpsp/Algebra/Mesh.h"

#include <optional>

namespace tpsp {

//===----------------------------------------------------------------------===//
// Buffers and their tiles
//===----------------------------------------------------------------------===//

int64_t elementsOf(mlir::Value buffer);
/// TPSP_RT_F32, ...
int64_t dtypeOf(mlir::Value buffer);
/// One dimension of elements as `like` has them.
mlir::MemRefType flatType(mlir::Value like, int64_t elements);

/// Number `part` of `parts` equal parts of a tile.
struct TilePart {
  int64_t parts = 1, part = 0;
};

/// Tile `number` of a buffer, or a part of it. With `axes` it is counted from
/// the rank's own among the ranks along these.
mlir::Value tileOfBuffer(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value buffer, Tiling tiling, int64_t number,
                         llvm::ArrayRef<int64_t> axes, TilePart part = {});

/// Who touches a buffer, through views.
struct BufferUsers {
  llvm::SmallVector<mlir::OpOperand *> uses;
  llvm::SmallVector<plan::TileOp> tiles;

  explicit BufferUsers(plan::BufferOp buffer) { collect(buffer.getResult()); }
  bool hasTiles() const { return !tiles.empty(); }

private:
  void collect(mlir::Value value);
};

/// Whether a tensor can be cut the same on every rank. It is no tile itself,
/// and no tile of its buffer is counted from the rank's own.
bool canBeCut(mlir::Value tensor);

/// Builds before a command what takes its place: commands of its phase. Without
/// one they would be of the phase of whatever is in front of them.
class PieceBuilder : public mlir::OpBuilder, mlir::OpBuilder::Listener {
public:
  explicit PieceBuilder(plan::CommandOpInterface whole)
      : OpBuilder(whole, /*listener=*/this), phase(whole.getPhase()) {}

  void notifyOperationInserted(mlir::Operation *op, InsertPoint) override {
    auto piece = mlir::dyn_cast<plan::CommandOpInterface>(op);
    if (piece && phase)
      piece.setPhase(*phase);
  }

private:
  const std::optional<int64_t> phase;
};

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// What a step of an epilogue becomes in the tiles of a cut product.
struct CutStep {
  rt::EpilogueStep step;
  /// Null if it has none.
  mlir::Value buffer;
  /// nullopt: a tile needs the buffer whole.
  std::optional<Tiling> tiling;
  /// One tile does it for all: a sum over an operand that is not cut.
  bool isOnce = false;
};

using CutEpilogue = llvm::SmallVector<CutStep, 3>;

/// How the epilogue of `op` is cut with its product. `axes` are the
/// collective's if tiles are counted from the rank's own, and empty if they are
/// the same on every rank. It is nullopt if the tiles of a buffer do not go
/// with those of the product, or if the buffer is cut otherwise already.
std::optional<CutEpilogue> cutEpilogue(plan::MatmulOp op, const MatmulCut &cut,
                                       llvm::ArrayRef<int64_t> axes);

/// The product of one tile, like `op`. `tileOf` makes a buffer's tile.
/// `isFirst`: does what one tile does for all.
void createTileProduct(
    mlir::OpBuilder &b, plan::MatmulOp op, MatmulBuffers buffers,
    const MatmulForm &form, const CutEpilogue &epilogue, bool isFirst,
    llvm::function_ref<mlir::Value(mlir::Value, Tiling)> tileOf);

//===----------------------------------------------------------------------===//
// Collectives in pieces
//===----------------------------------------------------------------------===//

/// The ledger's row of a piece.
using PieceRow = plan::LedgerAttr;

/// Of one of `pieces` parts of a collective of this kind; `whole` numbers it.
PieceRow ledgerOfPiece(mlir::Operation *collective, int64_t pieces,
                       int64_t whole);

llvm::SmallVector<AxisId> axesOf(mlir::Operation *collective);

/// How many pieces to try: those asked for, or several.
llvm::SmallVector<int64_t> pieceCounts(int64_t asked);

/// Whether more pieces are worth it: each is one more command, whose costs the
/// model knows best when they matter little.
inline bool isWorthMore(double seconds, double best) {
  return seconds < 0.99 * best;
}

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PRODUCTTILES_H
