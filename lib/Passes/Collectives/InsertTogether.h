/// Collectives for the compute placements that are chosen together
/// (FunctionPlacement.h): tpsp-insert-collectives{together=true}.
#ifndef TPSP_PASSES_COLLECTIVES_INSERTTOGETHER_H
#define TPSP_PASSES_COLLECTIVES_INSERTTOGETHER_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// Fails, with a diagnostic, at an operation that has no legal placement.
mlir::LogicalResult insertTogether(mlir::FunctionOpInterface function);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_INSERTTOGETHER_H
