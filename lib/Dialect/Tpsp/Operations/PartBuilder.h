/// Builds the operations that composites and adjoints are made of. Types follow
/// from the operands' by index name, so the same code serves before placement
/// and on local shapes.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_PARTBUILDER_H
#define TPSP_DIALECT_TPSP_OPERATIONS_PARTBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// For one composite: values are placed as those that they are made of.
class PartBuilder {
public:
  PartBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  static mlir::RankedTensorType unplaced(mlir::Value v) {
    return withoutPlacement(typeOf(v));
  }

  /// A pointwise operation with the indices of `like`.
  template <typename Op, typename... Args>
  mlir::Value map(mlir::Value like, mlir::ValueRange operands, Args... args) {
    return Op::create(b, loc, made(typeOf(like)), operands, args...);
  }
  mlir::Value mul(mlir::Value like, mlir::Value x, mlir::Value y);
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value neg(mlir::Value x);
  mlir::Value exp(mlir::Value x);
  mlir::Value square(mlir::Value x);
  /// x, or `least` where that is more.
  mlir::Value noLess(mlir::Value x, double least);

  /// `kind` ("sum", "max") of x over the indices `over`.
  mlir::Value reduce(mlir::Value x, llvm::ArrayRef<llvm::StringRef> over,
                     llvm::StringRef kind);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<llvm::StringRef> over) {
    return reduce(x, over, "sum");
  }
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<llvm::StringRef> over);
  /// 1 / sqrt(x + eps)
  mlir::Value inverseRoot(mlir::Value x, llvm::APFloat eps);

protected:
  PartBuilder(mlir::OpBuilder &b, mlir::Location loc, bool makesUnplaced)
      : b(b), loc(loc), makesUnplaced(makesUnplaced) {}

  /// The type of a value that is made as `like` is.
  mlir::RankedTensorType made(mlir::RankedTensorType like) {
    return makesUnplaced ? withoutPlacement(like) : like;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  bool makesUnplaced = false;
};

/// For one adjoint. Values are unplaced: tpsp-insert-collectives lets them come
/// out as they do. No collective is named; those of the backward pass follow
/// from the index structure of the operations.
class AdjointBuilder : public PartBuilder {
public:
  AdjointBuilder(mlir::OpBuilder &b, mlir::Location loc)
      : PartBuilder(b, loc, /*makesUnplaced=*/true) {}

  /// `x` summed over the indices that `like` lacks, in the order of `like`.
  mlir::Value sumTo(mlir::Value x, mlir::Value like);
  /// The sum of products of `factors` with the indices of `like`; an index that
  /// none of them has is broadcast.
  mlir::Value contract(mlir::ValueRange factors, mlir::Value like);
};

using Needed = llvm::ArrayRef<bool>;
using Gradients = llvm::MutableArrayRef<mlir::Value>;

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_PARTBUILDER_H
