/// Converts a function of tpsp operations to a program of the float64
/// reference, with which sharded runs are compared.
///
/// The function is one of the logical level: straight-line, with global shapes,
/// before tpsp-insert-collectives. It may have collectives that its author
/// wrote, since they change no value. Placements are dropped; every tensor is
/// whole. Only names, types and attributes are read from the IR.
#ifndef TPSP_COMPILE_REFERENCEWALKER_H
#define TPSP_COMPILE_REFERENCEWALKER_H

#include "tpsp/Runtime/ReferenceProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// Fails for functions that are not straight-line or that have one rank's
/// shapes. Operations that the reference lacks are reported only by its
/// evaluation.
llvm::Expected<reference::Program>
referenceProgramOf(mlir::func::FuncOp function);

/// Turns a forward program into a step. `differentiated` is the result of
/// tpsp-differentiate on its function. It only tells which arguments are
/// cotangents and which results are gradients.
void addGradients(mlir::func::FuncOp differentiated,
                  reference::Program &program);

/// Appends the update that tpsp-build-update made for a program's function. The
/// update's first arguments are the program's, and the others are gradients.
llvm::Error addUpdate(mlir::func::FuncOp update, reference::Program &program);

/// The reference's element type of this name ("bf16"); nullopt for "".
std::optional<reference::Element> referenceElement(llvm::StringRef name);

/// The index names and the shape of a tensor type with #tpsp.idx subscripts.
reference::IndexNames referenceIndices(mlir::Type type);
reference::Shape referenceShape(mlir::Type type);

} // namespace tpsp

#endif // TPSP_COMPILE_REFERENCEWALKER_H
