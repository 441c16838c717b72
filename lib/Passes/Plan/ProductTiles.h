/// Products in tiles: the tiles of their buffers and of their epilogues.
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
/// The runtime's element type: TPSP_RT_F32, ...
int64_t dtypeOf(mlir::Value buffer);
/// A type of one dimension with the element type of `like`.
mlir::MemRefType flatType(mlir::Value like, int64_t elements);

/// Number `part` of `parts` equal parts of a tile.
struct TilePart {
  int64_t parts = 1, part = 0;
};

/// Tile `number` of a buffer, or a part of it. With `axes`, tiles are counted
/// from the rank's own among the ranks along these axes.
mlir::Value tileOfBuffer(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value buffer, Tiling tiling, int64_t number,
                         llvm::ArrayRef<int64_t> axes, TilePart part = {});

/// The uses of a buffer, through views.
struct BufferUsers {
  llvm::SmallVector<mlir::OpOperand *> uses;
  llvm::SmallVector<plan::TileOp> tiles;

  explicit BufferUsers(plan::BufferOp buffer) { collect(buffer.getResult()); }
  bool hasTiles() const { return !tiles.empty(); }

private:
  void collect(mlir::Value value);
};

/// Whether a tensor can be cut alike on every rank. It must not be a tile, and
/// no tile of its buffer is counted from the rank's own.
bool canBeCut(mlir::Value tensor);

/// Builds the commands that replace a command, before it and in its phase.
/// Without a phase, they would get that of the preceding command.
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

/// A step of an epilogue in the tiles of a cut product.
struct CutStep {
  rt::EpilogueStep step;
  /// Null if the step has none.
  mlir::Value buffer;
  /// nullopt: each tile needs the whole buffer.
  std::optional<Tiling> tiling;
  /// Whether one tile does the step for all: a sum over an operand that is not
  /// cut.
  bool isOnce = false;
};

using CutEpilogue = llvm::SmallVector<CutStep, 3>;

/// How the epilogue of `op` is cut with its product. `axes` are the
/// collective's if tiles are counted from the rank's own, and empty if tiles
/// are the same on every rank. Returns nullopt if the tiles of a buffer do not
/// match those of the product, or if the buffer is already cut otherwise.
std::optional<CutEpilogue> cutEpilogue(plan::MatmulOp op, const MatmulCut &cut,
                                       llvm::ArrayRef<int64_t> axes);

/// Creates the product of one tile, like `op`. `tileOf` creates a buffer's
/// tile. `isFirst`: whether this tile does the steps that one tile does for
/// all.
void createTileProduct(
    mlir::OpBuilder &b, plan::MatmulOp op, MatmulBuffers buffers,
    const MatmulForm &form, const CutEpilogue &epilogue, bool isFirst,
    llvm::function_ref<mlir::Value(mlir::Value, Tiling)> tileOf);

//===----------------------------------------------------------------------===//
// Collectives in pieces
//===----------------------------------------------------------------------===//

/// The ledger's row of a piece.
using PieceRow = plan::LedgerAttr;

/// The row of one of `pieces` parts of a collective, which `whole` numbers.
PieceRow ledgerOfPiece(mlir::Operation *collective, int64_t pieces,
                       int64_t whole);

llvm::SmallVector<AxisId> axesOf(mlir::Operation *collective);

/// The numbers of pieces to try: the one asked for, or several.
llvm::SmallVector<int64_t> pieceCounts(int64_t asked);

/// Whether more pieces are worth it. Each piece is one more command, whose cost
/// the model may underestimate, so the gain must be clear.
inline bool isWorthMore(double seconds, double best) {
  return seconds < 0.99 * best;
}

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PRODUCTTILES_H
