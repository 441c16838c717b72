/// Gathers behind what makes their tensor smaller.
///
///   w f32 --all_gather--> f32 --convert--> bf16      4 bytes an element are
///   sent w f32 --convert--> bf16 --all_gather--> bf16     2 bytes an element
///   are sent
#ifndef TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H
#define TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Block.h"

namespace tpsp {

/// Moves every gather of `block` behind the operations, element by element,
/// that alone use its result, as far as fewer bytes are gathered for that.
/// Several operands of one are gathered as its result. The work between is then
/// done on shards. Values are the same, bit for bit. A remark says what was
/// moved, and where several users kept a gather in front of a narrower one.
void narrowGathers(mlir::Block &block, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_NARROWGATHERS_H
