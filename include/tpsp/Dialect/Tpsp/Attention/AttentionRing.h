/// Attention and its gradient as calls for one shard of keys after another.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <string>

namespace tpsp {

/// For people: why shards of keys cannot go around a ring for `op`, an
/// attention or its gradient; empty if they can.
std::string ringObstacle(AttentionOpInterface op);

/// Replaces `op`, which has no ringObstacle(), and erases it. Values are
/// unplaced. `op` has no sink (AttentionOpInterface::takeOutSink).
void replaceByRing(mlir::OpBuilder &b, AttentionOpInterface op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONRING_H
