/// Builds operations of StableHLO over tensors whose dimensions have names.
/// Reorderings, broadcasts and conversions that change nothing are left out.
#ifndef TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H
#define TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp::hlo {

using Names = llvm::ArrayRef<mlir::StringAttr>;

/// A tensor without encoding: dimension i is called names[i].
struct NamedTensor {
  mlir::Value value;
  llvm::SmallVector<mlir::StringAttr> names;

  mlir::RankedTensorType type() const { return typeOf(value); }
  mlir::Type element() const { return type().getElementType(); }
  bool has(mlir::StringAttr name) const {
    return llvm::is_contained(names, name);
  }
  /// `name` is one of the tensor's.
  unsigned dimOf(mlir::StringAttr name) const {
    return llvm::find(names, name) - names.begin();
  }
  int64_t extent(mlir::StringAttr name) const {
    return type().getDimSize(dimOf(name));
  }
};

/// Names with their extents, in order: the points of a loop nest.
struct Space {
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::SmallVector<int64_t> extents;

  void add(mlir::StringAttr name, int64_t extent);
  /// Those of the tensor that are not there yet.
  void addAll(const NamedTensor &x);
  unsigned dimOf(mlir::StringAttr name) const {
    return llvm::find(names, name) - names.begin();
  }
  mlir::RankedTensorType of(mlir::Type element) const {
    return mlir::RankedTensorType::get(extents, element);
  }
};

class HloBuilder {
public:
  HloBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// An operation of one result, with the name of its dialect.
  mlir::Value make(llvm::StringRef name, mlir::Type type,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return b.getNamedAttr(name, value);
  }

  /// One number everywhere; `value` is of the type's elements.
  mlir::Value splat(mlir::RankedTensorType type, mlir::TypedAttr value);
  /// Likewise of a small number, whatever the elements.
  mlir::Value splat(mlir::RankedTensorType type, double value);
  /// The position along a dimension.
  mlir::Value iota(mlir::RankedTensorType type, unsigned dim);
  /// The same numbers as other elements.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  NamedTensor convert(NamedTensor x, mlir::Type element);
  /// The same bits as other elements of the same width.
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// `direction` is "LT", "GE", ...: a tensor of i1.
  mlir::Value compare(llvm::StringRef direction, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// An operation of one result with a region that combines two numbers.
  mlir::Value makeCombining(mlir::OperationState &state, Reduction by);
  /// "stablehlo.add" and the like: operands and result are of one type.
  mlir::Value map(llvm::StringRef name, mlir::ValueRange operands) {
    return make(name, operands.front().getType(), operands);
  }

  /// Over all points of a space that has every name of `x`.
  mlir::Value spread(const NamedTensor &x, const Space &space);
  /// With its dimensions in another order.
  NamedTensor ordered(NamedTensor x, Names names);
  /// Combined over all names that are not among `kept`, in the elements that
  /// `x` has.
  NamedTensor reduce(const NamedTensor &x, Names kept, Reduction by);

  /// Positions `from`, `from` + 1, ... of a dimension, `count` of them.
  mlir::Value slice(mlir::Value x, unsigned dim, int64_t from, int64_t count);
  /// `low` and `high` more positions of a dimension.
  mlir::Value pad(mlir::Value x, unsigned dim, int64_t low, int64_t high,
                  double value);
  /// One behind the other along a dimension.
  mlir::Value concatenate(mlir::ValueRange parts, unsigned dim);

  /// What numbers are computed in: f32, f64 for f64; integers stay.
  mlir::Type wide(mlir::Type element);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H
