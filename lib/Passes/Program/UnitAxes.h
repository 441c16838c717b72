/// Mesh axes of one rank divide nothing; tensors that differ in them only are
/// the same, and so loops over them can share a kernel.
#ifndef TPSP_PASSES_PROGRAM_UNITAXES_H
#define TPSP_PASSES_PROGRAM_UNITAXES_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// For a function on local shapes: takes the axes of one rank out of the types
/// of all values in its body, its arguments too. Axes that a collective is over
/// stay. Views that then change nothing are removed. The function's own type
/// stays as it is written.
void dropUnitAxes(mlir::func::FuncOp function, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_UNITAXES_H
