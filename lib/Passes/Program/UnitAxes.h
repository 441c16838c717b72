/// Removes mesh axes of one rank from types. Such axes divide nothing, so
/// tensors that differ only in them are equal, and loops over them can share a
/// kernel.
#ifndef TPSP_PASSES_PROGRAM_UNITAXES_H
#define TPSP_PASSES_PROGRAM_UNITAXES_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// For a function on local shapes: removes the axes of one rank from the types
/// of all values in its body, including its arguments. Axes of a collective
/// stay. Views that then change nothing are removed. The function's own type
/// stays as written.
void dropUnitAxes(mlir::func::FuncOp function, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_UNITAXES_H
