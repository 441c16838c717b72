/// The mesh axis that divides a program's layers: that of role `stage`.
///
///   tpsp.mesh @mesh <pp = 4 : stage, tp = 8 : model>
///
/// It shards no tensor, so who places tensors never asks for the role.
#ifndef TPSP_DIALECT_TPSP_IR_STAGEAXIS_H
#define TPSP_DIALECT_TPSP_IR_STAGEAXIS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Attribute of a function that is one chunk of a program's layers: its number.
inline constexpr llvm::StringLiteral stageChunkAttrName = "tpsp.stage_chunk";
/// Unit attribute of such a function's arguments that the chunk before sends,
/// and whose gradients are sent back to it. They come first, in the order of
/// that chunk's results.
inline constexpr llvm::StringLiteral receivedAttrName = "tpsp.received";

/// In the mesh of the module that `op` is in, or is; nullopt if no axis has the
/// role.
std::optional<AxisId> stageAxisOf(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_STAGEAXIS_H
