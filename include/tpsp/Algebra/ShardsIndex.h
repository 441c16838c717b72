/// The name of the index of shards in attention, where positions are written as
/// (shards, positions): `s.shard` of `s`.
#ifndef TPSP_ALGEBRA_SHARDSINDEX_H
#define TPSP_ALGEBRA_SHARDSINDEX_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tpsp {

constexpr llvm::StringLiteral shardsSuffix = ".shard";

inline std::string shardsIndexOf(llvm::StringRef index) {
  return index.str() + shardsSuffix.str();
}

inline bool isShardsIndex(llvm::StringRef index) {
  return index.ends_with(shardsSuffix);
}

} // namespace tpsp

#endif // TPSP_ALGEBRA_SHARDSINDEX_H
