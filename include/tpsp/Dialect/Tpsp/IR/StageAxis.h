/// The mesh axis that divides a program's layers: the one with role `stage`.
///
///   tpsp.mesh @mesh <pp = 4 : stage, tp = 8 : model>
///
/// The axis shards no tensor, so code that places tensors never asks for the
/// role.
#ifndef TPSP_DIALECT_TPSP_IR_STAGEAXIS_H
#define TPSP_DIALECT_TPSP_IR_STAGEAXIS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Attribute of a function that is one chunk of a program's layers: its number.
inline constexpr llvm::StringLiteral stageChunkAttrName = "tpsp.stage_chunk";
/// Unit attribute of an argument of such a function: the previous chunk sends
/// it, and its gradient is sent back. These arguments come first, in the order
/// of the previous chunk's results.
inline constexpr llvm::StringLiteral receivedAttrName = "tpsp.received";

/// The stage axis of the mesh of `op`'s module, where `op` may be the module;
/// nullopt if no axis has the role.
std::optional<AxisId> stageAxisOf(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_STAGEAXIS_H
