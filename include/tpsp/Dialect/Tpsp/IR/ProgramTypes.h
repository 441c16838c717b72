/// Changes the tensor types of a whole program.
#ifndef TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H
#define TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tpsp {

/// Replaces every tensor type with subscripts by `changed` of it: in results,
/// in arguments of blocks, and in the types of functions. Types in other
/// attributes stay, because they are notes of other tools. They may name
/// indices that the program lacks, or describe a constant's data.
void replaceTensorTypes(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::RankedTensorType(mlir::RankedTensorType)> changed);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_PROGRAMTYPES_H
