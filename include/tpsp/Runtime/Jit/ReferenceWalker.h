/// Evaluates a function of tpsp operations, unsharded and in float64: what
/// sharded runs are compared with.
///
/// The function is one of the logical level: straight-line, with global shapes,
/// before tpsp-insert-collectives. Placements are ignored; every tensor is
/// whole.
///
/// Every operation is a call of tpsp::reference. Nothing is shared with the
/// compiled path: composites are not decomposed, scalar functions are the
/// reference's own, and only names, shapes and attributes are read off the IR.
#ifndef TPSP_RUNTIME_JIT_REFERENCEWALKER_H
#define TPSP_RUNTIME_JIT_REFERENCEWALKER_H

#include "tpsp/Runtime/Reference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// Called after every operation: `done` of `total` have been evaluated.
using ReferenceProgress = llvm::function_ref<void(size_t done, size_t total)>;

/// The results of `function` for these arguments, one per argument of the
/// function, with its type's index names and shape.
///
/// Arguments are only read and stay the caller's; every other tensor is freed
/// after its last use. Fails for arguments that do not fit, for functions that
/// are not straight-line or hold one rank's shapes, and for an operation that
/// the reference does not have.
llvm::Expected<std::vector<reference::Tensor>>
evaluateReference(mlir::func::FuncOp function,
                  llvm::ArrayRef<const reference::Tensor *> arguments,
                  ReferenceProgress progress = {});

/// The index names and the shape of a tensor type with #tpsp.idx subscripts.
reference::IndexNames referenceIndices(mlir::Type type);
reference::Shape referenceShape(mlir::Type type);

} // namespace tpsp

#endif // TPSP_RUNTIME_JIT_REFERENCEWALKER_H
