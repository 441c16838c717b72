/// The shards into which axes divide the queries and the keys of an attention.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSHARDS_H
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSHARDS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include <optional>

namespace tpsp {

struct Shards {
  int64_t count, positions;
  /// The axes that divide the positions, major to minor.
  mlir::ArrayAttr axes;
};

/// The shards into which axes divide the queries and the keys of `op` alike;
/// nullopt if none do. `key` is the index of the keys.
std::optional<Shards> shardsOf(AttentionOpInterface op, llvm::StringRef key);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSHARDS_H
