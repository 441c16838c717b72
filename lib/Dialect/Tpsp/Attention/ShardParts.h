/// Takes tensors of attention apart into shards, moves these, and puts them
/// together. AttentionRing.cpp says which part a shard has of which half.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_SHARDPARTS_H
#define TPSP_DIALECT_TPSP_ATTENTION_SHARDPARTS_H

#include "AttentionShards.h"
#include "Dialect/Tpsp/Operations/PartBuilder.h"

#include <map>
#include <tuple>

namespace tpsp {

/// The positions of shards of one tensor: early and late halves under a causal
/// mask, otherwise all in one.
using Parts = llvm::SmallVector<mlir::Value, 2>;
enum Half : unsigned { Early = 0, Late = 1 };

class ShardParts : public AdjointBuilder {
public:
  ShardParts(mlir::OpBuilder &b, AttentionOpInterface op, Shards shards);

  Parts partsOf(mlir::Value x, llvm::StringRef index);

  /// The tensor of `type` that partsOf() takes apart into `parts`.
  mlir::Value wholeOf(const Parts &parts, mlir::RankedTensorType type,
                      llvm::StringRef index);

  Parts handedOn(const Parts &parts, int64_t by);

  /// `early` on shards whose early half is later than that of the shard `hop`
  /// before, else `late`. For hop 0: on shards whose first half is the early
  /// one.
  mlir::Value either(int64_t hop, mlir::Value early, mlir::Value late);

  /// `x` on shards for which either() gives its operand number `half`, else
  /// `number`.
  mlir::Value orElse(int64_t hop, Half half, mlir::Value x, double number);

  /// The same with 0. A pending sum over ranks stays pending.
  mlir::Value onlyIf(int64_t hop, Half half, mlir::Value x);

  /// `x` with its indices in the order of `names`.
  mlir::Value ordered(mlir::Value x, llvm::ArrayRef<llvm::StringRef> names);
  mlir::Value converted(mlir::Value x, mlir::Type element);

  /// The positions of `index` within a part.
  mlir::StringAttr within(llvm::StringRef index);
  /// The type of a part of a tensor of `type`.
  mlir::RankedTensorType partType(mlir::RankedTensorType type,
                                  llvm::StringRef index);

  const Shards shards;
  const bool isBalanced;

private:
  /// The places of shards: one number for each, placed like the shards.
  mlir::RankedTensorType placesIn(AttentionOpInterface op);
  mlir::RankedTensorType withHalves(mlir::RankedTensorType type,
                                    llvm::StringRef index);
  mlir::StringAttr half(llvm::StringRef index);
  mlir::Value taken(mlir::Value halves, llvm::StringRef index, int64_t at);
  mlir::Value mirrored(mlir::Value x);

  /// 1 on shards for which either() gives its operand number `half`, else 0.
  /// The number has the type of elements of `like`, or f32 if they are
  /// integers.
  mlir::Value condition(int64_t hop, mlir::Value like, Half half);
  mlir::Value seesEarlyKeys(int64_t hop, Half half);

  const mlir::StringAttr shard;
  const mlir::RankedTensorType places;
  /// Conditions by hop, half and type.
  std::map<std::tuple<int64_t, Half, const void *>, mlir::Value> conditions;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_SHARDPARTS_H
