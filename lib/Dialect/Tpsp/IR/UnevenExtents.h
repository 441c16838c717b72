/// What to say of an extent that its axes do not divide.
#ifndef TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H
#define TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Diagnostics.h"

namespace tpsp {

/// "has extent 6, which its axes (tp: 4 ranks) do not divide; nearest extents
/// that work: 4 and 8; or pad it: --pad s=4". That is left out where
/// most of the padded index would be filling. Where there are more ranks than
/// positions, it also says how the axis can be two.
void explainUneven(mlir::InFlightDiagnostic &diag, llvm::StringRef index,
                   int64_t extent, llvm::ArrayRef<AxisId> axes,
                   const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_UNEVENEXTENTS_H
