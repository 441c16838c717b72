/// Builds the parts of composites and adjoints. Their types follow from the
/// operands' by index name, so the same code works before placement and on
/// local shapes.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_PARTBUILDER_H
#define TPSP_DIALECT_TPSP_OPERATIONS_PARTBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// Builds a composite's parts. Values are placed like the operands they are
/// built from.
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
  /// The larger of x and `least`.
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

  /// The type of a value that is built like `like`.
  mlir::RankedTensorType made(mlir::RankedTensorType like) {
    return makesUnplaced ? withoutPlacement(like) : like;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  bool makesUnplaced = false;
};

/// Builds an adjoint's operations. Values are unplaced: tpsp-insert-collectives
/// keeps the placements in which they are computed. No collective is named,
/// because the collectives of the backward pass follow from the operations'
/// index structure.
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
