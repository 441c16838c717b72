/// Converts between tensor types and the algebra: subscripts to placements and
/// back.
#ifndef TPSP_DIALECT_TPSP_IR_INDEXEDTENSOR_H
#define TPSP_DIALECT_TPSP_IR_INDEXEDTENSOR_H

#include "tpsp/Algebra/ComputePlacement.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tpsp {

class IdxAttr;
class MeshOp;

/// The subscripts of a tensor type; null if it has none.
IdxAttr getIdx(mlir::Type type);
IdxAttr getIdx(mlir::Value value);

inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType());
}

/// The names of a tensor's indices, in order.
llvm::SmallVector<llvm::StringRef> indexNames(mlir::Type type);
/// The names of a tensor's indices except `left`, in order.
llvm::SmallVector<llvm::StringRef>
indexNamesBut(mlir::Type type, llvm::ArrayRef<llvm::StringRef> left);

/// A tensor's extent along an index; 0 if it lacks the index.
int64_t extentOf(mlir::Type tensor, llvm::StringRef index);
int64_t extentOf(mlir::Value tensor, llvm::StringRef index);
/// The product of a tensor's extents along `indices`.
int64_t positionsAlong(mlir::Type tensor,
                       llvm::ArrayRef<llvm::StringRef> indices);

/// Whether the type is unplaced.
bool isUnplaced(mlir::Type type);

/// The floating-point type "f64", "f32", "bf16" or "f16"; null for other names.
mlir::FloatType floatTypeNamed(mlir::MLIRContext *context,
                               llvm::StringRef name);

/// The same tensor type with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                   mlir::Type element);

struct IndexedDimension {
  mlir::StringAttr name;
  int64_t extent;
  /// Major to minor; null: no axis divides it.
  mlir::ArrayAttr axes = {};
};
/// The same tensor type with the dimensions `dims` in place of dimension `dim`.
mlir::RankedTensorType withDimensions(mlir::RankedTensorType type, unsigned dim,
                                      llvm::ArrayRef<IndexedDimension> dims);

/// The width in bits of a tensor's integers; 0 for floating-point.
unsigned integerWidth(mlir::Value tensor);
/// The width in bits of the first operand's integers; 0 if there is no operand.
/// A view has its operand's element type.
unsigned widthOfFirst(mlir::Operation *op);

/// The mesh of the module that `op` is in; null if it has none.
MeshOp findMesh(mlir::Operation *op);
/// The mesh of the module that `op` is in; a mesh without axes if it has none.
Mesh meshOf(mlir::Operation *op);

/// The placement that a type's subscripts describe. Axes that the mesh lacks
/// are left out; verifiers refuse them.
Placement placementOf(mlir::Type type, const Mesh &mesh);

/// The same tensor type, placed as `placement` says.
mlir::RankedTensorType withPlacement(mlir::RankedTensorType type,
                                     const Placement &placement,
                                     const Mesh &mesh);

/// The same tensor type, unplaced.
mlir::RankedTensorType withoutPlacement(mlir::RankedTensorType type);

/// A tensor with the indices `names`. The extent and subscripts of each come
/// from the first of `sources` that carries it. The result is unplaced if any
/// source is. A name that no source carries is a programming error.
mlir::RankedTensorType
tensorOver(llvm::ArrayRef<llvm::StringRef> names,
           llvm::ArrayRef<mlir::RankedTensorType> sources);

/// "b, s@tp, d" for messages.
std::string subscripts(mlir::Type type);

/// "12.0 MiB", "768 B", for messages.
std::string formatBytes(int64_t bytes);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_INDEXEDTENSOR_H
