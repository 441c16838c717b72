/// Between tensor types and the algebra: subscripts to placements and back.
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
/// Without `left`.
llvm::SmallVector<llvm::StringRef>
indexNamesBut(mlir::Type type, llvm::ArrayRef<llvm::StringRef> left);

/// A tensor's extent along an index; 0 if it lacks that.
int64_t extentOf(mlir::Type tensor, llvm::StringRef index);
int64_t extentOf(mlir::Value tensor, llvm::StringRef index);
/// The product of its extents along `indices`.
int64_t positionsAlong(mlir::Type tensor,
                       llvm::ArrayRef<llvm::StringRef> indices);

/// Whether the type waits for a placement.
bool isUnplaced(mlir::Type type);

/// The floating-point type "f64", "f32", "bf16" or "f16"; null for other names.
mlir::FloatType floatTypeNamed(mlir::MLIRContext *context,
                               llvm::StringRef name);

/// The same tensor of other elements.
mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                   mlir::Type element);

struct IndexedDimension {
  mlir::StringAttr name;
  int64_t extent;
  /// Major to minor; null: no axis divides it.
  mlir::ArrayAttr axes = {};
};
/// The same tensor with these dimensions in place of its dimension `dim`.
mlir::RankedTensorType withDimensions(mlir::RankedTensorType type, unsigned dim,
                                      llvm::ArrayRef<IndexedDimension> dims);

/// The width of the integers that a tensor holds, 0 for floating-point.
unsigned integerWidth(mlir::Value tensor);
/// Likewise of the first operand, 0 if there is none: a view has its operand's
/// integers.
unsigned widthOfFirst(mlir::Operation *op);

/// The mesh of the module that `op` is in; null if it has none.
MeshOp findMesh(mlir::Operation *op);
/// Likewise as a value: no axes if the module has no mesh.
Mesh meshOf(mlir::Operation *op);

/// The placement that a type's subscripts say. Axes the mesh does not know are
/// a verifier's business and left out here.
Placement placementOf(mlir::Type type, const Mesh &mesh);

/// The same tensor with these subscripts (placed).
mlir::RankedTensorType withPlacement(mlir::RankedTensorType type,
                                     const Placement &placement,
                                     const Mesh &mesh);

/// The same tensor, waiting for a placement.
mlir::RankedTensorType withoutPlacement(mlir::RankedTensorType type);

/// A tensor with the indices `names`. Each has the extent and the subscripts of
/// the first of `sources` that carries it. Unplaced if a source is. A name that
/// no source carries is a programming error.
mlir::RankedTensorType
tensorOver(llvm::ArrayRef<llvm::StringRef> names,
           llvm::ArrayRef<mlir::RankedTensorType> sources);

/// "b, s@tp, d" for messages.
std::string subscripts(mlir::Type type);

/// "12.0 MiB", "768 B", for messages.
std::string formatBytes(int64_t bytes);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_INDEXEDTENSOR_H
