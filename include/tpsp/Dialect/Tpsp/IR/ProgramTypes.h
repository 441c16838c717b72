/// Giving all tensors of a program other types.
#ifndef TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H
#define TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tpsp {

/// Replaces every tensor type with subscripts by what `changed` makes of it: in
/// results, in arguments of blocks, and in the types of functions. Types in
/// other attributes stay. They are notes of other tools; they may name indices
/// that the program lacks, and constants whose data the type describes.
void replaceTensorTypes(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::RankedTensorType(mlir::RankedTensorType)> changed);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H
