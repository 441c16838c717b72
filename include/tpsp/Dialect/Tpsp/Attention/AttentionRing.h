/// Attention and its gradient as calls for one shard of keys after another.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <string>

namespace tpsp {

/// For people: why shards of keys cannot go around a ring for `op`, an
/// attention or its gradient; empty if they can. The axes that divide `op` do
/// not matter.
std::string unplacedRingObstacle(AttentionOpInterface op);

/// The same with the axes that divide `op`.
std::string ringObstacle(AttentionOpInterface op);

/// The index of the keys of `op`, an attention or its gradient.
llvm::StringRef keyIndexOf(AttentionOpInterface op);

/// Replaces `op`, which has no ringObstacle(), and erases it. Values are
/// unplaced. `op` has no sink (AttentionOpInterface::takeOutSink).
void replaceByRing(mlir::OpBuilder &b, AttentionOpInterface op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H
