/// Tensors and their parts.
#ifndef TPSP_PASSES_LOGICAL_MICROBATCHVIEWS_H
#define TPSP_PASSES_LOGICAL_MICROBATCHVIEWS_H

#include "MicroBatchShares.h"

namespace tpsp::microbatch {

/// Between a tensor and its parts, by views that move nothing where the tensor
/// has the division's axes.
class Cutter {
public:
  Cutter(mlir::OpBuilder &b, const Division &division)
      : b(b), division(division) {}

  /// The type of a part of `type`.
  mlir::RankedTensorType partOf(mlir::RankedTensorType type,
                                unsigned dim) const;

  /// Part number `part` of a tensor, along its dimension `dim`.
  mlir::Value take(mlir::Value whole, unsigned dim, int64_t part);

  /// The inverse: all parts as a tensor of `type`.
  mlir::Value stack(llvm::ArrayRef<mlir::Value> values,
                    mlir::RankedTensorType type, unsigned dim);

private:
  /// How a dimension is written as several. Blocks and rows of extent 1 are
  /// left out, because a trailing index of extent 1 belongs to nobody.
  struct Parts {
    int64_t blocks, rows;
    bool hasBlocks, hasRows;
  };

  mlir::StringAttr nameOf(mlir::RankedTensorType type, unsigned dim,
                          llvm::StringRef part) {
    llvm::StringRef index = getIdx(type).getNames()[dim].getValue();
    return b.getStringAttr(index + "." + part);
  }

  Parts partsOf(mlir::RankedTensorType whole, unsigned dim) const;

  /// `type` with dimension `dim` as (blocks, parts if `withPart`, rows).
  mlir::RankedTensorType divided(mlir::RankedTensorType type, unsigned dim,
                                 const Parts &parts, bool withPart);

  /// (blocks, rows) as one index, by a merge, or one as these, by a split.
  template <typename View>
  mlir::Value seenAs(mlir::Value value, mlir::RankedTensorType type);

  mlir::OpBuilder &b;
  const Division &division;
};

} // namespace tpsp::microbatch

#endif // TPSP_PASSES_LOGICAL_MICROBATCHVIEWS_H
