/// A function of tpsp operations as a program of the float64 reference: what
/// sharded runs are compared with.
///
/// The function is one of the logical level: straight-line, with global shapes,
/// before tpsp-insert-collectives, or with collectives that its author wrote:
/// they change no value. Placements are dropped; every tensor is whole. Only
/// names, types and attributes are read off the IR.
#ifndef TPSP_COMPILE_REFERENCEWALKER_H
#define TPSP_COMPILE_REFERENCEWALKER_H

#include "tpsp/Runtime/ReferenceProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// Fails for functions that are not straight-line or hold one rank's shapes.
/// What the reference cannot evaluate, evaluating the program tells.
llvm::Expected<reference::Program>
referenceProgramOf(mlir::func::FuncOp function);

/// Makes a forward program a step: `differentiated` is what tpsp-differentiate
/// made of its function. Only which arguments are cotangents and which results
/// are gradients is read off it.
void addGradients(mlir::func::FuncOp differentiated,
                  reference::Program &program);

/// Appends what tpsp-build-update made of a program's function. Its first
/// arguments are the program's, the others gradients.
llvm::Error addUpdate(mlir::func::FuncOp update, reference::Program &program);

/// The type of the reference that is called so ("bf16"); none of "".
std::optional<reference::Element> referenceElement(llvm::StringRef name);

/// The index names and the shape of a tensor type with #tpsp.idx subscripts.
reference::IndexNames referenceIndices(mlir::Type type);
reference::Shape referenceShape(mlir::Type type);

} // namespace tpsp

#endif // TPSP_COMPILE_REFERENCEWALKER_H
