/// Moves gathers after the operations that make their tensor smaller.
///
///   w f32 --all_gather--> f32 --convert--> bf16      4 bytes an element are
///   sent w f32 --convert--> bf16 --all_gather--> bf16     2 bytes an element
///   are sent
#ifndef TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H
#define TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Block.h"

namespace tpsp {

/// Moves every gather of `block` after the elementwise operations that are its
/// only users, as far as that gathers fewer bytes. Several gathered operands of
/// one operation become one gather of its result. The operations in between
/// then work on shards. Values are the same, bit for bit. A remark reports each
/// move, and each gather that several users kept in front of a narrower tensor.
void narrowGathers(mlir::Block &block, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H
