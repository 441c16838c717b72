/// take and stack. See BlockOps.td.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tpsp {

/// The name that `part` has in place of `index` of `whole`; empty if their
/// other indices differ.
llvm::StringRef ownName(mlir::Value part, mlir::Value whole,
                        llvm::StringRef index);

/// Every name that the tensors of a run operation have for its index. May be
/// called before the number of operands is verified.
llvm::SmallVector<llvm::StringRef> namesOfIndex(mlir::Operation *op,
                                                llvm::StringRef index);

} // namespace tpsp

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h.inc"

#endif // TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_H
