/// Mesh axes of one rank divide nothing; tensors that differ in them only are
/// the same, and so loops over them can share a kernel.
#ifndef TPSP_PASSES_PROGRAM_UNITAXES_H
#define TPSP_PASSES_PROGRAM_UNITAXES_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// Takes the axes of one rank, but for those that a collective is over, out of
/// the types of all values in the body of a function on local shapes, its
/// arguments too, and removes views that show a value as what it is then. The
/// function's own type stays as it is written.
void dropUnitAxes(mlir::func::FuncOp function, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_UNITAXES_H
