/// The error about an extent that its axes do not divide.
#ifndef TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H
#define TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Diagnostics.h"

namespace tpsp {

/// "has extent 6, which its axes (tp: 4 ranks) do not divide; nearest extents
/// that work: 4 and 8; or pad it: --pad s=4". Padding is not suggested if most
/// of the index would be padding. If there are more ranks than positions, the
/// error also suggests splitting the axis in two.
void explainUneven(mlir::InFlightDiagnostic &diag, llvm::StringRef index,
                   int64_t extent, llvm::ArrayRef<AxisId> axes,
                   const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H
