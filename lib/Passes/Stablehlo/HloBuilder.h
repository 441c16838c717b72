/// Builds operations of StableHLO on tensors with named dimensions.
/// Reorderings, broadcasts and conversions without effect are omitted.
#ifndef TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H
#define TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp::hlo {

using Names = llvm::ArrayRef<mlir::StringAttr>;

/// A tensor without encoding, whose dimension i has the name names[i].
struct NamedTensor {
  mlir::Value value;
  llvm::SmallVector<mlir::StringAttr> names;

  mlir::RankedTensorType type() const { return typeOf(value); }
  mlir::Type element() const { return type().getElementType(); }
  bool has(mlir::StringAttr name) const {
    return llvm::is_contained(names, name);
  }
  /// The dimension of `name`, which the tensor must have.
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
  /// Adds the names of the tensor that the space lacks.
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

  /// Creates an operation of one result; `name` includes the dialect.
  mlir::Value make(llvm::StringRef name, mlir::Type type,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return b.getNamedAttr(name, value);
  }

  /// A tensor with the same number everywhere; `value` has the type's element
  /// type.
  mlir::Value splat(mlir::RankedTensorType type, mlir::TypedAttr value);
  /// The same for a small number, with any element type.
  mlir::Value splat(mlir::RankedTensorType type, double value);
  /// The position along a dimension.
  mlir::Value iota(mlir::RankedTensorType type, unsigned dim);
  /// The same numbers in another element type.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  NamedTensor convert(NamedTensor x, mlir::Type element);
  /// The same bits in another element type of the same width.
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Compares; `direction` is "LT", "GE", ... The result is a tensor of i1.
  mlir::Value compare(llvm::StringRef direction, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// An operation of one result with a region that combines two numbers.
  mlir::Value makeCombining(mlir::OperationState &state, Reduction by);
  /// "stablehlo.add" and the like: operands and result are of one type.
  mlir::Value map(llvm::StringRef name, mlir::ValueRange operands) {
    return make(name, operands.front().getType(), operands);
  }

  /// Broadcasts `x` to all points of a space that has every name of `x`.
  mlir::Value spread(const NamedTensor &x, const Space &space);
  /// `x` with its dimensions in the order of `names`.
  NamedTensor ordered(NamedTensor x, Names names);
  /// `x` reduced over all names that are not among `kept`, in its own element
  /// type.
  NamedTensor reduce(const NamedTensor &x, Names kept, Reduction by);

  /// Positions `from`, `from` + 1, ... of a dimension, `count` of them.
  mlir::Value slice(mlir::Value x, unsigned dim, int64_t from, int64_t count);
  /// Adds `low` and `high` positions of `value` before and after a dimension.
  mlir::Value pad(mlir::Value x, unsigned dim, int64_t low, int64_t high,
                  double value);
  /// Concatenates along a dimension.
  mlir::Value concatenate(mlir::ValueRange parts, unsigned dim);

  /// The type in which numbers are computed: f32, f64 for f64; integers stay.
  mlir::Type wide(mlir::Type element);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_HLOBUILDER_H
